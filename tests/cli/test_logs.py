"""Log lines: text for people, JSON for machines, and no key in either."""

import json
import logging
import sys
import threading

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.cli import logs
from app.key_search import redacted_line, without_secrets


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    logging.getLogger("am_proxy.turn").info(
        "turn", extra={"fields": {"model": "demo", "error": "it broke", "empty": ""}, "request_id": "req_1"}
    )
    return capsys.readouterr().err


def test_a_line_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("text")
    assert printed(capsys)[10:] == 'INFO  turn model=demo error="it broke" empty="" request_id=req_1\n'


def test_a_line_in_words_has_no_fields(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("text")
    logging.getLogger("am_proxy").warning("upstream fails", extra={"fields": {"kind": "key"}, "words": "it fails."})
    assert capsys.readouterr().err[10:] == "WARNING  it fails.\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("it answered 500: \x1b[2J\x1b]0;title\x07 gone", "it answered 500: ?[2J?]0;title? gone"),
        ("one\n12:00:00  INFO  two\r\nthree\u2028four\b", "one 12:00:00  INFO  two three four?"),
        ("left \u202eto right", "left ?to right"),
        ("Zoë 你好", "Zoë 你好"),
    ],
)
def test_no_terminal_obeys_what_a_server_wrote(capsys: pytest.CaptureFixture[str], words: str, expected: str) -> None:
    logs.configure("text")
    log = logging.getLogger("am_proxy")
    log.warning("upstream fails", extra={"words": words})
    log.warning(words)
    assert [line[10:] for line in capsys.readouterr().err.splitlines()] == [f"WARNING  {expected}"] * 2


def test_nor_what_is_in_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("text")
    logging.getLogger("am_proxy").error("it failed", exc_info=ValueError("a\x1b[2J\nb\rc"))
    assert capsys.readouterr().err[10:] == "ERROR  it failed\nValueError: a?[2J\nb?c\n"


