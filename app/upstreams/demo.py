"""The embedded model: scripted, without key, network and litellm. Words in the last user message control it."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Final, NamedTuple

import msgspec

from ..protocol.problems import Problem
from .demo_json import sample
from .port import UpstreamRefused
from .tapped_chunks import tapped_chunks

Chunk = dict[str, Any]

ABOUT: Final = (
    "I am demo, a scripted model that lives inside AM Proxy. I know no facts and need no key. "
    "Put one of these words into your message to steer me: think, long, slow, refuse, incomplete, failed, cut, "
    "busy, or the name of a tool you give me. "
)
STORY: Final = (
    "There was once a small server that stood between two cities. In one of them everybody spoke in responses, "
    "in the other everybody spoke in completions, and neither understood a word of the other. So the server "
    "listened to the one, wrote down nothing, and told the other, word for word, what it had heard. "
)
SLOW: Final = 0.5
"""Seconds between the words of a slow stream."""
PACE: Final = 0.01
"""Seconds between the words of a long stream."""
STORIES: Final = 10
SUMMARY_PHRASE: Final = "write that summary"
"""A message with these words gets the user's earlier messages as notes. Its other words do not control the answer."""
OF_A_SUMMARY: Final = "The user said: "
"""Precedes the earlier messages in these notes."""


READ: Final = 100_000
"""Characters of one message that are searched for words, and characters of an answer that repeats what was said."""


class DemoAsk(NamedTuple):
    """One ask, and the words that control the answer."""

    words: set[str]
    prompt: str
    """The beginning of the user's last message."""
    ask: dict[str, Any]

    def has(self, *stems: str) -> bool:
        """Whether the prompt has a word that begins with one of `stems`."""
        return any(word.startswith(stems) for word in self.words)


class Demo:
    """Answers every ask at once, one word at a time."""

    def open(self, ask: dict[str, Any], key: str | None = None) -> AsyncGenerator[Chunk]:
        """Chat chunks, as a chat-completions server would stream them."""
        return tapped_chunks(ask, self._chunks(ask, key))

    async def _chunks(self, ask: dict[str, Any], key: str | None) -> AsyncGenerator[Chunk]:  # noqa: ARG002 — it needs no key
        demo_ask = _demo_ask(ask)
        if "busy" in demo_ask.words:
            raise UpstreamRefused(
                Problem(code="rate_limit_exceeded", message="The demo was asked to be busy.", retry_after=1)
            )
        limit = ask.get("max_tokens")
        pause = SLOW if demo_ask.has("slow") else PACE if "long" in demo_ask.words else 0
        sent = 0
        async for chunk in _answer(demo_ask):
            await asyncio.sleep(pause)  # even 0 lets other tasks run: otherwise a disconnect is not noticed
            if sent == limit and _is_word(chunk):
                yield _finish("length")
                break
            sent += 1
            yield chunk
        if "cut" not in demo_ask.words:
            prompt = len(msgspec.json.encode(ask["messages"])) // 4
            usage = {"prompt_tokens": prompt, "completion_tokens": sent, "total_tokens": prompt + sent}
            yield {"choices": [], "usage": usage}

    async def close(self) -> None:
        """There is nothing to close."""


def _demo_ask(ask: dict[str, Any]) -> DemoAsk:
    prompt = next(
        (_text(message["content"]) for message in reversed(ask["messages"]) if message["role"] == "user"), ""
    )[:READ]
    if SUMMARY_PHRASE in prompt.lower():
        return DemoAsk(set(), prompt, ask)
    return DemoAsk(set(re.findall(r"[a-z0-9]+", prompt.lower())), prompt, ask)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", f"[{part['type']}]") for part in content or [])


