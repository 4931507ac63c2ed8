"""`am-proxy comply` against servers that break one rule each, and against sound ones."""

import asyncio
import json
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

from app.cli.comply import comply
from app.cli.comply_client import ComplyClient
from app.judges import Rule, client_rules, silence
from app.settings import Model, Settings, Upstream
from tests.support.judged_server import Answers, judged_server
from tests.support.openai_streams import TEXT
from tests.support.running import ROOT, run
from tests.support.seeded_faults import FAULTS, at_end, text
from tests.support.serving import serving
from tests.support.terminal import am_proxy, terminal

Json = dict[str, Any]


def result(url: str, capsys: pytest.CaptureFixture[str], *, websocket: bool = False) -> tuple[int, Json]:
    """The exit code and the JSON."""
    code = comply(url, model=None, key=None, websocket=websocket, as_json=True)
    printed: Json = json.loads(capsys.readouterr().out)
    return code, printed


def findings(printed: Json) -> list[Json]:
    return [finding for question in printed["questions"] for finding in question["findings"]]


@pytest.mark.parametrize(("rule", "answers"), FAULTS, ids=[f"{n} {row[0]}" for n, row in enumerate(FAULTS)])
def test_a_broken_rule_is_found_and_named(
    rule: str, answers: Answers, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(silence, "LONGEST", 0.15 if answers.pause else 30)
    monkeypatch.setattr(silence, "LONGEST_WITHOUT_EVENT", 0.15 if answers.comment else 300)
    with judged_server(answers) as url:
        code, printed = result(url, capsys, websocket=answers.one_id or not answers.continues)
    found = {finding["rule"]: finding for finding in findings(printed)}
    assert rule in found, list(found)
    assert all(found[rule][key] for key in ("says", "breaks", "detail"))
    assert code == int(any(finding["is_fault"] for finding in found.values()))


def test_every_rule_has_a_server_that_breaks_it() -> None:
    rules = {value.name for value in vars(client_rules).values() if isinstance(value, Rule)}
    assert {rule for rule, _ in FAULTS} == rules


def test_a_sound_server_is_accused_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Its streams are of the kind that OpenAI's server sends."""
    with judged_server(Answers()) as url:
        code, printed = result(url, capsys, websocket=True)
    assert (code, findings(printed)) == (0, [])
    assert printed["passed"] is True


def test_the_embedded_model_is_accused_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(upstreams={"demo": Upstream(via="demo")}, models={"demo": Model(upstream="demo")})
    with serving(settings) as url:
        code, printed = result(url, capsys, websocket=True)
    assert (code, findings(printed)) == (0, [])
    assert len(printed["questions"]) == 23


def test_a_server_that_ends_used_connections_is_accused_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with judged_server(Answers(ends_used_connections=True)) as url:
        code, printed = result(url, capsys)
    assert code == 0
    assert findings(printed) == []


def test_a_stream_that_was_not_requested_is_the_only_fault_of_a_server_that_always_streams(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It has answered: it offers images, and goes on after a client has left."""
    with judged_server(Answers(always_streams=True)) as url:
        code, printed = result(url, capsys)
    assert code == 1
    assert {finding["rule"] for finding in findings(printed)} == {"whole-response"}


def test_every_published_question_that_sends_a_request_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "compliance.md").read_text("utf-8")
    published = {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    with judged_server(Answers()) as url:
        asked = {question["name"] for question in result(url, capsys, websocket=True)[1]["questions"]}
    assert published - asked == {"response-output-phase-schema"}


def test_without_a_websocket_its_questions_fail(capsys: pytest.CaptureFixture[str]) -> None:
    with judged_server(Answers(has_websocket=False)) as url:
        code, printed = result(url, capsys, websocket=True)
    broken = [question["name"] for question in printed["questions"] if not question["passed"]]
    assert code == 1
    assert {name.partition("-")[0] for name in broken} == {"websocket"}


@pytest.mark.parametrize("columns", [80, 120])
def test_a_person_reads_the_rule_the_client_and_the_event(columns: int, tmp_path: Path) -> None:
    with (
        judged_server(text(at_end(usage={"input_tokens": 1}))) as url,
        terminal(am_proxy("comply", url), folder=tmp_path, columns=columns) as shown,
    ):
        assert shown.wait() == 1
    assert "  ✗ streaming-response" in shown.lines
    assert "      ✗ usage          no whole numbers: output_tokens, total_tokens" in shown.lines
    assert any("Codex cannot read response.completed" in line for line in shown.lines)
    assert any(
        line.startswith('        seen           {"type": "response.completed", "response":') for line in shown.lines
    )
    assert max(map(len, shown.lines)) <= columns
    assert shown.lines[-1] == "16 questions. Broken rules: usage."


LONG_ID = f"resp_{'x' * 300}"


def of_a_long_word(stream: list[Json]) -> None:
    """A fault whose event has a word that is longer than any line."""
    for event in stream:
        if "response" in event:
            event["response"]["id"] = LONG_ID
    at_end(usage={"input_tokens": 1})(stream)


def seen(lines: list[str]) -> list[str]:
    """The lines of the event."""
    first = next(number for number, line in enumerate(lines) if line.startswith("        seen "))
    return list(takewhile(lambda line: not line.startswith("  ✗"), lines[first:]))


@pytest.mark.parametrize("is_terminal", [True, False])
def test_an_event_is_wrapped_within_its_column(is_terminal: bool, tmp_path: Path) -> None:  # noqa: FBT001
    with judged_server(text(of_a_long_word)) as url:
        if is_terminal:
            with terminal(am_proxy("comply", url), folder=tmp_path, columns=80) as shown:
                shown.wait()
            lines = seen(shown.lines)
        else:
            lines = seen(run("comply", url, folder=tmp_path).stdout.splitlines())
    assert len(lines) > 4
    assert all(line.startswith(" " * 23) for line in lines[1:])
    assert max(map(len, lines)) <= 80
    assert LONG_ID in "".join(line[23:] for line in lines)


def test_the_page_shows_what_a_terminal_shows(tmp_path: Path) -> None:
    with (
        judged_server(text(at_end(usage={"input_tokens": 1}))) as url,
        terminal(am_proxy("comply", url), folder=tmp_path, columns=100) as shown,
    ):
        shown.wait()
    page = (ROOT / "docs" / "comply.md").read_text("utf-8")
    assert page.split("```text\n")[1].split("```")[0] in shown.text


@pytest.mark.parametrize(
    ("url", "key", "message"),
    [
        ("ftp://a", None, "ftp://a is no address of a server; it looks like http://127.0.0.1:8080/v1"),
        ("http://[a", None, "http://[a is no address of a server; it looks like http://127.0.0.1:8080/v1"),
        ("http://a:b", None, "http://a:b is no address of a server; it looks like http://127.0.0.1:8080/v1"),
        ("http://me:word@a", None, "an address has no user and no password; --key is for the key"),
        ("http://a/v1?x=1", None, "http://a/v1?x=1 is no base URL: nothing may follow its path"),
        ("http://a", "env:NOT_THERE_1", "--key: the environment variable NOT_THERE_1 is not set"),
        ("http://a", "file:/not/there", "--key: the file /not/there cannot be read"),
        ("http://a", "two words", "--key: a key has no spaces, line breaks or special characters"),
    ],
)
def test_a_wrong_flag_is_a_2(url: str, key: str | None, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert comply(url, model="m", key=key, websocket=False, as_json=False) == 2
    assert capsys.readouterr().err == f"am-proxy: {message}\n"


def test_a_proxy_that_does_not_speak_http_is_a_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:1080")
    assert comply("http://a.example", model="m", key=None, websocket=False, as_json=False) == 2
    message = "the proxy in the environment speaks socks5; only http and https proxies can be used"
    assert capsys.readouterr().err == f"am-proxy: {message}\n"


def test_a_server_that_is_not_there_is_a_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert comply("http://127.0.0.1:9", model=None, key=None, websocket=False, as_json=False) == 1
    assert capsys.readouterr().err.startswith("am-proxy: http://127.0.0.1:9/v1: the connection failed: ")


def test_a_key_is_never_printed(capsys: pytest.CaptureFixture[str]) -> None:
    key = "sk-secret-0123456789"
    with judged_server(Answers(error={"detail": f"Your key is {key}."})) as url:
        comply(url, model=None, key=key, websocket=False, as_json=True)
    assert key not in capsys.readouterr().out


def test_a_server_that_ends_no_stream_is_judged_all_the_same_and_asked_no_more(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.cli.comply._LONGEST_WAIT", 0.5)
    unknown = [*TEXT[:1], {"type": "response.magic", "sequence_number": 1}, *TEXT[1:]]
    with judged_server(Answers(text=unknown, never_ends=True)) as url:
        code, printed = result(url, capsys)
    details = {each["name"]: [finding["detail"] for finding in each["findings"]] for each in printed["questions"]}
    assert code == 1
    assert "response.magic is unknown" in details["streaming-response"]
    assert "it took more than 600 s" in details["streaming-response"]
    assert details["invalid-json"] == ["not asked: 3 questions took too long"]


def test_a_list_of_models_that_never_ends_is_not_waited_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def waits(_: ComplyClient) -> str:
        await asyncio.sleep(60)
        return "m"

    monkeypatch.setattr("app.cli.comply._LONGEST_WAIT", 0.1)
    monkeypatch.setattr("app.cli.comply._first_model", waits)
    assert comply("http://127.0.0.1:9", model=None, key=None, websocket=False, as_json=False) == 1
    assert "GET /models took more than 0.1 s" in capsys.readouterr().err
