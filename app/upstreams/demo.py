"""The embedded model: a script that needs no key and no network. Words in the user's last message steer it."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..types.json import Json, encode, objects
from ..types.problems import Problem
from .model_list import member
from .port import AskRecord, Upstream, UpstreamError

_ABOUT = (
    "I am demo, a scripted model that lives inside AM Proxy. I know no facts and need no key. "
    "Put one of these words into your message to steer me: think, long, slow, refuse, incomplete, failed, cut, "
    "busy, or the name of a tool you give me. "
)
_STORY = (
    "There was once a small server that stood between two cities. In one of them everybody spoke in responses, "
    "in the other everybody spoke in completions, and neither understood a word of the other. So the server "
    "listened to the one, wrote down nothing, and told the other, word for word, what it had heard. "
)
_THOUGHT = "The user wants something of me. I am a script, so I will say what is written down."
_STORIES = 10
_SLOW = 0.5
"""Seconds between the words of a slow answer."""
_PACE = 0.01
"""The same of a long one."""
_SUMMARY = "write that summary"
"""Words that ask for a summary: the answer is what the user said before, and no other words steer it."""
_MOST = 100_000
"""Characters of a message that are read, and of an answer."""
_VALUES = {"string": "demo", "integer": 1, "number": 1, "boolean": True}
"""By the type in a schema."""
_LEVELS = 8
"""Levels of a schema that are filled in: it may refer to itself."""


class Demo(Upstream):
    """The upstream of the embedded model."""

    async def open(
        self, body: Json, key: str | None, headers: Mapping[str, str], record: AskRecord | None
    ) -> "DemoAnswer":
        """Its answer to this body."""
        if record is not None:
            record.body = encode(body)
        script = _Script(body)
        if "busy" in script.words:
            problem = Problem("rate_limit_exceeded", "The demo was asked to be busy.", retry_after=1)
            raise UpstreamError(problem)
        return DemoAnswer(script)


class DemoAnswer:
    """Chunks, a word each."""

    def __init__(self, script: "_Script") -> None:
        self._chunks = script.chunks()
        self._pause = _SLOW if script.has("slow") else _PACE if "long" in script.words else 0

    async def next(self) -> list[Json] | None:
        """The next chunk."""
        await asyncio.sleep(self._pause)  # even 0 lets other tasks run: otherwise nobody notices a client that leaves
        chunk = next(self._chunks, None)
        if chunk is not None and "error" in chunk:
            raise UpstreamError(Problem("upstream_error", chunk["error"]))
        return None if chunk is None else [chunk]

    def close(self) -> None:
        """Nothing is open."""


class _Script:
    """What it says to one body."""

    def __init__(self, body: Json) -> None:
        self._body = body
        self._said = [_text(message["content"]) for message in body["messages"] if message["role"] == "user"]
        self._prompt = self._said[-1][:_MOST] if self._said else ""
        self._sums_up = _SUMMARY in self._prompt.lower()
        self.words = set() if self._sums_up else set(re.findall(r"[a-z0-9]+", self._prompt.lower()))

    def has(self, *stems: str) -> bool:
        """Whether the message has a word that begins so."""
        return any(word.startswith(stems) for word in self.words)

    def chunks(self) -> Iterator[Json]:
        """The whole answer."""
        out, most = 0, self._body.get("max_tokens", _MOST)
        for chunk in self._answer():
            if out == most:
                yield _finish("length")
                break
            out += 1
            yield chunk
        if "cut" not in self.words:
            into = len(encode(self._body["messages"])) // 4
            usage = {"prompt_tokens": into, "completion_tokens": out, "total_tokens": into + out}
            yield {"choices": [], "usage": usage}

    def _answer(self) -> Iterator[Json]:
        if self.has("think", "reason") or self._body.get("reasoning_effort") not in (None, "none"):
            yield from _say("reasoning_content", _THOUGHT)
        if (tool := self._tool()) is not None:
            made = _sample(tool.get("parameters") or {})
            arguments = encode(made if isinstance(made, dict) else {}).decode()
            yield _delta(tool_calls=[{"index": 0, "id": "", "function": {"name": tool["name"], "arguments": ""}}])
            for piece in re.findall(r".{1,8}", arguments, re.DOTALL):
                yield _delta(tool_calls=[{"index": 0, "function": {"arguments": piece}}])
            yield _finish("tool_calls")
            return
        if self.has("refus"):
            yield from _say("refusal", "I was asked to refuse, so I do.")
            yield _finish("stop")
            return
        ends_early = self.has("incomplete", "fail") or "cut" in self.words
        yield from _say("content", self._reply(), half=ends_early)
        if self.has("fail"):
            yield {"error": "The demo was asked to fail."}
        elif "cut" not in self.words:
            yield _finish("length" if ends_early else "stop")

    def _reply(self) -> str:
        form = self._body.get("response_format") or {}
        if self._sums_up:
            return f"1. The user said: {' / '.join(self._said[:-1])}"[:_MOST]
        if form.get("type") == "json_schema":
            return encode(_sample(form["json_schema"]["schema"])).decode()
        if form.get("type") == "json_object":
            return encode({"echo": self._prompt}).decode()
        if outputs := self._outputs():
            return f"The tool said: {' / '.join(outputs)}"[:_MOST]
        if "long" in self.words:
            return _STORY * _STORIES
        if self._said[1:] and {"what", "my"} <= self.words:
            return f"You told me: {self._said[-2].rpartition('The user said: ')[2]}"[:_MOST]
        return f"{_ABOUT}You said: {self._prompt}"

    def _outputs(self) -> list[str]:
        """The outputs of tools behind the last message of the user."""
        roles = [message["role"] for message in self._body["messages"]]
        behind = len(roles) - roles[::-1].index("user") if "user" in roles else 0
        later = self._body["messages"][behind:]
        return [_text(message["content"]) for message in later if message["role"] == "tool"]

    def _tool(self) -> Json | None:
        """The function to call: the demanded one, or one that the message mentions; none after its output."""
        functions = [tool["function"] for tool in self._body.get("tools") or []]
        choice = self._body.get("tool_choice")
        if not functions or choice == "none" or self._outputs():
            return None
        if isinstance(choice, dict):
            return next((each for each in functions if each["name"] == choice["function"]["name"]), None)
        named = next((each for each in functions if self._mentions(each["name"])), None)
        return named or (functions[0] if choice == "required" else None)

    def _mentions(self, name: str) -> bool:
        parts = [part for part in re.findall(r"[a-z0-9]+", name.lower()) if len(part) > 3]
        return name.lower() in self._prompt.lower() or not self.words.isdisjoint(parts)


def _sample(schema: Any, root: Any = None, level: int = 0) -> Any:
    """A small value that fits a schema as programs make them, always the same; None for what is no schema."""
    root = root or schema
    if not isinstance(schema, dict) or level > _LEVELS:
        return None
    if "const" in schema:
        return schema["const"]
    if "$ref" in schema:
        return _sample(member(root, *str(schema["$ref"]).split("/")[1:]), root, level + 1)
    if choices := objects(schema.get("anyOf")):
        return _sample(choices[0], root, level + 1)
    if values := schema.get("enum"):
        return _first(values)
    kind = _first(schema.get("type", "object"))
    if kind == "array":
        return [_sample(schema.get("items"), root, level + 1)]
    if kind != "object":
        return _VALUES.get(str(kind))
    names = schema.get("required", schema.get("properties"))
    made = [name for name in names if isinstance(name, str)] if isinstance(names, list | dict) else []
    return {name: _sample(member(schema, "properties", name), root, level + 1) for name in made}


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else value


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return " ".join([part.get("text", f"[{part['type']}]") for part in content or []])


def _say(field: str, text: str, *, half: bool = False) -> Iterator[Json]:
    """A chunk for each word, made when it is read: many clients may read slowly."""
    words = re.findall(r"\s*\S+|\s+$", text)
    for word in words[: max(len(words) // 2, 1)] if half else words:
        yield _delta(**{field: word})


def _delta(**delta: Any) -> Json:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def _finish(reason: str) -> Json:
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}
