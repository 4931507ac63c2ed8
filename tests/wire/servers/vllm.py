"""vLLM's server: thoughts in a field of their own, which the chat template wants to see again."""

from tests.wire.servers.chat_family import ChatModelUpstream
from tests.wire.servers.model import Answer, Hides, Thinks, pieces
from tests.wire.servers.steps import Ask, Json

_FIELDS = ("reasoning", "reasoning_content")


class VllmUpstream(ChatModelUpstream):
    """`POST /v1/chat/completions` of a vLLM that tells thoughts as `reasoning`."""

    model = "Qwen/Qwen3-32B"
    id_pattern = "chatcmpl-tool-{:.32}"
    own_message_keys = frozenset({*_FIELDS, "thinking"})
    settings = "chat_template_kwargs include_reasoning"

    def thought_delta(self, word: Thinks | Hides) -> list[Json]:
        """Say it as `reasoning`."""
        return [] if isinstance(word, Hides) else [{"reasoning": piece} for piece in pieces(word.text)]

    def must_come_back(self, answer: Answer) -> Json:
        """All that was thought. The real server does not miss it, but the model's template leaves it out then."""
        return {"reasoning": "".join(word.text for word in answer if isinstance(word, Thinks))}

    def assistant_faults(self, message: Json) -> list[str]:
        """Read the thoughts under either name."""
        thought = message.get("reasoning") or message.get("reasoning_content")
        return super().assistant_faults({**message, "reasoning": thought})

    def finish(self, answer: Answer) -> Json:
        """Add vLLM's own reason."""
        return {**super().finish(answer), "stop_reason": None}

    def faults(self, ask: Ask) -> list[str]:
        """Refuse what names thoughts twice."""
        found = super().faults(ask)
        messages = ask.body.get("messages") or []
        return found + [
            f"messages[{index}] tells its thoughts under two names"
            for index, message in enumerate(messages)
            if all(message.get(field) for field in _FIELDS)
        ]

    def error_body(self, status: int, message: str) -> Json:
        """Word an error as vLLM does."""
        if status == 401:
            return {"error": "Unauthorized"}
        return {"error": {"message": message, "type": "BadRequestError", "param": None, "code": status}}
