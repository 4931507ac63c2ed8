"""Answers that grow, as bytes on the wire, and the work that each costs from there to the last event."""

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, Final

from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.turn import ChatTurn
from app.dialects.responses.relay import RelayTurn
from app.dialects.responses.relay_options import RelayOptions
from app.options import ModelOptions
from app.parsing.request_body import parse_request
from app.protocol.events import Event
from app.protocol.response import Identity
from app.transports import sse
from app.upstreams.chat_lines import ChatLines
from app.upstreams.response_events import EventReader
from tests.support.emitters import ReadableSealer
from tests.wire.script import chunk, cites, delta, fragment, says, stops, thinks
from tests.wire.servers.responses import answer, begins, call, ends, items, message, reasoning

Json = dict[str, Any]

PIECE: Final = 64 * 1024
"""Bytes that arrive at once."""

TOOLS: Final = [
    {"type": "function", "name": "f", "parameters": {}},
    {"type": "custom", "name": "c"},
    {"type": "apply_patch"},
    {"type": "shell"},
]
REQUEST: Final = {
    "model": "m",
    "input": "Hi",
    "tools": TOOLS,
    "include": ["reasoning.encrypted_content", "message.output_text.logprobs"],
    "top_logprobs": 1,
}


def lines(chunks: list[Json]) -> bytes:
    """As a chat server sends them."""
    return b"".join([b"data: %b\n\n" % json.dumps(each).encode() for each in chunks]) + b"data: [DONE]\n\n"


def events(told: list[Json]) -> bytes:
    """As a Responses server sends them."""
    return b"".join([b"data: %b\n\n" % json.dumps(each).encode() for each in told])


def _pieces(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), PIECE):
        yield body[start : start + PIECE]


class Work:
    """What is left of an answer when it was told: the turn, and how it ended."""

    def __init__(self) -> None:
        self.sent = 0
        self.last: Event | None = None

    def tell(self, told: list[Event]) -> None:
        """The bytes leave, and nothing of them is kept."""
        for event in told:
            self.sent += len(sse.frame(event))
            self.last = event


def turn_of(kind: type[Any], options: Any) -> Any:
    """A turn that has not begun."""
    numbers = count(1)
    request = parse_request(json.dumps(REQUEST).encode())
    new_id: Callable[[str], str] = lambda prefix: f"{prefix}_AM-{next(numbers)}"  # noqa: E731 — shorter so
    return kind(request, model="m", options=options, identity=Identity("resp_AM-1", 1), new_id=new_id, now=lambda: 1)


def chat(body: bytes) -> Work:
    """The whole way of a chat server's answer."""
    work, reader = Work(), ChatLines()
    turn: ChatTurn = turn_of(ChatTurn, ChatOptions(sealer=ReadableSealer(), model=ModelOptions(think_tags=True)))
    work.tell(turn.begin())
    for piece in _pieces(body):
        for each in reader.read(piece):
            if not turn.over:
                work.tell(turn.receive(each))
    for each in reader.end():
        if not turn.over:
            work.tell(turn.receive(each))
    if not turn.over:
        work.tell(turn.end())
    return work


def relay(body: bytes) -> Work:
    """The whole way of a Responses server's answer."""
    work, reader = Work(), EventReader()
    turn: RelayTurn = turn_of(RelayTurn, RelayOptions())
    work.tell(turn.begin())
    for piece in _pieces(body):
        for event in reader.read(piece):
            if not turn.over:
                work.tell(turn.receive(event))
    if not turn.over:
        work.tell(turn.end())
    return work


def made(index: int, call_id: str, name: str | None, arguments: str) -> Json:
    """A chunk with one fragment of a call."""
    return delta(tool_calls=[fragment(index, call_id, name, arguments)])


PAGE: Final = "https://a.example"


