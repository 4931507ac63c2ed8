"""What Codex gets differently from every other client: the same cases over chat, and over two kinds of relayed servers.

`docs/codex.md` promises both differences.
"""

import json
from collections.abc import Callable
from itertools import count
from typing import Any, Literal, NamedTuple

import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.turn import ChatTurn
from app.parsing.request_body import parse_request
from app.protocol.response import Identity
from tests.support import emitters, relay_turns
from tests.wire.foreign_judges import judge
from tests.wire.grammar import check
from tests.wire.servers.responses import ScriptedItem, answer, begins, call, items

Json = dict[str, Any]
End = Literal["stop", "length", "content_filter", "cut off"]

TOOL: Json = {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}}


class Piece(NamedTuple):
    """One thing a model says: text, a refusal, or the arguments of a call."""

    kind: Literal["text", "refusal", "call"]
    text: str


class Case(NamedTuple):
    """What the model says, how its answer ends, and what is read of the stream: by Codex, and by any other client."""

    pieces: list[Piece]
    end: End
    codex: list[str]
    others: list[str]


PARTLY = "response.completed incomplete"

CASES = {
    "a whole answer": Case(
        [Piece("text", "Hi")],
        "stop",
        ["message completed text:Hi", "response.completed completed"],
        ["message completed text:Hi", "response.completed completed"],
    ),
    "a limit in text": Case(
        [Piece("text", "Hi")],
        "length",
        ["message incomplete text:Hi", PARTLY],
        ["message incomplete text:Hi", "response.incomplete incomplete"],
    ),
    "a filter in text": Case(
        [Piece("text", "Hi")],
        "content_filter",
        ["message incomplete text:Hi", PARTLY],
        ["message incomplete text:Hi", "response.incomplete incomplete"],
    ),
    "a limit behind a whole call": Case(
        [Piece("call", "{}")],
        "length",
        ["function_call completed {}", PARTLY],
        ["function_call completed {}", "response.incomplete incomplete"],
    ),
    "a limit in a call": Case(
        [Piece("text", "Hi"), Piece("call", '{"a')],
        "length",
        ["message completed text:Hi", "response.failed failed invalid_prompt"],
        ["message completed text:Hi", 'function_call incomplete {"a', "response.incomplete incomplete"],
    ),
    "a filter in a call behind a whole one": Case(
        [Piece("call", "{}"), Piece("call", '{"a')],
        "content_filter",
        ["function_call completed {}", "response.failed failed invalid_prompt"],
        ["function_call completed {}", 'function_call incomplete {"a', "response.incomplete incomplete"],
    ),
    "arguments that are no JSON, and no limit": Case(
        [Piece("call", '{"a')],
        "stop",
        ['function_call completed {"a', "response.completed completed"],
        ['function_call completed {"a', "response.completed completed"],
    ),
    "a refusal": Case(
        [Piece("refusal", "No.")],
        "stop",
        ["message completed text:No.", "response.completed completed"],
        ["message completed refusal:No.", "response.completed completed"],
    ),
    "a refusal behind text": Case(
        [Piece("text", "Hi. "), Piece("refusal", "No.")],
        "stop",
        ["message completed text:Hi. No.", "response.completed completed"],
        ["message completed text:Hi. refusal:No.", "response.completed completed"],
    ),
    "a limit in a refusal": Case(
        [Piece("refusal", "No")],
        "length",
        ["message incomplete text:No", PARTLY],
        ["message incomplete refusal:No", "response.incomplete incomplete"],
    ),
    "a refusal that is cut off": Case(
        [Piece("refusal", "No")],
        "cut off",
        ["message incomplete text:No", "response.failed failed server_error"],
        ["message incomplete refusal:No", "response.failed failed server_error"],
    ),
    "a call that is cut off": Case(
        [Piece("call", '{"a')],
        "cut off",
        ["response.failed failed server_error"],
        ["response.failed failed server_error"],
    ),
}


def over_chat(case: Case, *, for_codex: bool) -> list[Json]:
    """A chat server says it."""
    body = {"model": "public", "input": "Hi", "tools": [TOOL]}
    numbers = count(1)
    turn = ChatTurn(
        parse_request(json.dumps(body).encode()),
        model="theirs",
        options=ChatOptions(),
        identity=Identity("resp_AM-1", relay_turns.CREATED_AT),
        new_id=lambda prefix: f"{prefix}_AM-{next(numbers)}",
        now=lambda: relay_turns.CREATED_AT,
        for_codex=for_codex,
    )
    events = turn.begin()
    for index, piece in enumerate(case.pieces):
        function = {"name": "run", "arguments": piece.text}
        delta = {
            "text": {"content": piece.text},
            "refusal": {"refusal": piece.text},
            "call": {"tool_calls": [{"index": index, "id": f"call_{index}", "function": function}]},
        }[piece.kind]
        events += turn.receive({"choices": [{"index": 0, "delta": delta}]})
    if case.end != "cut off":
        events += turn.receive({"choices": [{"index": 0, "delta": {}, "finish_reason": case.end}]})
    return emitters.plain([*events, *turn.end()])


