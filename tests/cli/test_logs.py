"""Log lines: text for people, JSON for machines, and no key in either."""

import json
import logging
import sys
from collections.abc import Iterator

import pytest

from app.cli import logs


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level
    logging.getLogger("am_proxy").setLevel(logging.NOTSET)


def told(capsys: pytest.CaptureFixture[str]) -> str:
    logging.getLogger("am_proxy.turn").info(
        "turn", extra={"fields": {"model": "demo", "error": "it broke", "empty": ""}, "request_id": "req_1"}
    )
    return capsys.readouterr().err


def test_a_line_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("text")
    assert told(capsys)[9:] == 'INFO turn model=demo error="it broke" empty="" request_id=req_1\n'


def test_what_a_client_wrote_stays_within_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("text")
    logging.getLogger("am_proxy.turn").info("turn", extra={"fields": {"model": "a\n12:00:00 INFO turn", "key": "b\r"}})
    assert capsys.readouterr().err[9:] == 'INFO turn model="a\\n12:00:00 INFO turn" key="b\\r"\n'


def test_a_line_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("json")
    line = json.loads(told(capsys))
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "info",
        "message": "turn",
        "model": "demo",
        "error": "it broke",
        "empty": "",
        "request_id": "req_1",
    }


@pytest.mark.parametrize(("terminal", "first"), [(True, "1"), (False, "{")])
def test_auto_looks_where_it_writes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], first: str, *, terminal: bool
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr("time.strftime", lambda *_: "12:00:00")
    logs.configure("auto")
    assert told(capsys)[0] == first


@pytest.mark.parametrize("form", ["text", "json"])
def test_our_own_faults_come_with_their_traceback_and_without_keys(
    capsys: pytest.CaptureFixture[str], form: str
) -> None:
    logs.configure("json" if form == "json" else "text")
    secrets = "Authorization: Bearer abcdefghijkl, sk-1234567890, api_key='0123456789'"
    logging.getLogger("am_proxy").error("it failed", exc_info=ValueError(secrets))
    line = capsys.readouterr().err
    assert "ValueError" in line
    assert "***" in line
    for secret in ("abcdefghijkl", "1234567890", "0123456789"):
        assert secret not in line
