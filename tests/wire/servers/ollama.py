"""Ollama's own `/api/chat`: lines of JSON, arguments that are objects, and calls that have no ids."""

import json
from typing import Any, Final

from tests.wire.servers.model import (
    COMPLETION,
    PROMPT,
    Answer,
    Calls,
    Hides,
    ModelUpstream,
    Says,
    Thinks,
    arguments_of,
    pieces,
    shortened,
)
from tests.wire.servers.server import ScriptedUpstream
from tests.wire.servers.steps import Ask, Json, Step

_SETTINGS: Final = frozenset(
    {"format", "keep_alive", "logprobs", "messages", "model", "options", "stream", "think", "tools", "top_logprobs"}
)


class OllamaUpstream(ModelUpstream, ScriptedUpstream):
    """`POST /api/chat`, asked for a model that thinks. Strings are strings here, and objects are objects."""

    model = "qwen3:8b"
    content_type = "application/x-ndjson"

    def forget(self) -> None:
        """Forget what was said."""
        self.said: list[tuple[Json, str]] = []
        """Every call, and what was thought before it."""

    def wants_stream(self, ask: Ask) -> bool:
        """Ollama streams unless it is told not to."""
        return ask.body.get("stream") is not False

    def streamed(self, answer: Answer) -> list[Step]:
        """Say it line by line."""
        lines: list[Json] = []
        for word in answer:
            match word:
                case Thinks(text):
                    lines += [{"content": "", "thinking": piece} for piece in pieces(text)]
                case Says(text):
                    lines += [{"content": piece} for piece in pieces(text)]
                case Calls():
                    lines.append({"content": "", "tool_calls": [_call(word)]})
                case Hides():
                    pass
        self._remember(answer)
        return [*(_line(message) for message in lines), _line({"content": ""}, **_END)]

    def whole(self, answer: Answer) -> Json:
        """Say it in one object."""
        self._remember(answer)
        message: Json = {"content": "".join(word.text for word in answer if isinstance(word, Says))}
        if thought := _thought(answer):
            message["thinking"] = thought
        if calls := [_call(word) for word in answer if isinstance(word, Calls)]:
            message["tool_calls"] = calls
        return _line(message, model=self.model, **_END)

    def _remember(self, answer: Answer) -> None:
        self.said += [(_call(word)["function"], _thought(answer)) for word in answer if isinstance(word, Calls)]

    def frame(self, step: Json, ask: Ask) -> bytes:
        """One line."""
        return json.dumps({"model": ask.body["model"], **step}).encode() + b"\n"

    def faults(self, ask: Ask) -> list[str]:
        """Refuse what cannot be read into Ollama's own types, and thoughts that are lost or altered."""
        if ask.path != "/api/chat":
            return [f"there is no {ask.path}"]
        found = [f"unknown field {key}" for key in ask.body if key not in _SETTINGS]
        found += [f"options.{key} is null" for key, value in ask.body.get("options", {}).items() if value is None]
        waiting = 0
        for index, message in enumerate(ask.body.get("messages") or []):
            role = message.get("role")
            if role not in {"system", "user", "assistant", "tool"}:
                found.append(f"messages[{index}].role is not known: {role}")
            if not isinstance(message.get("content", ""), str):
                found.append("json: cannot unmarshal array into Go struct field ChatRequest.messages.content of string")
            if role == "tool":
                waiting -= 1
                continue
            if waiting:
                found.append(f"messages[{index}] stands before the outputs of {waiting} calls")
            calls = message.get("tool_calls") or []
            waiting = len(calls)
            found += [f"messages[{index}]: {fault}" for call in calls for fault in self._call_faults(call, message)]
        return [*found, f"{waiting} calls have no outputs"] if waiting else found

    def _call_faults(self, call: Any, message: Json) -> list[str]:
        function = call.get("function") or {}
        if not isinstance(function.get("arguments"), dict):
            return [
                "json: cannot unmarshal string into Go struct field .arguments of type api.ToolCallFunctionArguments"
            ]
        called = {key: function.get(key) for key in ("name", "arguments")}
        thoughts = [thought for entry, thought in self.said if entry == called]
        if thoughts and not self.forgives and message.get("thinking", "") not in thoughts:
            return [f"thinking must come back as it was: {thoughts}, not {shortened(message.get('thinking'))}"]
        return []

    def error_body(self, status: int, message: str) -> Json:
        """Word an error as Ollama does."""
        return {"error": message}


_END: Final = {
    "done": True,
    "done_reason": "stop",
    "total_duration": 1_000_000,
    "load_duration": 1_000,
    "prompt_eval_count": PROMPT,
    "prompt_eval_duration": 1_000,
    "eval_count": COMPLETION,
    "eval_duration": 1_000,
}


def _line(message: Json, **fields: Any) -> Json:
    told_at = "2026-01-01T00:00:00.000000Z"
    return {"created_at": told_at, "message": {"role": "assistant", **message}, "done": False, **fields}


def _call(word: Calls) -> Json:
    return {"function": {"name": word.name, "arguments": arguments_of(word)}}


def _thought(answer: Answer) -> str:
    return "".join(word.text for word in answer if isinstance(word, Thinks))
