"""Groq's chat completions: a format is enforced in whole answers only, and never beside tools."""

from tests.wire.servers.chat_family import ChatModelUpstream
from tests.wire.servers.model import Answer, Hides, Thinks, pieces
from tests.wire.servers.steps import Ask, Json


class GroqUpstream(ChatModelUpstream):
    """`POST /openai/v1/chat/completions` of `api.groq.com`, asked for a model that can be held to a schema."""

    model = "openai/gpt-oss-120b"
    speaks_whole = True

    def thought_delta(self, word: Thinks | Hides) -> list[Json]:
        """Say it as `reasoning`."""
        return [] if isinstance(word, Hides) else [{"reasoning": piece} for piece in pieces(word.text)]

    def must_come_back(self, answer: Answer) -> Json:
        """Nothing."""
        return {}

    def full_thoughts(self, answer: Answer) -> Json:
        """Say them under the same name."""
        thoughts = "".join(word.text for word in answer if isinstance(word, Thinks))
        return {"reasoning": thoughts} if thoughts else {}

    def whole(self, answer: Answer) -> Json:
        """Name the tier in it, as Groq does: litellm cannot do without."""
        return {**super().whole(answer), "service_tier": "on_demand"}

    def faults(self, ask: Ask) -> list[str]:
        """Refuse what Groq does not combine."""
        found = super().faults(ask)
        form = ask.body.get("response_format")
        if form is None:
            return found
        if ask.body.get("stream") is True:
            found.append("response_format: streaming is not supported with structured outputs")
        if "tools" in ask.body:
            found.append("json mode cannot be combined with tool/function calling")
        if form["type"] == "json_schema" and self.knows_no_schema(ask):
            found.append("This model does not support response format `json_schema`.")
        return found

    def knows_no_schema(self, ask: Ask) -> bool:
        """Say whether the model is one of those that are held to a mere object."""
        return not str(ask.body["model"]).startswith("openai/gpt-oss")
