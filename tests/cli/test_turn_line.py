"""The line of a turn for people: what it shows at each width, and that it stays within it."""

from typing import Any

import pytest

from app.cli.turn_line import TurnEnd, cells_of, turn_line

DONE: dict[str, Any] = {
    "request_id": "req_AM-qzyrqcviyt5y",
    "key": "anyone",
    "model": "tiny-agent",
    "stream": True,
    "upstream": "ollama",
    "status": 200,
    "finish": "completed",
    "input_tokens": 5879,
    "output_tokens": 28,
    "first_token_ms": 5,
    "duration_ms": 574,
    "warnings": ["tools[9] was left out: its type 'web_search' cannot be offered to this model."],
}
CACHED = {"cached_tokens": 4096}
DEAD: dict[str, Any] = {
    "request_id": "req_AM-qzyrqcviyt5y",
    "model": "dead",
    "upstream": "dead",
    "retries": {"dead": 1},
    "finish": "refused",
    "status": 502,
    "error": "upstream_error",
    "duration_ms": 2,
}
REFUSED = {"cause": "refused the connection"}
WIDTHS = (44, 60, 66, 80, 92, 100, 112, 120, 160, 250)


def line(fields: dict[str, Any], more: dict[str, Any], columns: int | None, *, colour: bool = False) -> str:
    return turn_line(TurnEnd(fields, more), "18:46:41", columns=columns, colour=colour)


@pytest.mark.parametrize(
    ("columns", "done", "dead"),
    [
        (
            60,
            "18:46:41  200   tiny-agent → ollama   0.57 s  left out: web…",
            "18:46:41  502   dead → dead           refused the connectio…",
        ),
        (
            80,
            "18:46:41  200   tiny-agent → ollama   5.9k → 28     0.57 s  left out: web_search",
            "18:46:41  502   dead → dead           refused the connection (tried twice)",
        ),
        (
            120,
            (
                "18:46:41  200   tiny-agent → ollama          5.9k → 28     4.1k cached  5 ms / 0.57 s    "
                "left out: web_search    …viyt5y"
            ),
            (
                "18:46:41  502   dead → dead                  refused the connection (tried twice)        "
                "                        …viyt5y"
            ),
        ),
        (
            None,
            (
                "18:46:41  200   tiny-agent → ollama          5.9k → 28     4.1k cached  5 ms / 0.57 s    "
                "left out: web_search  req_AM-qzyrqcviyt5y"
            ),
            (
                "18:46:41  502   dead → dead                  refused the connection (tried twice)        "
                "            req_AM-qzyrqcviyt5y"
            ),
        ),
    ],
)
def test_a_wider_terminal_has_more_columns(columns: int | None, done: str, dead: str) -> None:
    assert (line(DONE, CACHED, columns), line(DEAD, REFUSED, columns)) == (done, dead)


LONG: dict[str, Any] = {
    **DONE,
    "request_id": "x" * 128,
    "model": "模型" * 100,
    "upstream": "e\N{COMBINING ACUTE ACCENT}" * 60,
    "input_tokens": 99_960_000,
    "output_tokens": 128_000,
    "first_token_ms": 99_940,
    "duration_ms": 86_400_000,
    "warnings": ["宽" * 500] * 100,
    "retries": {"宽" * 200: 1},
    "reason": "max_output_tokens",
}


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("fields", [DONE, DEAD, LONG, {**LONG, "finish": "failed", "problem": "宽\n" * 500}, {}])
def test_a_line_is_never_wider_than_its_terminal(columns: int, fields: dict[str, Any]) -> None:
    shown = line(fields, {"cached_tokens": 127_999}, columns)
    assert cells_of(shown) <= columns
    assert shown.isprintable()


@pytest.mark.parametrize("columns", [width for width in WIDTHS if width >= 66])
@pytest.mark.parametrize("fields", [{}, {"model": "m"}, {"model": "模型" * 50}, {"upstream": "u" * 200}, {"model": ""}])
def test_columns_begin_at_the_same_place_whatever_is_in_them(columns: int, fields: dict[str, Any]) -> None:
    for cell in ("5.9k →", "0.57 s", "left", "…viyt5y"):
        plain, other = line(DONE, CACHED, columns), line(DONE | fields, CACHED, columns)
        if cell in plain:
            assert cells_of(other[: other.index(cell)]) == cells_of(plain[: plain.index(cell)])


@pytest.mark.parametrize(
    ("fields", "more", "status", "text"),
    [
        ({"finish": "failed", "problem": "It was cut off."}, {}, "fail", "It was cut off."),
        ({"finish": "failed", "status": 502, "problem": "It was cut off."}, {}, "502", "It was cut off."),
        ({"finish": "disconnected"}, {}, "gone", ""),
        ({"finish": "incomplete", "reason": "max_output_tokens"}, {}, "cut", "cut by max_output_tokens"),
        (
            {"finish": "refused", "status": 400, "error": "invalid_type"},
            {"param": "input"},
            "400",
            "invalid_type: input",
        ),
        ({"finish": "refused", "status": 401, "error": "invalid_api_key"}, {}, "401", "invalid_api_key"),
        ({"finish": "completed", "retries": {"a": 1, "b": 2}}, {}, "200", "after a, b failed"),
        ({"finish": "searched", "results": 1}, {}, "200", "1 result"),
        ({"finish": "searched", "results": 5}, {}, "200", "5 results"),
        (
            {"finish": "searched", "results": 0, "failed_commands": 1},
            {},
            "200",
            "0 results; 1 failed",
        ),
        ({"finish": "completed", "warnings": ["One.", "Two."]}, {}, "200", "One. (+1)"),
        (
            {"warnings": ["'x' has no effect.", *[f"tools[{n}] was left out: its type 'mcp' cannot" for n in (0, 1)]]},
            {},
            "200",
            "left out: mcp (+1)",
        ),
        (
            {"finish": "refused", "status": 502, "retries": {"a": 2, "b": 1}},
            {"cause": "No."},
            "502",
            "No. (tried 4 times)",
        ),
    ],
)
def test_how_a_turn_ended_is_said_in_words(
    fields: dict[str, Any], more: dict[str, Any], status: str, text: str
) -> None:
    shown = line(fields, more, 120).removeprefix("18:46:41  ")
    assert (shown[:4].rstrip(), shown[4:].strip().removeprefix("0 ms").strip()) == (status, text)


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [
        (0, "0 ms"),
        (99, "99 ms"),
        (574, "0.57 s"),
        (9994, "9.99 s"),
        (12_340, "12.3 s"),
        (99_960, "1:40"),
        (3_725_000, "62:05"),
        (7_200_000, "2.0 h"),
    ],
)
def test_times_have_as_many_digits_as_matter(milliseconds: int, shown: str) -> None:
    assert f"  {shown}" in line({"duration_ms": milliseconds}, {}, 80) + "  "


@pytest.mark.parametrize(
    ("tokens", "shown"),
    [(0, "0"), (999, "999"), (1000, "1.0k"), (128_000, "128k"), (999_999, "1000k"), (1_250_000, "1.2M")],
)
def test_tokens_have_three_digits(tokens: int, shown: str) -> None:
    assert f"  {shown} → 7 " in line({"input_tokens": tokens, "output_tokens": 7}, {}, 80)


def test_only_failures_are_painted_as_warnings() -> None:
    assert "\x1b[32m200 \x1b[0m" in line(DONE, {}, 80, colour=True)
    assert "\x1b[33m" not in line(DONE, {}, 80, colour=True)
    assert line(DEAD, REFUSED, 80, colour=True).count("\x1b[33m") == 2
