"""Thirty turns of an agent: each ask repeats the one before it byte for byte, so that prompt caches hit.

The client is like Codex: it keeps what `output_item.done` told it, adds what its tools gave, and sends all of it again.
The model thinks, speaks and calls tools of every kind; its arguments are written as no encoder would write them.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from typing import Any, Final, NamedTuple

import httpx
import pytest

from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.program import serving
from tests.wire.script import calls, counts, more, says, stops, thinks
from tests.wire.servers import AnthropicUpstream, ChatUpstream, GeminiUpstream, ScriptedUpstream
from tests.wire.servers import anthropic as claude
from tests.wire.servers.gemini import answers as candidate
from tests.wire.servers.steps import Ask, Json

TURNS: Final = 30
PNG: Final = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
PATCH: Final = "*** Begin Patch\n*** Update File: a.py\n-x = 1\n+x = «2»\n*** End Patch"
SCHEMA: Final = {"type": "object", "properties": {"cmd": {"type": "string"}}, "required": ["cmd"]}
TOOLS: Final[list[Json]] = [
    {"type": "function", "name": "exec_command", "description": "Runs it.", "strict": False, "parameters": SCHEMA},
    {"type": "custom", "name": "apply_patch", "description": "Edits files.", "format": {"type": "text"}},
    {
        "type": "namespace",
        "name": "mcp__weather",
        "description": "The weather.",
        "tools": [{"type": "function", "name": "forecast", "description": "It.", "parameters": SCHEMA}],
    },
    {"type": "web_search"},
]

Pieces = list[tuple[str, ...]]


def pieces_of(turn: int) -> Pieces:
    """What the model says in this turn: ("think", …), ("text", …), ("call", name, arguments)."""
    thought = ("think", f"Turn {turn}: häm.\n\n")
    match turn % 5:
        case 0:
            return [
                thought,
                ("text", f"Look at {turn}.\n"),
                ("call", "exec_command", f'{{ "cmd" :"ls\\u002d{turn}" }}'),
            ]
        case 1:
            patch = json.dumps({"input": f"{PATCH}{turn}"}, indent=1)
            return [("call", "exec_command", '{"cmd":"a"}'), ("call", "apply_patch", patch)]
        case 2:
            return [thought, ("call", "mcp__weather__forecast", '{"cmd": "1e2", "x": 1.0, "x": 1.00}')]
        case 3:
            return [("text", "  Now for "), ("text", f"something else: {turn}. \u2028")]
        case _:
            return [thought, ("call", "exec_command", "")]


def as_chunks(item: Pieces) -> Sequence[Json]:
    chunks: list[Json] = []
    for index, (kind, *words) in enumerate(item):
        match kind:
            case "think":
                chunks.append(thinks(words[0]))
            case "text":
                chunks.append(says(words[0]))
            case _:  # without an id: the server makes one for it
                middle = len(words[1]) // 2
                chunks += [calls(index, words[0]), more(index, words[1][:middle]), more(index, words[1][middle:])]
    return [*chunks, stops(), counts(7, 5)]


def as_claude(item: Pieces) -> Sequence[Json]:
    events = claude.begins()
    for index, (kind, *words) in enumerate(item):
        match kind:
            case "think":
                events += claude.thinking(index, *words)
            case "text":
                events += claude.text(index, *words)
            case _:
                events += claude.tool_use(index, words[0], f"toolu_{_next_id()}", words[1])
    return [*events, *claude.ends("tool_use" if item[-1][0] == "call" else "end_turn")]


def as_gemini(item: Pieces) -> Sequence[Json]:
    parts: list[Json] = []
    for kind, *words in item:
        match kind:
            case "think":
                parts.append({"text": words[0], "thought": True})
            case "text":
                parts.append({"text": words[0]})
            case _:
                call = {"name": words[0], "args": json.loads(words[1] or "{}")}
                parts.append({"functionCall": call, "thoughtSignature": f"c2ln{_next_id()}"})
    usage = {"promptTokenCount": 7, "candidatesTokenCount": 5, "totalTokenCount": 12}
    return [*(candidate(part) for part in parts[:-1]), candidate(parts[-1], finish="STOP", **usage)]


_ids = iter(range(10**6))


def _next_id() -> str:
    return f"{next(_ids):04}"


def answered(item: Json, turn: int) -> list[Json]:
    """The item as the client keeps it, and what its tool gave."""
    kept = {key: value for key, value in item.items() if key not in {"id", "status"}}
    match item["type"]:
        case "function_call":
            output: Any = f"out {turn}\n"
            if turn % 5 == 4:
                output = [{"type": "input_text", "text": "see"}, {"type": "input_image", "image_url": PNG}]
            return [kept, {"type": "function_call_output", "call_id": item["call_id"], "output": output}]
        case "custom_tool_call":
            return [kept, {"type": "custom_tool_call_output", "call_id": item["call_id"], "output": "Done."}]
        case _:
            return [kept]


def hold_session(url: str, model: str) -> None:
    """A session with this model."""
    history: list[Json] = [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Mend a.py."}]},
    ]
    with httpx.Client(base_url=url, timeout=50) as client:
        for turn in range(TURNS):
            body = {
                "model": model,
                "instructions": "You are an agent.",
                "input": history,
                "tools": TOOLS,
                "store": False,
                "stream": turn % 2 == 0,
                "include": ["reasoning.encrypted_content"],
                "reasoning": {"effort": "low", "summary": "auto"},
                "parallel_tool_calls": True,
                "prompt_cache_key": "the-session",
            }
            items = output(client.post("/v1/responses", json=body))
            result = [answered(item, turn) for item in items]
            history = [*history, *[kept for kept, *_ in result], *[out for _, *outs in result for out in outs]]
            if items[-1]["type"] == "message":
                history.append({"type": "message", "role": "user", "content": f"Go on: {turn}."})


def output(answer: httpx.Response) -> list[Json]:
    """The items of an answer; of a stream, those of `output_item.done`."""
    assert answer.status_code == 200, answer.text
    if answer.headers["content-type"].startswith("application/json"):
        whole: list[Json] = answer.json()["output"]
        return whole
    events = [json.loads(line[6:]) for line in answer.text.split("\n") if line.startswith("data: {")]
    return [event["item"] for event in events if event["type"] == "response.output_item.done"]


MARK: Final = ', "cache_control": {"type": "ephemeral"}'
"""What marks a place for Claude's cache. It moves on with the conversation, and the model does not read it."""