def grounded(n: int) -> Json:
    """What an answer of Gemini rests on, behind litellm."""
    support = {"segment": {"startIndex": 0, "endIndex": 4}, "groundingChunkIndices": [0]}
    metadata = [{"groundingChunks": [{"web": {"uri": PAGE, "title": "A"}}], "groundingSupports": [support] * n}]
    return {**says("text" * n), "vertex_ai_grounding_metadata": metadata}


def distinct_grounds(n: int) -> Json:
    """The same, each about a part of its own."""
    supports = [
        {"segment": {"startIndex": 4 * index, "endIndex": 4 * index + 4}, "groundingChunkIndices": [0]}
        for index in range(n)
    ]
    metadata = [{"groundingChunks": [{"web": {"uri": PAGE, "title": "A"}}], "groundingSupports": supports}]
    return {**says("text" * n), "vertex_ai_grounding_metadata": metadata}


def whole_grounds(n: int) -> Json:
    """The same, each about the whole text."""
    result = grounded(n)
    for support in result["vertex_ai_grounding_metadata"][0]["groundingSupports"]:
        support["segment"] = {"startIndex": 0, "endIndex": 4 * n}
    return result


def many_text_deltas(n: int) -> Json:
    """The same, whose numbers are off, so that each is looked for by its words."""
    result = grounded(n)
    for index, support in enumerate(result["vertex_ai_grounding_metadata"][0]["groundingSupports"][:]):
        result["vertex_ai_grounding_metadata"][0]["groundingSupports"][index] = {
            **support,
            "segment": {"startIndex": 1, "endIndex": 4, "text": "no such text"},
        }
    return result


ENTRY: Final = {"token": "a", "logprob": -1, "top_logprobs": [{"token": "a", "logprob": -1}]}
KEPT: Final = [{"type": "reasoning.encrypted", "data": "AAAA"}]
LONG: Final = [fragment(0, "call_1", "f", '{"a": "')]

