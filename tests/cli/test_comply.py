"""`am-proxy comply` against servers that break one rule each, and against sound ones."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.cli.comply import comply
from app.settings import Model, Settings, Upstream
from tests.support.faults import Break, at, both, change, change_in, drop, move, repeat
from tests.support.judged_server import Answers, judged_server
from tests.support.openai_streams import CALL, TEXT
from tests.support.running import ROOT
from tests.support.serving import serving
from tests.support.terminal import am_proxy, terminal

Json = dict[str, Any]


def text(fault: Break) -> Answers:
    """A fault in the stream of a text."""
    stream = copy.deepcopy(TEXT)
    fault(stream)
    return Answers(text=stream)


def call(fault: Break) -> Answers:
    """A fault in the stream of a call."""
    stream = copy.deepcopy(CALL)
    fault(stream)
    return Answers(call=stream)


def done_call(**fields: Any) -> Answers:
    """A call that is done with other fields, in the last event as well."""
    return call(both(change_in("output_item.done", "item", 1, **fields), in_last(1, **fields)))


def in_last(index: int, **fields: Any) -> Break:
    return lambda stream: stream[-1]["response"]["output"][index].update(fields)


def response(change_it: Callable[[Json], object]) -> Answers:
    """A fault in a whole response."""

    def changed(body: Json) -> Json:
        copied = copy.deepcopy(body)
        change_it(copied)
        return copied

    return Answers(whole=changed)


def at_end(**fields: Any) -> Break:
    return change_in("completed", "response", **fields)


def error(**fields: Any) -> Answers:
    return Answers(error={"error": {"message": "No.", "type": "t", "param": None, "code": None} | fields})


def failed(**fields: Any) -> Break:
    """The stream fails at its end."""
    return both(
        change("completed", type="response.failed"),
        lambda stream: stream[-1]["response"].update(status="failed", error=fields or None),
    )


def unstreamed_arguments(stream: list[Json]) -> None:
    for kind in ("delta", "delta", "done"):
        stream.pop(at(stream, f"function_call_arguments.{kind}"))


def other_arguments(stream: list[Json]) -> None:
    arguments = "Paris"
    stream.pop(at(stream, "function_call_arguments.delta", 1))
    change("function_call_arguments.delta", delta=arguments)(stream)
    change("function_call_arguments.done", arguments=arguments)(stream)
    change_in("output_item.done", "item", 1, arguments=arguments)(stream)
    in_last(1, arguments=arguments)(stream)


FAULTS: list[tuple[str, Answers]] = [
    ("content-type", Answers(content_type="application/json")),
    ("event-json", Answers(frames=lambda data: data.replace(b"data: {", b"data: {,", 1))),
    ("event-json", Answers(frames=lambda data: b"data: 7\n\n" + data)),
    ("event-name", Answers(frames=lambda data: data.replace(b"event: response.created", b"event: message"))),
    ("frame-end", Answers(frames=lambda data: data[:-1])),
    ("created-first", text(drop("created"))),
    ("created-once", text(repeat("created"))),
    ("last-event", text(drop("completed"))),
    ("after-last", text(repeat("completed"))),
    ("known-event", text(change("in_progress", type="response.odd"))),
    ("sequence-number", text(drop("in_progress", key="sequence_number"))),
    ("sequence-order", text(change("in_progress", sequence_number=0))),
    ("failed-sequence", text(both(failed(code="c", message="m"), drop("failed", key="sequence_number")))),
    ("event-fields", text(drop("output_text.delta", key="item_id"))),
    ("event-fields", text(change("output_text.delta", delta=None))),
    ("event-fields", call(drop("function_call_arguments.delta", key="output_index"))),
    ("response-object", text(drop("in_progress", key="response"))),
    ("response-id", text(at_end(id="resp_2"))),
    ("response-fields", text(lambda stream: stream[0]["response"].pop("created_at"))),
    ("response-fields", text(at_end(id=""))),
    ("response-output", text(change_in("created", "response", output=None))),
    ("last-status", text(at_end(status="in_progress"))),
    ("usage", text(at_end(usage={"input_tokens": 1}))),
    ("usage", text(at_end(usage={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2.5}))),
    ("usage-missing", text(at_end(usage=None))),
    ("final-output", text(at_end(output=[]))),
    ("final-output", text(lambda stream: stream[-1]["response"]["output"].reverse())),
    ("failed-error", text(failed())),
    (
        "incomplete-reason",
        text(
            both(
                change("completed", type="response.incomplete"),
                change_in("incomplete", "response", status="incomplete"),
            )
        ),
    ),
    ("item-fields", text(lambda stream: stream[at(stream, "output_item.added")]["item"].pop("id"))),
    ("index-reused", text(change("output_item.added", 1, output_index=0))),
    ("index-order", text(change("output_item.added", 1, output_index=5))),
    ("item-id-reused", text(change_in("output_item.added", "item", 1, id="rs_0"))),
    ("added-empty", text(change_in("output_item.added", "item", 1, content=None))),
    ("added-empty", call(change_in("output_item.added", "item", 1, arguments=None))),
    ("item-open", text(drop("output_item.added", 1))),
    ("item-id", text(change("output_text.delta", item_id="msg_other"))),
    ("item-id", text(change_in("output_item.done", "item", 1, id="msg_other"))),
    ("item-type", call(change_in("output_item.done", "item", 1, type="custom_tool_call"))),
    ("call-id", call(change_in("output_item.done", "item", 1, call_id="call_other"))),
    ("event-fits", call(change("function_call_arguments.delta", type="response.custom_tool_call_input.delta"))),
    ("call-status", done_call(status=None)),
    ("item-not-done", text(drop("output_item.done", 1))),
    ("part-order", text(change("content_part.added", content_index=1))),
    ("part-open", text(drop("content_part.added"))),
    ("part-open", text(move("output_text.delta", 1, "content_part.done"))),
    ("part-type", text(change_in("content_part.added", "part", type="refusal"))),
    ("part-not-done", text(drop("reasoning_summary_part.done"))),
    ("joined-text", text(change("output_text.done", text="Hi here"))),
    ("joined-text", call(change("function_call_arguments.done", arguments="{}"))),
    ("done-text", done_call(arguments="{}")),
    ("no-deltas", text(lambda stream: [stream.pop(at(stream, "output_text.delta")) for _ in range(2)])),
    ("no-deltas", call(unstreamed_arguments)),
    ("codex-call-id", done_call(call_id="")),
    ("codex-name", done_call(name=None)),
    ("codex-arguments", done_call(arguments={"location": "Paris"})),
    ("arguments-json", call(other_arguments)),
    ("codex-phase", text(change_in("output_item.done", "item", 1, phase="thinking"))),
    ("codex-message", text(change_in("output_item.done", "item", 1, role="user"))),
    ("codex-summary", text(lambda stream: stream[at(stream, "output_item.done")]["item"].pop("summary"))),
    ("response-kind", response(lambda body: body.update(object="chat.completion"))),
    ("status", response(lambda body: body.update(status="finished"))),
    ("response-fields", response(lambda body: body.pop("model"))),
    ("usage", response(lambda body: body["usage"].pop("total_tokens"))),
    ("codex-phase", response(lambda body: body["output"][-1].update(phase="odd"))),
    ("whole-response", Answers(always_streams=True)),
    ("whole-response", Answers(whole=lambda _: ["no object"])),
    ("part-fields", response(lambda body: body["output"][-1].update(content=[{"type": "output_text", "text": "Hi"}]))),
    ("error-status", Answers(error_status=500)),
    ("error-status", Answers(error_status=200)),
    ("error-body", Answers(error={"detail": "No."})),
    ("error-body", Answers(error="No.")),
    ("error-strings", error(code=400)),
    ("error-strings", error(type=None)),
    ("no-retry-after", Answers(error_status=413, error_headers={"Retry-After": "1"})),
    ("answered", Answers(status=503)),
    ("openai-types", text(change("output_text.delta", logprobs={}))),
]


def result(url: str, capsys: pytest.CaptureFixture[str], *, websocket: bool = False) -> tuple[int, Json]:
    """The exit code and the JSON."""
    code = comply(url, model=None, key=None, websocket=websocket, as_json=True)
    printed: Json = json.loads(capsys.readouterr().out)
    return code, printed


def findings(printed: Json) -> list[Json]:
    return [finding for question in printed["questions"] for finding in question["findings"]]


@pytest.mark.parametrize(("rule", "answers"), FAULTS, ids=[f"{n} {row[0]}" for n, row in enumerate(FAULTS)])
def test_a_broken_rule_is_found_and_named(rule: str, answers: Answers, capsys: pytest.CaptureFixture[str]) -> None:
    with judged_server(answers) as url:
        code, printed = result(url, capsys)
    found = {finding["rule"]: finding for finding in findings(printed)}
    assert rule in found, list(found)
    assert all(found[rule][key] for key in ("says", "breaks", "detail"))
    assert code == int(any(finding["is_fault"] for finding in found.values()))


def test_a_sound_server_is_accused_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Its streams are of the kind that OpenAI's server sends."""
    with judged_server(Answers()) as url:
        code, printed = result(url, capsys)
    assert (code, findings(printed)) == (0, [])
    assert printed["passed"] is True


def test_the_embedded_model_is_accused_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(upstreams={"demo": Upstream(via="demo")}, models={"demo": Model(upstream="demo")})
    with serving(settings) as url:
        code, printed = result(url, capsys, websocket=True)
    assert (code, findings(printed)) == (0, [])
    assert len(printed["questions"]) == 21


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
    with judged_server(Answers()) as url:
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
    assert shown.lines[-1] == "14 questions. Broken rules: usage."


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


def test_a_server_that_is_not_there_is_a_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert comply("http://127.0.0.1:9", model=None, key=None, websocket=False, as_json=False) == 1
    assert capsys.readouterr().err.startswith("am-proxy: http://127.0.0.1:9/v1: the connection failed: ")


def test_a_key_is_never_printed(capsys: pytest.CaptureFixture[str]) -> None:
    key = "sk-secret-0123456789"
    with judged_server(Answers(error={"detail": f"Your key is {key}."})) as url:
        comply(url, model=None, key=key, websocket=False, as_json=True)
    assert key not in capsys.readouterr().out