def test_the_line_of_a_turn_is_aligned_in_a_file_too(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("text")
    fields = {"request_id": "req_1", "model": "demo", "upstream": "there", "status": 502, "finish": "refused"}
    logging.getLogger("am_proxy.turn").info("turn", extra={"fields": fields, "more": {"cause": "refused it"}})
    assert capsys.readouterr().err[10:] == f"502   demo → there                 refused it{' ' * 60}req_1\n"


def test_what_a_client_wrote_stays_within_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("text")
    fields = {"model": "a\n12:00:00  200\x1b[31m", "upstream": "b\r"}
    logging.getLogger("am_proxy").info("turn", extra={"fields": fields})
    logging.getLogger("am_proxy.turn").info("turn", extra={"fields": fields, "more": {}})
    first, second = capsys.readouterr().err.splitlines()
    assert first[10:] == 'INFO  turn model="a\\n12:00:00  200\\u001b[31m" upstream="b\\r"'
    assert second[10:47] == "200   a 12:00:00 200?[31m → b         "[:37]


def test_the_line_for_machines_has_nothing_that_is_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("json")
    extra = {"fields": {"model": "demo"}, "more": {"cause": "x"}, "words": "y"}
    logging.getLogger("am_proxy.turn").info("turn", extra=extra)
    assert list(json.loads(capsys.readouterr().err)) == ["time", "level", "message", "model"]


def test_a_line_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure("json")
    line = json.loads(printed(capsys))
    assert line.pop("time").endswith("Z")
    assert line == {
        "level": "info",
        "message": "turn",
        "model": "demo",
        "error": "it broke",
        "empty": "",
        "request_id": "req_1",
    }


def test_a_line_that_takes_long_holds_up_no_other(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made in another thread, and written when it is there."""
    logs.configure("text")
    made, go_on = logs.TextLines.format, threading.Event()

    def format_slowly(self: logs.TextLines, record: logging.LogRecord) -> str:
        if record.getMessage() == "long":
            assert go_on.wait(20)
        return made(self, record)

    monkeypatch.setattr(logs.TextLines, "format", format_slowly)
    log = logging.getLogger("am_proxy.turn")
    thread = threading.Thread(target=log.info, args=["long"])
    thread.start()
    other = threading.Thread(target=log.info, args=["short"], daemon=True)
    other.start()
    other.join(10)
    go_on.set()
    thread.join()
    assert [line.split()[-1] for line in capsys.readouterr().err.splitlines()] == ["short", "long"]


@pytest.mark.parametrize(("terminal", "first"), [(True, "1"), (False, "{")])
def test_auto_looks_where_it_writes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], first: str, *, terminal: bool
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr("time.strftime", lambda *_: "12:00:00")
    monkeypatch.setenv("NO_COLOR", "1")
    logs.configure("auto")
    assert printed(capsys)[0] == first


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


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"secret": 1234567}, {"secret": "***"}),
        ({"body": {"x-api-key": -1.5e300, "password": True}}, {"body": {"x-api-key": "***", "password": True}}),
        (
            {"body": {"my_secret": "let-me-in", "names": ["secret"]}},
            {"body": {"my_secret": "***", "names": ["secret"]}},
        ),
        ({"said": "secret:\nabcdefgh"}, {"said": "secret:\n***"}),
        ({"said": '{"secret": 1234567}'}, {"said": '{"secret": ***}'}),
        ({"said": ValueError("password=hunter2hunter2")}, {"said": "password=***"}),
    ],
)
def test_a_line_for_machines_stays_json_where_a_secret_is_left_out(
    capsys: pytest.CaptureFixture[str], fields: dict[str, object], expected: dict[str, object]
) -> None:
    logs.configure("json")
    logging.getLogger("am_proxy").info("bodies", extra={"fields": fields})
    line = json.loads(capsys.readouterr().err)
    assert {name: line[name] for name in fields} == expected


LOST = [
    "Authorization: Bearer abcdefghijkl",
    "authorization: Basic YWxpY2U6bGV0LW1lLWlu",
    '{"authorization": "Bearer abc.def-ghi"}',
    "x-api-key: 0123456789abcdef",
    "{'X-Api-Key': '0123456789abcdef'}",
    '{\\"api_key\\": \\"0123456789abcdef\\"}',
    "api-key=0123456789abcdef&x=1",
    "x-goog-api-key: AIzaSyA0123456789abcdefghijklmnopqrstuv",
    "key AIzaSyA0123456789abcdefghijklmnopqrstuv refused",
    "sk-proj-0123456789abcdef and sk-ant-api03-0123456789",
    "gsk_0123456789abcdefghij",
    "hf_abcdefghij0123456789",
    "xoxb-123456789012-abcdefghijkl",
    "ghp_0123456789abcdefghij0123456789abcdef",
    "AKIAIOSFODNN7EXAMPLE",
    "am-qZ0123456789abcdefghij0123456789abcdefghij0",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "redis://user:let-me-in@cache:6379/0",
    "https://alice:let-me-in@example.com/v1",
    "postgres://alice:let-me-in@db",
    "password='let-me-in-please'",
    "Bearer let-me-in",
]


@pytest.mark.parametrize("line", LOST)
def test_nothing_that_looks_like_a_key_stays_in_a_line(line: str) -> None:
    shown = redacted_line(f"it said {line}.")
    assert "***" in shown
    for secret in ("abcdefghij", "0123456789", "let-me-in", "YWxpY2U", "abc.def", "dozjg", "IOSFOD"):
        assert secret not in shown


@pytest.mark.parametrize(
    "line",
    [
        "turn model=gpt-4.1 finish=completed request_id=req_AM-1789654321000-a1b2c3d4",
        "models/sk-learn and risk-free, a task-runner, hf_home, the am-proxy",
        "listening on http://127.0.0.1:8080/v1, upstream https://api.example.com/v1/models@latest",
        "bearer of news; basic idea; token=5 tokens",
        "Basic authentication is required, Bearer authentication too.",
        "Unexpected token: function",
        'upstream="openai" key="alice" input_tokens=120000',
    ],
)
def test_what_is_no_key_stays_legible(line: str) -> None:
    assert redacted_line(line) == line


PIECES = [
    *("bearer", "basic", "Authorization", "api", "key", "sk", "am", "AM", "xoxb", "hf", "eyJ", "AKIA", "secret"),
    *("access", "token", "user", "0123456789", "abcdefgh", "\N{LATIN SMALL LETTER LONG S}k-"),
    *("_", "-", "://", "@", "=", ":", "'", '"', " ", "\\"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=8))
@example(["sk", "_", "am", "-", "0123456789"])
def test_the_quick_look_for_marks_overlooks_nothing(pieces: list[str]) -> None:
    line = "".join(pieces)
    assert redacted_line(line) == without_secrets(line)
