"""Mistral: call ids of nine letters and digits, thoughts as parts of the content, and no unknown key anywhere."""

import re
from typing import Final

from tests.wire.servers.chat_family import ChatModelUpstream
from tests.wire.servers.model import Answer, Hides, Says, Thinks, pieces
from tests.wire.servers.steps import Ask, Json, Status, Step

_ID: Final = re.compile(r"[a-zA-Z0-9]{9}\Z")
_UNKNOWN: Final = frozenset(
    {
        "logit_bias", "logprobs", "max_completion_tokens", "prompt_cache_key", "safety_identifier", "seed",
        "service_tier", "store", "stream_options", "top_logprobs", "user", "verbosity", "web_search_options",
    }
)  # fmt: skip


class MistralUpstream(ChatModelUpstream):
    """`POST /v1/chat/completions` of `api.mistral.ai`, asked for a model that thinks."""

    model = "magistral-medium-2509"
    id_pattern = "{:.9}"
    arguments_at_once = True
    own_message_keys = frozenset({"prefix"})
    settings = "random_seed safe_prompt prompt_mode"
    unknown_settings = _UNKNOWN

    def thought_delta(self, word: Thinks | Hides) -> list[Json]:
        """Say it as a part of a list."""
        return [] if isinstance(word, Hides) else [{"content": [_thinking(piece)]} for piece in pieces(word.text)]

    def must_come_back(self, answer: Answer) -> Json:
        """Nothing: Mistral takes thoughts back, but does not ask for them."""
        return {}

    def full_thoughts(self, answer: Answer) -> Json:
        """Say thoughts and text as parts of one list, where there are thoughts."""
        if not any(isinstance(word, Thinks) for word in answer):
            return {}
        parts = []
        for word in answer:
            if isinstance(word, Thinks):
                parts.append(_thinking(word.text))
            elif isinstance(word, Says):
                parts.append({"type": "text", "text": word.text})
        return {"content": parts}

    def last_chunks(self, answer: Answer) -> list[Step]:
        """Count in the chunk that says why it ended."""
        choice = {"index": 0, "delta": {"content": ""}, **self.finish(answer)}
        return [{"choices": [choice], "usage": self.usage()}]

    def faults(self, ask: Ask) -> list[str]:
        """Refuse any other form of id, and empty content beside no calls."""
        body = dict(ask.body)
        if body.get("stream"):  # the count comes without being asked for
            body["stream_options"] = {"include_usage": True}
        if body.get("tool_choice") == "any":  # Mistral's word for it
            body["tool_choice"] = "required"
        found = super().faults(Ask(ask.path, ask.headers, body, ask.raw))
        if "stream_options" not in ask.body:
            found = [fault for fault in found if "stream_options" not in fault]
        for message in ask.body.get("messages") or []:
            ids = [call.get("id") for call in message.get("tool_calls") or []]
            if message.get("role") == "tool":
                ids.append(message.get("tool_call_id"))
            found += [
                f"Tool call id was {call_id} but must be a-z, A-Z, 0-9, with a length of 9."
                for call_id in ids
                if not _ID.match(str(call_id))
            ]
        return found

    def refusal(self, ask: Ask, faults: list[str]) -> Status:
        """Unknown keys are a 422."""
        status = super().refusal(ask, faults)
        unknown = any("unknown" in fault or "does not know" in fault for fault in faults)
        return Status(422, self.error_body(422, "; ".join(faults))) if status.status == 400 and unknown else status

    def error_body(self, status: int, message: str) -> Json:
        """Word an error as Mistral does: flat, and a list of details where a key is not known."""
        if status == 401:
            return {"detail": message}
        result: Json | str = message
        if status == 422:
            result = {"detail": [{"type": "extra_forbidden", "loc": ["body"], "msg": message}]}
        return {"object": "error", "message": result, "type": "invalid_request_error", "param": None, "code": None}


def _thinking(text: str) -> Json:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}
