"""The servers themselves: they take back what they said, and refuse it once it is altered or lacks something."""

import copy
import json
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import httpx
import pytest

from tests.wire.servers import (
    KEY,
    Answer,
    AnthropicUpstream,
    Calls,
    DeepSeekUpstream,
    GeminiUpstream,
    Hides,
    MistralUpstream,
    ModelUpstream,
    OllamaCompatibleUpstream,
    OllamaUpstream,
    OpenAIUpstream,
    OpenRouterUpstream,
    Says,
    Thinks,
    VllmUpstream,
)

Json = dict[str, Any]

THOUGHTFUL: Final[Answer] = [
    Thinks("Rome first."),
    Hides("Nobody may read this."),
    Says("Let me look."),
    Calls("weather", '{"city": "Rome"}'),
    Calls("weather", '{"city": "Oslo"}'),
]
SCHEMA: Final = {"type": "object", "properties": {"city": {"type": "string"}}}


class Client(NamedTuple):
    """The smallest client of a wire format: what it posts, and how it says again what it was told."""

    path: str
    headers: Json
    ask: Json
    said: Callable[[Json], Json]
    """The assistant's message of a whole answer."""
    outputs: Callable[[Json], list[Json]]
    """What the tools say to that message."""
    messages: str = "messages"

    def body(self, *messages: Json) -> Json:
        return {**copy.deepcopy(self.ask), self.messages: [copy.deepcopy(self.ask[self.messages][0]), *messages]}


def _chat(wire: type[ModelUpstream], **ask: Any) -> Client:
    function = {"name": "weather", "parameters": SCHEMA}
    return Client(
        "/chat/completions",
        {"authorization": f"Bearer {KEY}"},
        {
            "model": wire.model,
            "messages": [{"role": "user", "content": "Rome and Oslo?"}],
            "tools": [{"type": "function", "function": function}],
            **ask,
        },
        lambda answer: answer["choices"][0]["message"],
        lambda said: [{"role": "tool", "tool_call_id": call["id"], "content": "fine"} for call in said["tool_calls"]],
    )


def _mistral_said(answer: Json) -> Json:
    """Without thoughts: they may be left out."""
    message = answer["choices"][0]["message"]
    return {**message, "content": "".join(part["text"] for part in message["content"] if part["type"] == "text")}


CLIENTS: Final[dict[type[ModelUpstream], Client]] = {
    OpenAIUpstream: _chat(OpenAIUpstream),
    DeepSeekUpstream: _chat(DeepSeekUpstream),
    MistralUpstream: _chat(MistralUpstream)._replace(said=_mistral_said),
    VllmUpstream: _chat(VllmUpstream),
    OpenRouterUpstream: _chat(OpenRouterUpstream),
    OllamaCompatibleUpstream: _chat(OllamaCompatibleUpstream),
    AnthropicUpstream: Client(
        "/v1/messages",
        {"x-api-key": KEY, "anthropic-version": "2023-06-01"},
        {
            "model": AnthropicUpstream.model,
            "max_tokens": 2048,
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "messages": [{"role": "user", "content": "Rome and Oslo?"}],
            "tools": [{"name": "weather", "input_schema": SCHEMA}],
        },
        lambda answer: {"role": "assistant", "content": answer["content"]},
        lambda said: [
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": block["id"], "content": "fine"}
                    for block in said["content"]
                    if block["type"] == "tool_use"
                ],
            }
        ],
    ),
    GeminiUpstream: Client(
        f"/v1beta/models/{GeminiUpstream.model}:generateContent",
        {"x-goog-api-key": KEY},
        {
            "contents": [{"role": "user", "parts": [{"text": "Rome and Oslo?"}]}],
            "tools": [{"functionDeclarations": [{"name": "weather", "parameters": SCHEMA}]}],
        },
        lambda answer: answer["candidates"][0]["content"],
        lambda said: [
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "weather", "response": {"result": "fine"}}}
                    for part in said["parts"]
                    if "functionCall" in part
                ],
            }
        ],
        messages="contents",
    ),
    OllamaUpstream: Client(
        "/api/chat",
        {"authorization": f"Bearer {KEY}"},
        {
            "model": OllamaUpstream.model,
            "stream": False,
            "messages": [{"role": "user", "content": "Rome and Oslo?"}],
            "tools": [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}],
        },
        lambda answer: answer["message"],
        lambda said: [{"role": "tool", "tool_name": "weather", "content": "fine"} for _ in said["tool_calls"]],
    ),
}


def _post(wire: ModelUpstream, client: Client, body: Json, **headers: str) -> httpx.Response:
    url = f"http://127.0.0.1:{wire.port}{wire.base_path}{client.path}"
    return httpx.post(url, headers={**client.headers, **headers}, json=body)


@pytest.mark.parametrize("kind", CLIENTS)
def test_what_was_said_can_be_said_again(kind: type[ModelUpstream]) -> None:
    client = CLIENTS[kind]
    with kind().say(THOUGHTFUL, [Says("Fine.")]) as wire:
        reply = client.said(_post(wire, client, client.body()).json())
        answer = _post(wire, client, client.body(reply, *client.outputs(reply)))
    assert answer.status_code == 200
    assert "Fine." in answer.text


@pytest.mark.parametrize("kind", CLIENTS)
def test_nobody_comes_in_without_the_key(kind: type[ModelUpstream]) -> None:
    client = CLIENTS[kind]
    [header] = client.headers.keys() & {"authorization", "x-api-key", "x-goog-api-key"}
    with kind().say([Says("Fine.")]) as wire:
        wire.may_violate = True
        answer = _post(wire, client, client.body(), **{header: "another"})
    assert (answer.status_code, wire.violations) == (401, ["the key is not known"])


