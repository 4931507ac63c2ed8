"""Lanes to models that their provider's server, or litellm, treats otherwise than its newest ones."""

from collections.abc import Callable
from typing import Any, ClassVar, Final

from tests.http.wires.lanes import Lane, litellm
from tests.wire.servers import Answer, AnthropicUpstream, Calls, CohereUpstream, GeminiUpstream, GroqUpstream, Says
from tests.wire.servers.steps import Ask, Json

FORMAT_TOOL: Final = "json_tool_call"
"""The tool that litellm makes of a format, and forces upon models it knows no better way for."""


class OlderClaudeUpstream(AnthropicUpstream):
    """The same server, asked for a Claude that knows no formats: it calls the tool it is forced to call."""

    model = "claude-opus-4-1"

    def _script(self, answer: Answer) -> Any:
        plain: Callable[[Ask], Any] = super()._script(answer)
        forced: Callable[[Ask], Any] = super()._script(
            [Calls(FORMAT_TOOL, word.text) if isinstance(word, Says) else word for word in answer]
        )
        return lambda ask: (forced if _is_forced(ask) else plain)(ask)


class OlderGroqUpstream(GroqUpstream):
    """The same server, asked for a model that is held to no schema."""

    model = "llama-3.3-70b-versatile"


class OlderGeminiUpstream(GeminiUpstream):
    """The same server, asked for a Gemini 2.5: it signs nothing, and refuses ids in calls and responses."""

    model = "gemini-2.5-flash"
    roles: ClassVar = ("functionCall", "function_call", "functionResponse", "function_response")

    def _parts(self, answer: Answer) -> list[Json]:
        return [
            {key: value for key, value in part.items() if key != "thoughtSignature"} for part in super()._parts(answer)
        ]

    def faults(self, ask: Ask) -> list[str]:
        """Refuse ids, and what all refuse but for signatures."""
        held = [
            part.get(role) or {} for content in ask.body["contents"] for part in content["parts"] for role in self.roles
        ]
        found = [f"Unknown name 'id' in {part}" for part in held if "id" in part]
        return found + [fault for fault in super().faults(ask) if "signature" not in fault and "signed" not in fault]


FORMATS: Final[dict[str, Lane]] = {
    "an older claude": litellm(OlderClaudeUpstream, "anthropic"),
    "groq": litellm(GroqUpstream, "groq"),
    "an older model at groq": litellm(OlderGroqUpstream, "groq"),
}
"""Those that litellm gets a format out of in its own ways."""
OLDER: Final[dict[str, Lane]] = {
    **FORMATS,
    "older gemini": litellm(OlderGeminiUpstream, "gemini"),
    "cohere by its other name": litellm(CohereUpstream, "cohere"),
}


def _is_forced(ask: Ask) -> bool:
    return bool((ask.body.get("tool_choice") or {}).get("name") == FORMAT_TOOL)