def over_relay(case: Case, *, for_codex: bool, cut_call: str) -> list[Json]:
    """A server says it that speaks Responses itself; a call that a limit cut has this status there."""
    content = relayed(case, cut_call)
    turn = relay_turns.new_turn(for_codex=for_codex)
    if case.end == "cut off":
        cut = [event for event in items(*content) if not event["type"].endswith(".done")]
        return relay_turns.client_events(turn, [*begins(), *cut]) + relay_turns.plain(turn.end())
    if case.end == "stop":
        return relay_turns.client_events(turn, answer(*content))
    reason = "max_output_tokens" if case.end == "length" else "content_filter"
    return relay_turns.client_events(turn, answer(*content, status="incomplete", incomplete_details={"reason": reason}))


def relayed(case: Case, cut_call: str) -> list[ScriptedItem]:
    """The items of such a server."""
    parts = [piece for piece in case.pieces if piece.kind != "call"]
    calls = [piece.text for piece in case.pieces if piece.kind == "call"]
    history = [message(parts)] if parts else []
    history += [call(f"fc_{number}", f"call_{number}", "run", arguments) for number, arguments in enumerate(calls)]
    if case.end in {"length", "content_filter"} and case.pieces[-1].text != "{}":
        between, born, done = history[-1]
        history[-1] = ScriptedItem(between, born, {**done, "status": cut_call if calls else "incomplete"})
    return history


def message(pieces: list[Piece]) -> ScriptedItem:
    """A message of these parts."""
    between: list[Json] = []
    content: list[Json] = []
    for index, piece in enumerate(pieces):
        at = {"content_index": index}
        empty: Json = {"type": "output_text", "text": "", "annotations": []}
        name, whole, more = "response.output_text", {"text": piece.text}, Json(logprobs=[])
        if piece.kind == "refusal":
            empty = {"type": "refusal", "refusal": ""}
            name, whole, more = "response.refusal", {"refusal": piece.text}, {}
        content.append({**empty, **whole})
        between += [
            {"type": "response.content_part.added", **at, "part": empty},
            {"type": f"{name}.delta", **at, "delta": piece.text, **more},
            {"type": f"{name}.done", **at, **whole, **more},
            {"type": "response.content_part.done", **at, "part": content[-1]},
        ]
    born: Json = {"id": "msg_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
    return ScriptedItem(between, born, {**born, "status": "completed", "content": content})


def openai(case: Case, *, for_codex: bool) -> list[Json]:
    """OpenAI says of a call that it is incomplete."""
    return over_relay(case, for_codex=for_codex, cut_call="incomplete")


def vllm(case: Case, *, for_codex: bool) -> list[Json]:
    """Servers like vLLM end it as if it were whole."""
    return over_relay(case, for_codex=for_codex, cut_call="completed")


def read(events: list[Json]) -> list[str]:
    """What a client reads: each item that is done, then how the answer ended."""
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    last = events[-1]
    assert last["response"]["output"] == done
    error = last["response"]["error"]
    ending = f"{last['type']} {last['response']['status']}"
    return [*[written(item) for item in done], ending if error is None else f"{ending} {error['code']}"]


def written(item: Json) -> str:
    """An item in a few words. Parts of one kind are read as one."""
    if item["type"] == "function_call":
        return f"function_call {item['status']} {item['arguments']}"
    kinds = {"output_text": "text", "refusal": "refusal"}
    text = last = ""
    for part in item["content"]:
        kind = kinds[part["type"]]
        text += ("" if kind == last else f"{kind}:") + part.get("text", part.get("refusal"))
        last = kind
    return f"message {item['status']} {text}"


@pytest.mark.parametrize("lane", [over_chat, openai, vllm])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("for_codex", [True, False], ids=["codex", "others"])
def test_a_client_reads_the_same_whichever_server_answered(
    case: Case, lane: Callable[..., list[Json]], *, for_codex: bool
) -> None:
    events = lane(case, for_codex=for_codex)
    check(events, completed_may_be_incomplete=for_codex)
    judge(events)
    assert read(events) == (case.codex if for_codex else case.others)
    if for_codex:
        assert "refusal" not in json.dumps(events)