CHAT: Final[dict[str, Callable[[int], bytes]]] = {
    "deltas": lambda n: lines([*[says("a") for _ in range(n)], stops()]),
    "thoughts": lambda n: lines([*[thinks("a") for _ in range(n)], stops()]),
    "text and thoughts, alternating": lambda n: lines([*[says("a"), thinks("b")] * n, stops()]),
    "only white space": lambda n: lines([*[says(" ") for _ in range(n)], says("a"), stops()]),
    "white space with thoughts": lambda n: lines([*[thinks(" ") for _ in range(n)], thinks("a"), stops()]),
    "refusals": lambda n: lines([*[delta(refusal="a") for _ in range(n)], stops()]),
    "text and refusals, alternating": lambda n: lines([*[says("a"), delta(refusal="b")] * n, stops()]),
    "surrogate pairs, split": lambda n: lines([*[says("\ud83d"), says("\ude00")] * n, stops()]),
    "unpaired surrogates": lambda n: lines([*[says("\ud83d")] * n, stops()]),
    "incomplete think tags": lambda n: lines([*[says("<think>a</thin")] * n, stops()]),
    "one long delta": lambda n: lines([says("a" * 50 * n), stops()]),
    "one long line of log probabilities": lambda n: lines([says("a", logprobs={"content": [ENTRY] * n}), stops()]),
    "log probabilities": lambda n: lines([*[says("a", logprobs={"content": [ENTRY]})] * n, stops()]),
    "one line of empty log probabilities": lambda n: lines([says("a", logprobs={"content": [{}] * 50 * n}), stops()]),
    "arguments in pieces": lambda n: lines([delta(tool_calls=LONG), *[made(0, "", None, "a")] * n, stops()]),
    "arguments whose name repeats": lambda n: lines([*[made(0, "", "f", "}")] * n, stops()]),
    "input of a custom tool": lambda n: lines(
        [made(0, "call_1", "c", '{"input": "'), *[made(0, "", None, "\\n")] * n, made(0, "", None, '"}'), stops()]
    ),
    "invalid custom input": lambda n: lines([made(0, "call_1", "c", "{"), *[made(0, "", None, '"')] * n, stops()]),
    "a patch": lambda n: lines([made(0, "call_1", "apply_patch", '{"'), *[made(0, "", None, "a")] * n, stops()]),
    "commands": lambda n: lines(
        [made(0, "call_1", "shell", '{"commands": ["'), *[made(0, "", None, 'a","')] * n, stops()]
    ),
    "parallel calls that are whole": lambda n: lines([*[made(k, f"c{k}", "f", "{}") for k in range(n)], stops()]),
    "parallel calls that stay open": lambda n: lines([*[made(k, f"c{k}", "f", "{") for k in range(n)], stops()]),
    "parallel calls of other tools": lambda n: lines([*[made(k, f"c{k}", "shell", "{") for k in range(n)], stops()]),
    "an open call together with text": lambda n: lines(
        [made(0, "c0", "f", '{"a": "' + "a" * 50 * n), *[says("a"), thinks("b")] * n, stops()]
    ),
    "calls of tools that were not offered": lambda n: lines([*[made(k, "", f"g{k}", "{}") for k in range(n)], stops()]),
    "citations after text": lambda n: lines([*[says("a"), cites(PAGE, "A", 0, 1)] * n, stops()]),
    "citations before their text": lambda n: lines([*[cites(PAGE, "A", 1, 10**9), says("a")] * n, stops()]),
    "many citations at once": lambda n: lines(
        [says("a"), *[cites(f"{PAGE}/{k}", "A", 1, 9) for k in range(n)], stops()]
    ),
    "white space that is cited": lambda n: lines([*[says(" "), cites(PAGE, "A", 50, 60)] * n, says("a"), stops()]),
    "one ground often": lambda n: lines([grounded(n), stops()]),
    "grounds": lambda n: lines([distinct_grounds(n), stops()]),
    "grounds about the whole text": lambda n: lines([whole_grounds(n), stops()]),
    "grounds by their words": lambda n: lines([many_text_deltas(n), stops()]),
    "markers": lambda n: lines([{**says("a[1]" * n), "citations": [PAGE]}, stops()]),
    "repeated sources": lambda n: lines([*[{**says("a[1]"), "citations": [PAGE]}] * n, stops()]),
    "provider state": lambda n: lines([*[delta(reasoning_details=KEPT)] * n, says("a"), stops()]),
    "provider state of calls": lambda n: lines(
        [*[delta(tool_calls=[{**fragment(0, "c", "f", "a"), "extra_content": {"k": k}}]) for k in range(n)], stops()]
    ),
    "images": lambda n: lines([*[delta(images=[{"image_url": {"url": "data:image/png;base64,AAAA"}}])] * n, stops()]),
    "usage in every chunk": lambda n: lines([*[chunk(usage={"prompt_tokens": 1})] * n, says("a"), stops()]),
    "empty chunks": lambda n: lines([*[{}] * n, says("a"), stops()]),
    "comments": lambda n: b": ping\n\n" * 5 * n + lines([says("a"), stops()]),
    "empty lines": lambda n: b"\n" * 50 * n + lines([says("a"), stops()]),
    "empty data": lambda n: b"data:\n\n" * 5 * n + lines([says("a"), stops()]),
    "a chunk of many lines": lambda n: b'data: {"a": [\n' + b"data: 1,\n" * n + b"data: 1]}\n\n",
    "HTML instead of a stream": lambda n: b"<p>\n" * 10 * n,
    "a whole answer": lambda n: json.dumps({"choices": [{"message": {"content": "a" * 50 * n}}]}).encode(),
    "a whole answer of calls": lambda n: json.dumps(
        {"choices": [{"message": {"tool_calls": [fragment(None, f"c{k}", "f", "{}") for k in range(n)]}}]}
    ).encode(),
}  # fmt: skip


def deltas(n: int, kind: str = "output_text") -> list[Json]:
    """An answer of one message that comes in pieces."""
    whole = message("msg_1", *["a"] * n)
    return [event | ({"type": event["type"].replace("output_text", kind)}) for event in answer(whole)]