async def _answer(demo_ask: DemoAsk) -> AsyncIterator[Chunk]:
    reasoning = demo_ask.ask.get("reasoning_effort") not in (None, "none")
    if demo_ask.has("think", "reason") or reasoning:
        for word in _in_words("The user wants something of me. I am a script, so I will say what is written down."):
            yield _delta(reasoning_content=word)
    tool = _tool_asked_for(demo_ask)
    if tool is not None:
        for piece in _call(tool):
            yield piece
        yield _finish("tool_calls")
        return
    if demo_ask.has("refus"):
        for word in _in_words("I was asked to refuse, so I do."):
            yield _delta(refusal=word)
        yield _finish("stop")
        return
    words = _in_words(_reply(demo_ask))
    ending = _ending(demo_ask)
    for word in words if ending is None else words[: max(len(words) // 2, 1)]:
        yield _delta(content=word)
    for chunk in [_finish("stop")] if ending is None else ending:
        yield chunk


def _ending(demo_ask: DemoAsk) -> list[Chunk] | None:
    """What follows half of the answer, if the prompt asks for an early end."""
    if demo_ask.has("incomplete"):
        return [_finish("length")]
    if demo_ask.has("fail"):
        return [{"error": {"code": "demo_failure", "message": "The demo was asked to fail."}}]
    if "cut" in demo_ask.words:
        return []
    return None


def _reply(demo_ask: DemoAsk) -> str:
    if SUMMARY_PHRASE in demo_ask.prompt.lower():
        return f"1. {OF_A_SUMMARY}{' / '.join(_earlier(demo_ask))}"[:READ]
    schema = (demo_ask.ask.get("response_format") or {}).get("json_schema", {}).get("schema")
    if schema is not None:
        return msgspec.json.encode(sample(schema)).decode()
    if (demo_ask.ask.get("response_format") or {}).get("type") == "json_object":
        return msgspec.json.encode({"echo": demo_ask.prompt}).decode()
    results = _results(demo_ask.ask["messages"])
    if results:
        return f"The tool said: {' / '.join(results)}"[:READ]
    if "long" in demo_ask.words:
        return STORY * STORIES
    before = _earlier(demo_ask)[-1:] if {"what", "my"} <= demo_ask.words else []
    said = "".join(before).rpartition(OF_A_SUMMARY)[2]
    return f"You told me: {said}"[:READ] if said else f"{ABOUT}You said: {demo_ask.prompt}"


def _earlier(demo_ask: DemoAsk) -> list[str]:
    """The user's messages before the last one."""
    return [_text(message["content"]) for message in demo_ask.ask["messages"] if message["role"] == "user"][:-1]


def _results(messages: list[Chunk]) -> list[str]:
    """The outputs of tools after the last message of the user."""
    results: list[str] = []
    for message in reversed(messages):
        if message["role"] == "user":
            break
        if message["role"] == "tool":
            results.append(_text(message["content"]))
    return results[::-1]


def _tool_asked_for(demo_ask: DemoAsk) -> Chunk | None:
    """The function to call: the required one, or one that the prompt mentions; None after its output."""
    functions = [tool["function"] for tool in demo_ask.ask.get("tools") or []]
    choice = demo_ask.ask.get("tool_choice")
    if not functions or choice == "none" or _results(demo_ask.ask["messages"]):
        return None
    if isinstance(choice, dict):
        return next((each for each in functions if each["name"] == choice.get("function", {}).get("name")), None)
    named = next((each for each in functions if _mentions(demo_ask, each["name"])), None)
    return named or (functions[0] if choice == "required" else None)


def _mentions(demo_ask: DemoAsk, name: str) -> bool:
    parts = [part for part in re.findall(r"[a-z0-9]+", name.lower()) if len(part) > len("get")]
    return name.lower() in demo_ask.prompt.lower() or any(part in demo_ask.words for part in parts)


def _call(function: Chunk) -> list[Chunk]:
    made = sample(function.get("parameters") or {})
    arguments = msgspec.json.encode(made if isinstance(made, dict) else {}).decode()
    pieces = re.findall(r".{1,8}", arguments, re.DOTALL)
    opening = {"index": 0, "id": "", "type": "function", "function": {"name": function["name"], "arguments": ""}}
    return [
        _delta(tool_calls=[opening]),
        *(_delta(tool_calls=[{"index": 0, "function": {"arguments": piece}}]) for piece in pieces),
    ]


def _in_words(text: str) -> list[str]:
    return re.findall(r"\s*\S+|\s+$", text)


def _is_word(chunk: Chunk) -> bool:
    return "choices" in chunk and chunk["choices"][0]["finish_reason"] is None


def _delta(**delta: Any) -> Chunk:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def _finish(reason: str) -> Chunk:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
