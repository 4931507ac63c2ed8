"""OpenAI's chat completions: thoughts are counted and never told, and nothing unknown is let in."""

from tests.wire.servers.chat_family import ChatModelUpstream
from tests.wire.servers.model import CACHED, REASONING, Answer, Count, Hides, Thinks
from tests.wire.servers.steps import Ask, Json

LONGEST_ID = 40


class OpenAIUpstream(ChatModelUpstream):
    """`POST /v1/chat/completions` of `api.openai.com`, asked for a reasoning model."""

    model = "gpt-5-mini"
    count = Count(cached=CACHED, reasoning=REASONING)
    unknown_settings = frozenset({"max_tokens"})

    def thought_delta(self, word: Thinks | Hides) -> list[Json]:
        """Nothing: the Chat API keeps thoughts to itself."""
        return []

    def must_come_back(self, answer: Answer) -> Json:
        """Nothing."""
        return {}

    def usage(self) -> Json:
        """Count thoughts, and what came from the cache."""
        return {
            **super().usage(),
            "prompt_tokens_details": {"cached_tokens": CACHED, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": REASONING,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        }

    def faults(self, ask: Ask) -> list[str]:
        """Refuse ids that are too long as well."""
        calls = [call for message in ask.body.get("messages") or [] for call in message.get("tool_calls") or []]
        long = [call["id"] for call in calls if len(str(call.get("id"))) > LONGEST_ID]
        return super().faults(ask) + [f"tool_calls.id is longer than {LONGEST_ID} characters: {name}" for name in long]