@pytest.mark.parametrize("kind", CLIENTS)
def test_calls_without_outputs_are_refused(kind: type[ModelUpstream]) -> None:
    client = CLIENTS[kind]
    with kind().say(THOUGHTFUL, [Says("Fine.")]) as wire:
        wire.may_violate = True
        reply = client.said(_post(wire, client, client.body()).json())
        assert _post(wire, client, client.body(reply)).status_code == 400


class Altered(NamedTuple):
    """One change to what was said: the value at the end of this path is replaced, or taken away where it is None."""

    kind: type[ModelUpstream]
    path: tuple[str | int, ...]
    to: Any = None
    status: int = 400

    def __call__(self, text: Json) -> None:
        held: Any = text
        for step in self.path[:-1]:
            held = held[step]
        last: Any = self.path[-1]
        if self.to is None:
            del held[last]
        elif self.to == "swapped":
            held[last], held[last + 1] = held[last + 1], held[last]
        else:
            held[last] = self.to


ALTERED: Final = {
    "openai: thoughts": Altered(OpenAIUpstream, ("reasoning_content",), "Rome first."),
    "openai: a long id": Altered(OpenAIUpstream, ("tool_calls", 0, "id"), "call_" + "x" * 36),
    "openai: other spaces": Altered(OpenAIUpstream, ("tool_calls", 0, "function", "arguments"), '{"city":"Rome"}'),
    "deepseek: no thoughts": Altered(DeepSeekUpstream, ("reasoning_content",)),
    "deepseek: a space more": Altered(DeepSeekUpstream, ("reasoning_content",), "Rome first. "),
    "mistral: an unknown key": Altered(MistralUpstream, ("reasoning_content",), "Rome first.", 422),
    "mistral: a foreign id": Altered(MistralUpstream, ("tool_calls", 0, "id"), "call_1"),
    "vllm: no thoughts": Altered(VllmUpstream, ("reasoning",)),
    "vllm: thoughts twice": Altered(VllmUpstream, ("reasoning_content",), "Rome first."),
    "ollama, compatible: no thoughts": Altered(OllamaCompatibleUpstream, ("reasoning",)),
    "ollama, compatible: the other name": Altered(OllamaCompatibleUpstream, ("reasoning_content",), "Rome first."),
    "openrouter: no details": Altered(OpenRouterUpstream, ("reasoning_details",)),
    "openrouter: another order": Altered(OpenRouterUpstream, ("reasoning_details", 0), "swapped"),
    "openrouter: another signature": Altered(OpenRouterUpstream, ("reasoning_details", 0, "signature"), "c2ln"),
    "openrouter: nothing encrypted": Altered(OpenRouterUpstream, ("reasoning_details", 1)),
    "anthropic: no thoughts": Altered(AnthropicUpstream, ("content", 0)),
    "anthropic: nothing redacted": Altered(AnthropicUpstream, ("content", 1)),
    "anthropic: another order of thoughts": Altered(AnthropicUpstream, ("content", 0), "swapped"),
    "anthropic: text before thoughts": Altered(AnthropicUpstream, ("content", 1), "swapped"),
    "anthropic: a space more": Altered(AnthropicUpstream, ("content", 0, "thinking"), "Rome first. "),
    "anthropic: another signature": Altered(AnthropicUpstream, ("content", 0, "signature"), "c2ln"),
    "anthropic: other data": Altered(AnthropicUpstream, ("content", 1, "data"), "c2ln"),
    "gemini: no signature": Altered(GeminiUpstream, ("parts", 2, "thoughtSignature")),
    "gemini: another signature": Altered(GeminiUpstream, ("parts", 2, "thoughtSignature"), "c2ln"),
    "gemini: another order of calls": Altered(GeminiUpstream, ("parts", 2), "swapped"),
    "ollama: no thoughts": Altered(OllamaUpstream, ("thinking",)),
    "ollama: a space more": Altered(OllamaUpstream, ("thinking",), "Rome first. "),
    "ollama: arguments as text": Altered(
        OllamaUpstream, ("tool_calls", 0, "function", "arguments"), '{"city": "Rome"}'
    ),
    "ollama: content as parts": Altered(OllamaUpstream, ("content",), [{"type": "text", "text": "Let me look."}]),
}


@pytest.mark.parametrize("altered", ALTERED.values(), ids=ALTERED)
def test_what_was_altered_is_refused(altered: Altered) -> None:
    client = CLIENTS[altered.kind]
    with altered.kind().say(THOUGHTFUL, [Says("Fine.")]) as wire:
        wire.may_violate = True
        reply = client.said(_post(wire, client, client.body()).json())
        outputs = client.outputs(reply)
        altered(reply)
        answer = _post(wire, client, client.body(reply, *outputs))
    assert answer.status_code == altered.status
    assert wire.violations


def test_pieces_of_openrouters_details_count_as_the_whole() -> None:
    """As they came in the stream they are just as good."""
    client = CLIENTS[OpenRouterUpstream]
    with OpenRouterUpstream().say(THOUGHTFUL, [Says("Fine.")]) as wire:
        body = {**client.body(), "stream": True, "stream_options": {"include_usage": True}}
        lines = _post(wire, client, body).text.split("\n\n")
        chunks = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]
        deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
        pieces = [piece for delta in deltas for piece in delta.get("reasoning_details", [])]
        assert len(pieces) > 3
        calls = wire.said[next(iter(wire.said))]["calls"]
        content = {"role": "assistant", "content": "Let me look.", "reasoning_details": pieces, "tool_calls": calls}
        assert _post(wire, client, client.body(content, *client.outputs(content))).status_code == 200
