"""Rows that commands print, on a narrow terminal."""

import sys

import pytest

from app.cli.rows import show
from app.settings import Secret, Upstream

KEY = "sk-a-key-that-must-stay-secret"
UPSTREAM = Upstream(via="chat", base_url="http://127.0.0.1:1/v1", api_key=Secret(KEY))


def use_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """From here on, what is printed goes to a terminal of this width."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)


def test_long_words_are_wrapped_beside_their_title(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_terminal(monkeypatch, 30)
    show("  title   ", "one two three four five six", [])
    assert capsys.readouterr().out == "  title   one two three four\n          five six\n"


def test_lines_for_a_program_are_left_as_they_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    show("  title   ", "one two three four five six", [])
    assert capsys.readouterr().out == "  title   one two three four five six\n"


def test_a_row_without_words_is_its_title(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    use_terminal(monkeypatch, 80)
    show("  title   ", "", [])
    assert capsys.readouterr().out == "  title\n"


@pytest.mark.parametrize("columns", [20, 33, 80])
def test_a_key_is_never_printed_wherever_the_row_is_wrapped(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_terminal(monkeypatch, columns)
    show("  title   ", f"the key {KEY} is wrong\x1b[2J", [UPSTREAM])
    assert " ".join(capsys.readouterr().out.split()) == "title the key … is wrong?[2J"