class Lane(NamedTuple):
    """A kind of upstream, and where its asks hold the conversation."""

    kind: type[ScriptedUpstream]
    words: Callable[[Pieces], Sequence[Json]]
    upstream: dict[str, Any]
    model: str | None = None
    history: str = "messages"


LANES: Final = {
    "chat": Lane(ChatUpstream, as_chunks, {"via": "chat"}),
    "messages": Lane(AnthropicUpstream, as_claude, {"via": "messages", "provider": "anthropic"}, "claude-sonnet-4-5"),
    "litellm, as it is": Lane(ChatUpstream, as_chunks, {"via": "litellm"}),
    "litellm, anthropic": Lane(
        AnthropicUpstream, as_claude, {"via": "litellm", "provider": "anthropic"}, "claude-sonnet-4-5"
    ),
    "litellm, gemini": Lane(
        GeminiUpstream, as_gemini, {"via": "litellm", "provider": "gemini"}, "gemini-2.5-flash", "contents"
    ),
}


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, dict[str, ScriptedUpstream]]]:
    """One server for all lanes, each a model of its name, and what is behind them."""
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(lane.kind(*[lane.words(pieces_of(turn)) for turn in range(TURNS)]))
            for name, lane in LANES.items()
        }
        upstreams = {
            name: Upstream(base_url=servers[name].url, api_key="sk-upstream", **lane.upstream)
            for name, lane in LANES.items()
        }
        models = {name: Model(upstream=name, name=lane.model) for name, lane in LANES.items()}
        yield stack.enter_context(serving(Settings(upstreams=upstreams, models=models), fresh=True)), servers


def parted(ask: Ask, key: str) -> tuple[str, str]:
    """What was said so far, without the bracket that closes it; and everything else. As they were sent."""
    body = json.loads(ask.raw)
    result = json.dumps(body.pop(key), ensure_ascii=False).replace(MARK, "")
    return result[:-1], json.dumps(body, ensure_ascii=False)


@pytest.mark.parametrize("name", LANES)
def test_each_ask_begins_with_the_whole_of_the_one_before(
    name: str, served: tuple[str, dict[str, ScriptedUpstream]]
) -> None:
    """All that was said, and tools and settings besides."""
    url, servers = served
    hold_session(url, name)
    asks = servers[name].asks
    assert len(asks) == TURNS
    for before, after in pairwise(asks):
        content, beside = parted(before, LANES[name].history)
        said_again, beside_again = parted(after, LANES[name].history)
        assert said_again[: len(content)] == content
        assert beside_again == beside
        if name == "chat":  # the bytes are ours: they are the same up to the end of the last message
            raw = before.raw.decode()
            _, end = json.JSONDecoder().raw_decode(raw, raw.index('"messages":[') + len('"messages":'))
            assert after.raw.decode().startswith(raw[: end - 1])
