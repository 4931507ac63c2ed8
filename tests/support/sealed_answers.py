"""Answers with state that their provider wants back, and what is asked behind them."""

from collections.abc import Iterable
from itertools import count
from typing import Any, Final

import msgspec

from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.turn import ChatTurn
from app.parsing.request_body import parse_request
from app.protocol.response import Identity
from tests.support.emitters import ReadableSealer
from tests.support.warning_sentences import sentences
from tests.wire.foreign_judges import judge
from tests.wire.grammar import check

Json = dict[str, Any]


HOME: Final = ChatOptions(sealer=ReadableSealer(), origin="litellm anthropic", one_maker=True)


ASKING: Final = {"include": ["reasoning.encrypted_content"], "store": False}


HI: Final = {"role": "user", "content": "Hi"}


SIGNED: Final = {"type": "thinking", "thinking": "hm", "signature": "s1"}


REDACTED: Final = {"type": "redacted_thinking", "data": "opaque"}


PSF: Final = "provider_specific_fields"


def delta(**fields: Any) -> Json:
    """A chunk that says this."""
    return {"choices": [{"index": 0, "delta": fields}]}


def calls(index: int, call_id: str, name: str = "f", arguments: str = "{}", **fields: Any) -> Json:
    """A chunk with one fragment of a call."""
    function = {"name": name, "arguments": arguments}
    return delta(tool_calls=[{"index": index, "id": call_id, "type": "function", "function": function, **fields}])


def turn(items: list[Json], options: ChatOptions = HOME, *, model: str = "m", **fields: Any) -> ChatTurn:
    """A turn with this input."""
    numbers = count(2)
    return ChatTurn(
        parse_request(msgspec.json.encode({"model": "public", "input": items, **ASKING, **fields})),
        model=model,
        options=options,
        identity=Identity("resp_AM-1", 1_700_000_000),
        new_id=lambda prefix: f"{prefix}_AM-{next(numbers)}",
        now=lambda: 1_700_000_000,
    )


def answered(chunks: Iterable[Json], options: ChatOptions = HOME, *, stop: str = "stop", **fields: Any) -> list[Json]:
    """The output items of a turn in which the upstream said this."""
    talking = turn([HI], options, **fields)
    events = talking.begin()
    for chunk in [*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": stop}]}]:
        events += talking.receive(chunk)
    plain: list[Json] = [msgspec.json.decode(msgspec.json.encode(event)) for event in [*events, *talking.end()]]
    check(plain)
    judge(plain)
    output: list[Json] = plain[-1]["response"]["output"]
    return output


def asked_again(output: list[Json], options: ChatOptions = HOME, **fields: Any) -> tuple[list[Json], list[str]]:
    """The assistant's messages of the next ask, once the client sent all items back with an output for each call."""
    outputs = [
        {"type": "function_call_output", "call_id": item["call_id"], "output": "fine"}
        for item in output
        if item["type"] == "function_call"
    ]
    bare = [{key: value for key, value in item.items() if key not in {"id", "status"}} for item in output]
    again = turn([HI, *bare, *outputs], options, **fields)
    return [message for message in again.ask["messages"] if message["role"] == "assistant"], sentences(again.warnings)


def call(call_id: str, name: str = "f", arguments: str = "{}", **fields: Any) -> Json:
    """A call as a message holds it."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **fields}
