"""What a chat server is asked for a request: shared by the tests of this dialect."""

from typing import Any, NamedTuple

import msgspec
import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.encode import encode
from app.dialects.chat.provider_state import FORM
from app.parsing.request_body import parse_request
from app.prompt.build import build
from app.protocol.problems import ProblemError
from tests.support.warning_sentences import sentences

DEFAULT = ChatOptions()


class Asked(NamedTuple):
    """A chat-completions body, and what clients read of the things that it does not say."""

    body: dict[str, Any]
    warnings: list[str]


def ask(options: ChatOptions = DEFAULT, *, of_model: str = "m", **fields: object) -> Asked:
    """The ask for a request with these fields."""
    request = parse_request(msgspec.json.encode({"model": "public", "input": "Hi", **fields}))
    prompt, _, warnings, *_ = build(request, rules=options, model=of_model, state_form=FORM)
    asked = encode(prompt, model=of_model, options=options)
    return Asked(asked.body, sentences([*warnings, *asked.warnings]))


def messages(*items: object, options: ChatOptions = DEFAULT) -> list[dict[str, Any]]:
    """The messages for these items, which must need no warning."""
    asked = ask(options, input=list(items))
    assert asked.warnings == []
    sent_messages: list[dict[str, Any]] = asked.body["messages"]
    return sent_messages


def refusal(*items: object, options: ChatOptions = DEFAULT) -> tuple[str, str]:
    """Code and path of the problem with these items."""
    with pytest.raises(ProblemError) as raised:
        ask(options, input=list(items))
    return raised.value.problem.code, raised.value.problem.param


def user(*content: object) -> dict[str, Any]:
    """A user's message: one string, or parts."""
    return {"type": "message", "role": "user", "content": content[0] if isinstance(content[0], str) else list(content)}


def assistant(text: str) -> dict[str, Any]:
    """An assistant's message, as a response holds it."""
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed", "content": [part]}


def thought(text: str) -> dict[str, Any]:
    """A reasoning item."""
    return {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": text}]}


def call(call_id: str, name: str = "f", arguments: str = "{}") -> dict[str, Any]:
    """A past call."""
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def output(call_id: str, value: object = "done") -> dict[str, Any]:
    """What it gave."""
    return {"type": "function_call_output", "call_id": call_id, "output": value}


def sent_call(call_id: str, name: str = "f", arguments: str = "{}") -> dict[str, Any]:
    """A past call as a chat server is told of it."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def sent_calls(*calls: dict[str, Any], content: str | None = None, **more: object) -> dict[str, Any]:
    """An assistant message with calls."""
    return {"role": "assistant", "content": content, **more, "tool_calls": list(calls)}


def sent_output(call_id: str, content: str = "done") -> dict[str, Any]:
    """An output as a chat server is told of it."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def refuse_what_a_strict_server_refuses(body: dict[str, Any]) -> None:
    """Calls answered at once, each once, in order; nothing empty; tools and choice together or not at all."""
    assert body.get("tools", ["some"])
    assert "tools" in body or not {"tool_choice", "parallel_tool_calls"} & set(body)
    messages = body["messages"]
    assert messages
    waiting: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            assert waiting.pop(0) == message["tool_call_id"]
        else:
            assert not waiting
        calls = message.get("tool_calls", [])
        assert message["content"] or calls
        for call in calls:
            assert isinstance(msgspec.json.decode(call["function"]["arguments"]), dict)
            assert call["id"]
            assert call["id"] not in seen
            seen.add(call["id"])
            waiting.append(call["id"])
    assert not waiting