RELAY: Final[dict[str, Callable[[int], bytes]]] = {
    "deltas": lambda n: events(deltas(n)),
    "thoughts": lambda n: events(answer(reasoning("rs_1", *["a"] * n))),
    "arguments": lambda n: events(answer(call("fc_1", "call_1", "f", '{"a": "', *["a"] * n, '"}'))),
    "broken arguments": lambda n: events(answer(call("fc_1", "call_1", "f", '{"a": "', *["a"] * n))),
    "items": lambda n: events(answer(*[message(f"msg_{k}", "a") for k in range(n)])),
    "calls": lambda n: events(answer(*[call(f"fc_{k}", f"call_{k}", "f", "{") for k in range(n)])),
    "items without positions": lambda n: events(bare(answer(*[message(f"msg_{k}", "a") for k in range(n)]))),
    "items without ids": lambda n: events(nameless(answer(*[message(f"msg_{k}", "a") for k in range(n)]))),
    "items without a beginning": lambda n: events(
        [*begins(), *[event for event in items(*said(n)) if event["type"].endswith("item.done")], ends()]
    ),
    "items without an end": lambda n: events(
        [*begins(), *[event for event in items(*said(n)) if event["type"].endswith("item.added")], ends()]
    ),
    "parts": lambda n: events([*begins(), *parts(n), ends()]),
    "parts without an end": lambda n: events([*begins(), *parts(n, end=False), ends()]),
    "items that end before their parts": lambda n: events(
        [*begins(), *[event for event in items(*said(n)) if not event["type"].endswith("part.done")], ends()]
    ),
    "other ids in every event": lambda n: events(renamed(deltas(n))),
    "surrogate pairs, split": lambda n: events(answer(message("msg_1", *["\ud83d", "\ude00"] * n))),
    "one long delta": lambda n: events(answer(message("msg_1", "a" * 50 * n))),
    "annotations": lambda n: events(annotated(n)),
    "events of unknown types": lambda n: events([*begins(), *[{"type": "of.tomorrow"}] * n, ends()]),
    "comments": lambda n: b": ping\n\n" * 5 * n + events(deltas(1)),
    "keep-alives": lambda n: b'data: {"type": "keepalive"}\n\n' * n + events(deltas(1)),
    "data of many lines": lambda n: b'data: {"type": "a", "b": [\n' + b"data: 1,\n" * n + b"data: 1]}\n\n",
    "HTML instead of a stream": lambda n: b"<p>\n" * 10 * n,
}  # fmt: skip


def said(n: int) -> list[Any]:
    """Many short messages."""
    return [message(f"msg_{k}", "a") for k in range(n)]


def parts(n: int, *, end: bool = True) -> list[Json]:
    """One message of many parts, which end or do not."""
    added, begun, *_, ended, done = items(message("msg_1", "a"))
    both = [begun, ended] if end else [begun]
    return [added, *[{**event, "content_index": index} for index in range(n) for event in both], done]


def bare(told: list[Json]) -> list[Json]:
    """Without any position."""
    return [{key: value for key, value in event.items() if not key.endswith("_index")} for event in told]


def nameless(told: list[Json]) -> list[Json]:
    """Without any position or id."""
    plain = [{key: value for key, value in event.items() if key != "item_id"} for event in bare(told)]
    for event in plain:
        if "item" in event:
            event["item"] = {key: value for key, value in event["item"].items() if key != "id"}
    return plain


def renamed(told: list[Json]) -> list[Json]:
    """With another id in each event."""
    return [{**event, "item_id": f"msg_{k}"} if "item_id" in event else event for k, event in enumerate(told)]


def annotated(n: int) -> list[Json]:
    """A message with many citations."""
    result = answer(message("msg_1", "a"))
    name = "response.output_text.annotation.added"
    cited = {"type": name, "item_id": "msg_1", "output_index": 0, "content_index": 0, "annotation": {"url": PAGE}}
    return [*result[:5], *[{**cited, "annotation_index": k} for k in range(n)], *result[5:]]
