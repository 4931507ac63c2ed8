"""The embedded model: scripted, needs no key, no network and no litellm. Steered by words in the last user message."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any, Final, NamedTuple

import msgspec

from app.compaction.summary_prompt import SUM_UP
from app.protocol.problems import Problem
from app.upstreams.demo_json import sample
from app.upstreams.port import UpstreamRefused

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


class Wish(NamedTuple):
    """What one ask wants of the demo."""

    words: set[str]
    prompt: str
    ask: dict[str, Any]

    def has(self, *stems: str) -> bool:
        """Whether the prompt has a word that begins with one of `stems`."""
        return any(word.startswith(stems) for word in self.words)


class Demo:
    """Answers every ask at once, one word at a time."""

    async def open(self, ask: dict[str, Any], key: str | None = None) -> AsyncGenerator[Chunk]:  # noqa: ARG002 — it has no door
        """Chat chunks, as a chat-completions server would stream them."""
        wish = _wish(ask)
        if "busy" in wish.words:
            raise UpstreamRefused(
                Problem(code="rate_limit_exceeded", message="The demo was asked to be busy.", retry_after=1)
            )
        pause = SLOW if wish.has("slow") else PACE if "long" in wish.words else 0
        said = 0
        async for chunk in _answer(wish):
            await asyncio.sleep(pause)  # even 0 lets the loop breathe: without it a disconnect is never noticed
            said += 1
            yield chunk
        if "cut" not in wish.words:
            asked = len(msgspec.json.encode(ask["messages"])) // 4
            counted = {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}
            yield {"choices": [], "usage": counted}

    async def close(self) -> None:
        """Nothing is open."""


def _wish(ask: dict[str, Any]) -> Wish:
    prompt = next((_text(message["content"]) for message in reversed(ask["messages"]) if message["role"] == "user"), "")
    if prompt == SUM_UP:  # its words are no wishes
        return Wish(set(), prompt, ask)
    return Wish(set(re.findall(r"[a-z0-9]+", prompt.lower())), prompt, ask)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", f"[{part['type']}]") for part in content or [])


async def _answer(wish: Wish) -> AsyncIterator[Chunk]:
    reasoning = wish.ask.get("reasoning_effort") not in (None, "none")
    if wish.has("think", "reason") or reasoning:
        for word in _in_words("The user wants something of me. I am a script, so I will say what is written down."):
            yield _delta(reasoning_content=word)
    tool = _tool_asked_for(wish)
    if tool is not None:
        for piece in _call(tool):
            yield piece
        yield _finish("tool_calls")
        return
    if wish.has("refus"):
        for word in _in_words("I was asked to refuse, so I do."):
            yield _delta(refusal=word)
        yield _finish("stop")
        return
    words = _in_words(_reply(wish))
    ending = _ending(wish)
    for word in words if ending is None else words[: max(len(words) // 2, 1)]:
        yield _delta(content=word)
    if ending is None:
        yield _finish("stop")
    elif chunk := ending():
        yield chunk


def _ending(wish: Wish) -> Callable[[], Chunk | None] | None:
    """How an answer ends half-way, if that is wished for."""
    if wish.has("incomplete"):
        return lambda: _finish("length")
    if wish.has("fail"):
        return lambda: {"error": {"code": "demo_failure", "message": "The demo was asked to fail."}}
    if "cut" in wish.words:
        return lambda: None
    return None


def _reply(wish: Wish) -> str:
    if wish.prompt == SUM_UP:
        said = [_text(message["content"]) for message in wish.ask["messages"] if message["role"] == "user"]
        return "1. The user said: " + " / ".join(said[:-1])
    schema = (wish.ask.get("response_format") or {}).get("json_schema", {}).get("schema")
    if schema is not None:
        return msgspec.json.encode(sample(schema)).decode()
    if (wish.ask.get("response_format") or {}).get("type") == "json_object":
        return msgspec.json.encode({"echo": wish.prompt}).decode()
    results = _results(wish.ask["messages"])
    if results:
        return "The tool said: " + " / ".join(results)
    if "long" in wish.words:
        return STORY * STORIES
    return f"{ABOUT}You said: {wish.prompt}"


def _results(messages: list[Chunk]) -> list[str]:
    """What tools have answered since the user last spoke."""
    results: list[str] = []
    for message in reversed(messages):
        if message["role"] == "user":
            break
        if message["role"] == "tool":
            results.append(_text(message["content"]))
    return results[::-1]


def _tool_asked_for(wish: Wish) -> Chunk | None:
    """The function to call: the one that must be, or one whose name the prompt mentions; none once it has answered."""
    functions = [tool["function"] for tool in wish.ask.get("tools") or []]
    choice = wish.ask.get("tool_choice")
    if not functions or choice == "none" or _results(wish.ask["messages"]):
        return None
    if isinstance(choice, dict):
        return next((each for each in functions if each["name"] == choice.get("function", {}).get("name")), None)
    named = next((each for each in functions if _mentions(wish, each["name"])), None)
    return named or (functions[0] if choice == "required" else None)


def _mentions(wish: Wish, name: str) -> bool:
    parts = [part for part in re.findall(r"[a-z0-9]+", name.lower()) if len(part) > len("get")]
    return name.lower() in wish.prompt.lower() or any(part in wish.words for part in parts)


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


def _delta(**delta: Any) -> Chunk:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def _finish(reason: str) -> Chunk:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
