"""DeepSeek's thinking mode: within a tool loop `reasoning_content` must come back."""

from tests.wire.servers.chat_family import ChatModelUpstream
from tests.wire.servers.model import CACHED, PROMPT, REASONING, Answer, Count, Hides, Thinks, pieces
from tests.wire.servers.steps import Ask, Json

MISSING = "The `reasoning_content` in the thinking mode must be passed back to the API."


class DeepSeekUpstream(ChatModelUpstream):
    """`POST /chat/completions` of `api.deepseek.com`, asked for its reasoner."""

    model = "deepseek-reasoner"
    count = Count(cached=CACHED, reasoning=REASONING)
    id_pattern = "call_00_{:.24}"
    own_message_keys = frozenset({"reasoning_content", "prefix"})
    settings = "thinking"

    def thought_delta(self, word: Thinks | Hides) -> list[Json]:
        """Say it as `reasoning_content`; while it thinks, `content` is null."""
        if isinstance(word, Hides):
            return []
        return [{"content": None, "reasoning_content": piece} for piece in pieces(word.text)]

    def must_come_back(self, answer: Answer) -> Json:
        """All that was thought."""
        return {"reasoning_content": "".join(word.text for word in answer if isinstance(word, Thinks))}

    def usage(self) -> Json:
        """Count hits and misses of the cache in DeepSeek's own words, too."""
        return {
            **super().usage(),
            "prompt_tokens_details": {"cached_tokens": CACHED},
            "completion_tokens_details": {"reasoning_tokens": REASONING},
            "prompt_cache_hit_tokens": CACHED,
            "prompt_cache_miss_tokens": PROMPT - CACHED,
        }

    def faults(self, ask: Ask) -> list[str]:
        """Refuse a call without the thoughts that led to it, whoever made it, unless thinking is switched off."""
        found = super().faults(ask)
        if (ask.body.get("response_format") or {}).get("type") == "json_schema":
            found.append("This response_format type is unavailable now")
        if ask.body.get("thinking") == {"type": "disabled"}:
            return found
        return found + [
            f"messages[{index}]: {MISSING}"
            for index, message in enumerate(ask.body.get("messages") or [])
            if message.get("tool_calls") and not isinstance(message.get("reasoning_content"), str)
        ]

    def error_body(self, status: int, message: str) -> Json:
        """Word an error as DeepSeek does."""
        kind = "authentication_error" if status == 401 else "invalid_request_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": "invalid_request_error"}}
