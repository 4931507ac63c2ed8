"""The lanes of structured output: those of all tests, and models that litellm gets a format out of in its own ways."""

from collections.abc import Callable
from typing import Any, Final

from tests.support.provider_lanes import LANES, Lane
from tests.support.servers.anthropic import AnthropicUpstream
from tests.support.servers.groq import GroqUpstream
from tests.support.servers.model import Answer, Calls, Says
from tests.support.servers.steps import Ask

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


STRUCTURED: Final[dict[str, Lane]] = {
    **LANES,
    "an older claude": Lane(OlderClaudeUpstream, {"via": "litellm", "provider": "anthropic"}, {}),
    "groq": Lane(GroqUpstream, {"via": "litellm", "provider": "groq"}, {}),
    "an older model at groq": Lane(OlderGroqUpstream, {"via": "litellm", "provider": "groq"}, {}),
}


def _is_forced(ask: Ask) -> bool:
    return bool((ask.body.get("tool_choice") or {}).get("name") == FORMAT_TOOL)
