"""Servers that speak chat completions, each in its own way: what is common to them."""

from typing import Any, ClassVar

from tests.wire.servers.chat import ChatUpstream
from tests.wire.servers.model import (
    COMPLETION,
    PROMPT,
    Answer,
    Calls,
    Hides,
    ModelUpstream,
    Says,
    Thinks,
    pieces,
    shortened,
)
from tests.wire.servers.steps import Ask, Json, Script, Step


class ChatModelUpstream(ModelUpstream, ChatUpstream):
    """A server of this family. Subclasses know how thoughts and counts are told, and which of them must come back."""

    id_pattern: ClassVar[str] = "call_{:.24}"
    arguments_at_once: ClassVar[bool] = False
    """Whether a call comes in one chunk."""
    own_message_keys: ClassVar[frozenset[str]] = frozenset()
    """What an assistant message may hold here beyond what OpenAI knows."""
    settings: ClassVar[str] = ""
    """Top-level keys this server knows beyond OpenAI's."""
    unknown_settings: ClassVar[frozenset[str]] = frozenset()
    """Those of OpenAI's that it refuses."""

    def __init__(self, *scripts: Script) -> None:
        super().__init__(*scripts)
        self.also = frozenset(self.settings.split())

    def forget(self) -> None:
        """Forget what was said."""
        self.said: dict[str, Json] = {}
        """By the id of each call: what its message must hold again."""

    def thought_delta(self, word: Thinks | Hides) -> list[Json]:
        """Say how a thought is streamed. Most servers of this family never tell a hidden one."""
        raise NotImplementedError

    def must_come_back(self, answer: Answer) -> Json:
        """Say what the message of this answer must hold when it comes back."""
        raise NotImplementedError

    def usage(self) -> Json:
        """Word what an answer costs."""
        return {"prompt_tokens": PROMPT, "completion_tokens": COMPLETION, "total_tokens": PROMPT + COMPLETION}

    def finish(self, answer: Answer) -> Json:
        """Say why the answer ended."""
        called = any(isinstance(word, Calls) for word in answer)
        return {"finish_reason": "tool_calls" if called else "stop"}

    def text_delta(self, text: str) -> Json:
        """Say how text is streamed."""
        return {"content": text}

    def streamed(self, answer: Answer) -> list[Step]:
        """Say it in chunks: a role, what is thought, said and called, why it ended, and what it cost."""
        deltas: list[Json] = [{"role": "assistant", "content": ""}]
        calls: list[Json] = []
        for word in answer:
            match word:
                case Thinks() | Hides():
                    deltas += self.thought_delta(word)
                case Says(text):
                    deltas += [self.text_delta(piece) for piece in pieces(text)]
                case Calls():
                    calls.append(self._call(word))
                    deltas += self._call_deltas(len(calls) - 1, calls[-1])
        self._remember(answer, calls)
        chunks: list[Step] = [_chunk(delta, finish_reason=None) for delta in deltas]
        return [*chunks, *self.last_chunks(answer)]

    def last_chunks(self, answer: Answer) -> list[Step]:
        """Word the end: the reason, and the count in a chunk of its own."""
        return [_chunk({}, **self.finish(answer)), {"choices": [], "usage": self.usage()}]

    def whole(self, answer: Answer) -> Json:
        """Say it in one body."""
        calls = [self._call(word) for word in answer if isinstance(word, Calls)]
        self._remember(answer, calls)
        text = "".join(word.text for word in answer if isinstance(word, Says))
        message: Json = {"role": "assistant", "content": text or None, **self.full_thoughts(answer)}
        if calls:
            message["tool_calls"] = calls
        choice = {"index": 0, "message": message, **self.finish(answer)}
        return {
            "id": "chatcmpl-scripted",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": self.model,
            "choices": [choice],
            "usage": self.usage(),
        }

    def full_thoughts(self, answer: Answer) -> Json:
        """Say how thoughts stand in a whole message. In most servers of this family: just as they must come back."""
        return self.must_come_back(answer)

    def _call(self, word: Calls) -> Json:
        function = {"name": word.name, "arguments": word.arguments}
        return {"id": self.call_id(self.id_pattern), "type": "function", "function": function}

    def _call_deltas(self, index: int, call: Json) -> list[Json]:
        if self.arguments_at_once:
            return [{"tool_calls": [{"index": index, **call}]}]
        opened = {**call, "index": index, "function": {**call["function"], "arguments": ""}}
        more = [{"index": index, "function": {"arguments": piece}} for piece in pieces(call["function"]["arguments"])]
        return [{"tool_calls": [fragment]} for fragment in (opened, *more)]

    def _remember(self, answer: Answer, calls: list[Json]) -> None:
        wanted = self.must_come_back(answer)
        for call in calls:
            self.said[call["id"]] = {"wanted": wanted, "calls": calls}

    def faults(self, ask: Ask) -> list[str]:
        """Say what this server would refuse: what all of its family do, and what is its own."""
        messages = ask.body.get("messages")
        plain = {**ask.body, "messages": [self._plain(message) for message in messages or []]}
        found = super().faults(Ask(ask.path, ask.headers, plain, ask.raw))
        found += [f"unknown parameter {key}" for key in ask.body if key in self.unknown_settings]
        for position, message in enumerate(messages or []):
            if message.get("role") == "assistant":
                found += [f"messages[{position}]: {fault}" for fault in self.assistant_faults(message)]
        return found

    def _plain(self, message: Json) -> Json:
        """The message without what only this server knows, for the checks that all share."""
        left = {key: value for key, value in message.items() if key not in self.own_message_keys}
        if "reasoning_content" in left:  # OpenAI does not know it, and the shared checks are no stricter than need be
            left["reasoning_content, which this server does not know"] = left.pop("reasoning_content")
        return left

    def assistant_faults(self, message: Json) -> list[str]:
        """Say what of this message is not as this server said it."""
        found = []
        for call in message.get("tool_calls") or []:
            content = self.said.get(str(call.get("id")))
            if content is None or self.forgives:
                continue
            if call not in content["calls"]:
                found.append(f"the call {call} was made otherwise")
            found += [
                f"{key} must come back as it was said: {shortened(value)}, not {shortened(message.get(key))}"
                for key, value in content["wanted"].items()
                if self.normal(key, message.get(key)) != value
            ]
        return list(dict.fromkeys(found))

    def normal(self, key: str, value: Any) -> Any:
        """Read what came back."""
        return value


def _chunk(delta: Json, **finish: Any) -> Json:
    return {"choices": [{"index": 0, "delta": delta, "logprobs": None, **finish}]}
