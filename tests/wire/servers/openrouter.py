"""OpenRouter: whatever the model behind it needs again is in `reasoning_details`, and must come back unaltered."""

from typing import Any

from tests.wire.servers.chat_family import ChatModelUpstream
from tests.wire.servers.model import CACHED, REASONING, Answer, Count, Hides, Thinks, pieces, sealed
from tests.wire.servers.steps import Json, Step


class OpenRouterUpstream(ChatModelUpstream):
    """`POST /api/v1/chat/completions` of `openrouter.ai`, asked for a Claude."""

    model = "anthropic/claude-sonnet-4.5"
    count = Count(cached=CACHED, reasoning=REASONING)
    id_pattern = "toolu_{:.24}"
    own_message_keys = frozenset({"reasoning", "reasoning_content", "reasoning_details"})
    settings = "reasoning include_reasoning usage provider models route transforms plugins"

    def thought_delta(self, word: Thinks | Hides) -> list[Json]:
        """Say it twice: to be read as `reasoning`, and as details, whose last piece is the signature."""
        if isinstance(word, Hides):
            return [{"content": "", "reasoning": None, "reasoning_details": [_encrypted(word.text)]}]
        result = [
            {"content": "", "reasoning": piece, "reasoning_details": [{**_KIND, "text": piece}]}
            for piece in pieces(word.text)
        ]
        signed = {**_KIND, "signature": sealed(word.text)}
        return [*result, {"content": "", "reasoning": None, "reasoning_details": [signed]}]

    def streamed(self, answer: Answer) -> list[Step]:
        """Number the details as they come."""
        return self._numbered(super().streamed(answer))

    def _numbered(self, steps: list[Step]) -> list[Step]:
        index, closed = -1, True
        for step in steps:
            choices = step["choices"] if isinstance(step, dict) else []
            for detail in choices[0]["delta"].get("reasoning_details", ()) if choices else ():
                index += closed
                closed = "signature" in detail or "data" in detail
                detail["index"] = index
        return steps

    def must_come_back(self, answer: Answer) -> Json:
        """The details, in their order."""
        details: list[Json] = []
        for word in answer:
            if isinstance(word, Thinks):
                details.append({**_KIND, "text": word.text, "signature": sealed(word.text), "index": len(details)})
            elif isinstance(word, Hides):
                details.append({**_encrypted(word.text), "index": len(details)})
        return {"reasoning_details": details} if details else {}

    def full_thoughts(self, answer: Answer) -> Json:
        """Say them to be read as well."""
        text = "".join(word.text for word in answer if isinstance(word, Thinks))
        return {"reasoning": text or None, **self.must_come_back(answer)}

    def normal(self, key: str, value: Any) -> Any:
        """Put pieces of one thought together: the real server takes them either way."""
        if key != "reasoning_details" or not isinstance(value, list):
            return value
        details: list[Json] = []
        for piece in value:
            if details and piece.get("type") == "reasoning.text" and _continues(details[-1], piece):
                text = (details[-1].get("text") or "") + (piece.get("text") or "")
                details[-1] = {**details[-1], **piece, "text": text}
            else:
                details.append(piece)
        return details

    def usage(self) -> Json:
        """Count thoughts and the cache, and what it costs."""
        return {
            **super().usage(),
            "cost": 0.0001,
            "is_byok": False,
            "prompt_tokens_details": {"cached_tokens": CACHED},
            "completion_tokens_details": {"reasoning_tokens": REASONING},
        }

    def finish(self, answer: Answer) -> Json:
        """Add the model's own reason."""
        finish = super().finish(answer)
        native = "tool_use" if finish["finish_reason"] == "tool_calls" else "end_turn"
        return {**finish, "native_finish_reason": native}

    def error_body(self, status: int, message: str) -> Json:
        """Word an error as OpenRouter does."""
        return {"error": {"message": message, "code": status}, "user_id": "user_scripted"}


_KIND: Json = {"type": "reasoning.text", "format": "anthropic-claude-v1"}


def _encrypted(text: str) -> Json:
    return {"type": "reasoning.encrypted", "data": sealed(text), "id": "rs_1", "format": "openai-responses-v1"}


def _continues(last: Json, piece: Json) -> bool:
    same = last.get("type") == piece.get("type") and last.get("index") == piece.get("index")
    return same and "signature" not in last
