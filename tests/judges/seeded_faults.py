"""Answers of a Responses server that break one rule of clients each: at least one for every rule."""

import copy
from collections.abc import Callable
from typing import Any

from tests.judges.judged_server import Answers
from tests.judges.openai_streams import CALL, CALLS, CUT, TEXT

Json = dict[str, Any]
Stream = list[Json]
Break = Callable[[Stream], object]


def at(stream: Stream, kind: str, nth: int = 0) -> int:
    """Where the nth event of a type stands."""
    return [place for place, event in enumerate(stream) if event["type"] == f"response.{kind}"][nth]


def change(kind: str, nth: int = 0, /, **fields: Any) -> Break:
    """Other values under some keys of an event."""
    return lambda stream: stream[at(stream, kind, nth)].update(fields)


def change_in(kind: str, key: str, nth: int = 0, /, **fields: Any) -> Break:
    """The same for the response, item or part within an event."""
    return lambda stream: stream[at(stream, kind, nth)][key].update(fields)


def drop(kind: str, nth: int = 0, key: str = "") -> Break:
    """Leave an event, or one of its keys, out."""
    if key:
        return lambda stream: stream[at(stream, kind, nth)].pop(key)
    return lambda stream: renumber(stream, lambda: stream.pop(at(stream, kind, nth)))


def repeat(kind: str) -> Break:
    """Say an event twice."""
    return lambda stream: renumber(
        stream, lambda: stream.insert(at(stream, kind), copy.deepcopy(stream[at(stream, kind)]))
    )


def move(kind: str, nth: int, to: str) -> Break:
    """Say an event where another one stands."""
    return lambda stream: renumber(stream, lambda: stream.insert(at(stream, to), stream.pop(at(stream, kind, nth))))


def renumber(stream: Stream, step: Callable[[], object]) -> None:
    """Number the events anew, so that it is not the number that is found fault with."""
    step()
    for number, event in enumerate(stream):
        event["sequence_number"] = number


def both(*breaks: Break) -> Break:
    """Break a stream in several places."""
    return lambda stream: [one(stream) for one in breaks]


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


def cut(fault: Break, whole: Callable[[Json], object] = dict) -> Answers:
    """A fault in the stream of an answer that was cut."""
    stream = copy.deepcopy(CUT)
    fault(stream)
    return Answers(cut=stream, whole=whole)


def calls(fault: Break) -> Answers:
    """A fault in the stream of two calls."""
    stream = copy.deepcopy(CALLS)
    fault(stream)
    return Answers(call=stream)


def reused_call_id(stream: list[Json]) -> None:
    for kind in ("added", "done"):
        change_in(f"output_item.{kind}", "item", 2, call_id="call_1")(stream)
    in_last(2, call_id="call_1")(stream)


def called_say() -> list[Json]:
    """A custom tool that is called as a function."""
    stream = copy.deepcopy(CALL)
    for kind in ("added", "done"):
        change_in(f"output_item.{kind}", "item", 1, name="say")(stream)
    in_last(1, name="say")(stream)
    return stream


def ends_with_error(stream: list[Json]) -> None:
    stream[-1] = {"type": "error", "sequence_number": stream[-1]["sequence_number"], "error": "No."}


def completed(tokens: int) -> Callable[[Json], Json]:
    """Makes a cut response one that is said to be completed after so many tokens."""

    def change_it(body: Json) -> Json:
        if body["status"] != "incomplete":
            return body
        return {**body, "status": "completed", "usage": {**body["usage"], "output_tokens": tokens}}

    return change_it


def said_to_be_completed(tokens: int) -> Break:
    def change_it(stream: list[Json]) -> None:
        last = stream[-1]
        last |= {"type": "response.completed", "response": completed(tokens)(last["response"])}

    return change_it


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
    ("call-id-reused", calls(reused_call_id)),
    ("error-event", text(ends_with_error)),
    ("not-offered", Answers(has_summaries=False)),
    ("not-offered", Answers(custom=[])),
    ("not-offered", Answers(cut=[])),
    ("not-offered", Answers(response_id="")),
    ("called", Answers(call=TEXT)),
    ("called", Answers(custom=TEXT)),
    ("called", Answers(custom=CALL)),
    ("custom-call", Answers(custom=called_say())),
    ("continued", Answers(continues=False)),
    ("response-id-reused", Answers(response_id="resp_1")),
    ("keep-alive", Answers(closes=True)),
    ("after-leaving", Answers(lets_leave=False)),
    ("silence", Answers(pause=0.2)),
    ("event-silence", Answers(pause=0.2, comment=b": wait\n\n")),
    ("cut-status", cut(said_to_be_completed(20), completed(16))),
    ("cut-status", cut(change_in("incomplete", "response", incomplete_details={"reason": "length"}))),
    ("cut-item", cut(in_last(1, status="completed"))),
    ("limit", cut(said_to_be_completed(90), completed(80))),
    ("usage-missing", cut(change_in("incomplete", "response", usage=None))),
]
