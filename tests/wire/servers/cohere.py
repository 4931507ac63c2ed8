"""Cohere's own chat, version 2: named events, a plan before calls, and finish reasons in capitals."""

import json
from typing import Any, Final

from tests.wire.servers.chat import message_faults
from tests.wire.servers.model import (
    CACHED,
    COMPLETION,
    PROMPT,
    Answer,
    Calls,
    Count,
    Hides,
    ModelUpstream,
    Says,
    Thinks,
    pieces,
    shortened,
)
from tests.wire.servers.server import ScriptedUpstream
from tests.wire.servers.steps import Ask, Json, Step

_SETTINGS: Final = frozenset(
    {
        "citation_options", "documents", "frequency_penalty", "k", "logprobs", "max_tokens", "messages", "model", "p",
        "presence_penalty", "priority", "response_format", "safety_mode", "seed", "stop_sequences", "stream",
        "strict_tools", "temperature", "thinking", "tool_choice", "tools",
    }
)  # fmt: skip
_FUNCTION: Final = {"name", "description", "parameters"}


class CohereUpstream(ModelUpstream, ScriptedUpstream):
    """`POST /v2/chat` of `api.cohere.com`, asked for a model that thinks."""

    model = "command-a-reasoning-08-2025"
    base_path = "/v2"
    count = Count(cached=CACHED)

    def forget(self) -> None:
        """Forget what was said."""
        self.said: dict[str, tuple[Json, str]] = {}
        """Every call by its id, and what was thought before it."""

    def streamed(self, answer: Answer) -> list[Step]:
        """Say it in events: thoughts and texts as contents, then the calls."""
        calls = self._calls(answer)
        events: list[Json] = [{"type": "message-start", "id": "msg_1", "delta": {"message": {"role": "assistant"}}}]
        contents = [word for word in answer if isinstance(word, Thinks | Says)]
        for index, word in enumerate(contents):
            kind, held = ("thinking", "thinking") if isinstance(word, Thinks) else ("text", "text")
            events.append(_event("content-start", {"content": {"type": kind, held: ""}}, index))
            events += [_event("content-delta", {"content": {held: piece}}, index) for piece in pieces(word.text)]
            events.append({"type": "content-end", "index": index})
        for index, call in enumerate(calls):
            opened = {**call, "function": {**call["function"], "arguments": ""}}
            events.append(_event("tool-call-start", {"tool_calls": opened}, index))
            for piece in pieces(call["function"]["arguments"]):
                events.append(_event("tool-call-delta", {"tool_calls": {"function": {"arguments": piece}}}, index))
            events.append({"type": "tool-call-end", "index": index})
        reason = "TOOL_CALL" if calls else "COMPLETE"
        return [*events, {"type": "message-end", "delta": {"finish_reason": reason, "usage": usage()}}]

    def whole(self, answer: Answer) -> Json:
        """Say it in one body."""
        contents: list[Json] = []
        for word in answer:
            match word:
                case Thinks(text):
                    contents.append({"type": "thinking", "thinking": text})
                case Says(text):
                    contents.append({"type": "text", "text": text})
                case Calls() | Hides():
                    pass
        message: Json = {"role": "assistant", "content": contents}
        calls = self._calls(answer)
        if calls:
            message["tool_calls"] = calls
        reason = "TOOL_CALL" if calls else "COMPLETE"
        return {"id": "msg_1", "finish_reason": reason, "message": message, "usage": usage()}

    def _calls(self, answer: Answer) -> list[Json]:
        thoughts = "".join(word.text for word in answer if isinstance(word, Thinks))
        calls: list[Json] = []
        for word in answer:
            if isinstance(word, Calls):
                function = {"name": word.name, "arguments": word.arguments}
                calls.append({"id": self.call_id(f"{word.name}_{{:.12}}"), "type": "function", "function": function})
                self.said[calls[-1]["id"]] = (calls[-1], thoughts)
        return calls

    def faults(self, ask: Ask) -> list[str]:
        """Refuse unknown keys anywhere, calls that were made otherwise, and a plan that was not made."""
        body = ask.body
        found = [f"unknown parameter {key}" for key in body if key not in _SETTINGS]
        if ask.path != "/v2/chat":
            found.append(f"there is no {ask.path}")
        if body.get("model") != self.model:
            found.append(f"model '{body.get('model')}' not found")
        if "tool_choice" in body and (body["tool_choice"] not in {"REQUIRED", "NONE"} or "tools" not in body):
            found.append(f"tool_choice is not known: {body['tool_choice']}")
        unknown = [key for tool in body.get("tools") or [] for key in tool["function"].keys() - _FUNCTION]
        found += [f"unknown field: parameter '{key}' is not a valid field" for key in unknown]
        messages = body.get("messages") or []
        plain = [{key: value for key, value in message.items() if key != "tool_plan"} for message in messages]
        found += message_faults(plain)
        for message in messages:
            if message["role"] == "assistant":
                found += self._assistant_faults(message)
        return found

    def _assistant_faults(self, message: Json) -> list[str]:
        calls = message.get("tool_calls") or []
        found = ["tool_plan without tool_calls"] if "tool_plan" in message and not calls else []
        for call in calls:
            content, thoughts = self.said.get(str(call.get("id")), (call, ""))
            if call != content:
                found.append(f"the call {call} was made otherwise: {content}")
            if thoughts and not self.forgives and message.get("tool_plan") != thoughts:
                found.append(
                    f"tool_plan must come back: {shortened(thoughts)}, not {shortened(message.get('tool_plan'))}"
                )
        return found

    def frame(self, step: Json, ask: Ask) -> bytes:
        """Frame one event as Cohere does, with its name."""
        return f"event: {step['type']}\ndata: {json.dumps(step)}\n\n".encode()

    def last_word(self) -> bytes:
        """End the stream as Cohere does."""
        return b"data: [DONE]\n\n"

    def error_body(self, status: int, message: str) -> Json:
        """Word an error as Cohere does."""
        return {"id": "err_1", "message": message}


def usage() -> Json:
    """What an answer costs: what is billed is another count than what was read."""
    return {
        "billed_units": {"input_tokens": PROMPT - CACHED, "output_tokens": COMPLETION - 1},
        "tokens": {"input_tokens": PROMPT, "output_tokens": COMPLETION},
        "cached_tokens": CACHED,
    }


def _event(kind: str, message: Any, index: int) -> Json:
    return {"type": kind, "index": index, "delta": {"message": message}}
