"""What a model behind litellm can do: from its model map, and from what litellm is known to lose. Pure.

litellm's map says what a model takes; where it says nothing, nothing is known. It does not say what litellm's own
translation drops on the way without a word, which was found by asking it about every provider and reading what
arrived. That stands in the tables here, and whatever a configuration says, it is not sent.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final, Literal

from app.options import Format
from app.protocol.capabilities import Capabilities

Json = dict[str, Any]

_EVERY_PART: Final = frozenset({"image_url", "file", "input_audio"})
LOST_PARTS: Final[Mapping[str, frozenset[str]]] = {
    "anthropic": frozenset({"input_audio"}),  # and of every other provider's Claude
    "azure_ai": frozenset({"file"}),
    "bedrock": frozenset({"input_audio"}),
    "codestral": frozenset({"input_audio"}),
    "deepseek": _EVERY_PART,
    "heroku": _EVERY_PART,
    "mistral": frozenset({"input_audio"}),
    "ollama": frozenset({"file", "input_audio"}),
    "ollama_chat": frozenset({"file", "input_audio"}),
    "sambanova": _EVERY_PART,
}
"""Content parts that litellm leaves out for a provider, silently."""

GEMINI_PROVIDERS: Final = frozenset({"gemini", "vertex_ai", "vertex_ai_beta"})
"""litellm's names of those who serve Gemini."""
_STRICT_LOST: Final = GEMINI_PROVIDERS | {"anthropic", "cohere", "cohere_chat", "fireworks_ai", "xai"}
"""Providers for which it, or we, take `strict` off tools."""
_PARALLEL_LOST: Final = GEMINI_PROVIDERS
"""Providers for which it takes, and then drops, `parallel_tool_calls`."""
_TOOLS_AS_PROMPT: Final = frozenset({"ollama"})
"""Providers for which it writes tools into the prompt, and forces every answer into JSON. (`ollama_chat` is better.)"""
_PROMPTS_OF_ITS_OWN: Final = frozenset({"mistral"})
"""Providers for which it turns an effort into a system prompt of its own."""

_REPLACES_ALL: Final = GEMINI_PROVIDERS | {"bedrock", "oci"}
"""Providers for which it puts definitions in the place of `$ref`, in tools and formats."""
_REPLACES_OLD: Final = frozenset({"anthropic", "fireworks_ai"})
"""The same, of tools with definitions in old places only."""
_CLAUDE_REPLACES_OLD: Final = frozenset({"azure_ai", "bedrock_mantle", "databricks"})
"""The same, for Claude only."""

_ALL: Final = ("parallel_tool_calls", "reasoning_effort", "response_format", "tools", "verbosity")
"""Settings that matter here."""

_JSON: Final[tuple[Format, ...]] = ("json_object",)
_SCHEMA: Final[tuple[Format, ...]] = ("json_schema",)
_BOTH: Final[tuple[Format, ...]] = ("json_schema", "json_object")
_OBJECTS_ONLY: Final = frozenset({"deepseek"})
"""Providers that refuse a schema, whatever the map says."""
_NOT_BESIDE_TOOLS: Final = frozenset({"fireworks_ai"})
"""Providers for which it drops the format when there are tools."""
_CLAUDES: Final = frozenset({"bedrock", "vertex_ai", "vertex_ai_beta"})
"""Providers that run Claude beside others."""

_LEVELS: Final = ("low", "medium", "high")
_EFFORTS: Final[Mapping[str, tuple[str, ...]]] = {
    "cerebras": _LEVELS,
    "groq": _LEVELS,
    "openrouter": ("none", "minimal", *_LEVELS, "xhigh"),
    "perplexity": _LEVELS,
    "together_ai": _LEVELS,
}
_BUDGETS: Final = {"minimal": 1024, "low": 1024, "medium": 2048, "high": 4096, "xhigh": 8192}
"""How many tokens litellm lets an older Claude think."""


def lost_parts(provider: str, model: str) -> frozenset[str]:
    """Content parts that would not arrive."""
    return LOST_PARTS.get("anthropic" if is_claude(provider, model) else provider, frozenset())


def capabilities(provider: str, model: str, info: Json, known: Collection[str] | None) -> Capabilities:
    """Of `model` at `provider`. `info` is its entry in litellm's map, `known` the settings that litellm passes on.

    Both may be missing: then what litellm loses is all that is known.
    """
    says = _Map(info)
    lost = lost_parts(provider, model)
    if known is None:
        known = _ALL
    return Capabilities(
        vision=False if "image_url" in lost else says("vision"),
        files=False if "file" in lost else says("pdf_input"),
        audio=False if "input_audio" in lost else says("audio_input"),
        # a stale «no» of the map would take an agent its hands, so of tools only what litellm does is believed
        tools=False if "tools" not in known or provider in _TOOLS_AS_PROMPT else says("function_calling") or None,
        parallel_calls=_parallel_calls(provider, model, says, known),
        strict_tools=_strict_tools(provider, model),
        reasoning=_reasoning(provider, known),
        efforts=_efforts(provider, model, says),
        thinking_tokens=_thinking_tokens(provider, model, says),
        structured_output=_formats(provider, model, says, known),
        structured_beside_tools=_formats_beside_tools(provider, model, says),
        verbosity=None if "verbosity" in known else False,
        replaces_references=_replaces_references(provider, model),
    )


class _Map:
    """What the model map says of one model: yes, no, or nothing."""

    def __init__(self, info: Json) -> None:
        self._info = info

    def __call__(self, name: str) -> bool | None:
        value = self._info.get(f"supports_{name}")
        return value if isinstance(value, bool) else None

    @property
    def always_thinks(self) -> bool:
        """Whether this model cannot be asked not to think."""
        return self._info.get("thinking_always_on") is True


def _strict_tools(provider: str, model: str) -> bool | None:
    lost = provider in _STRICT_LOST or (provider == "bedrock" and not is_claude(provider, model))
    return False if lost else None


def _replaces_references(provider: str, model: str) -> Literal["all", "old"] | None:
    if provider in _REPLACES_ALL:
        return "all"
    return "old" if provider in _REPLACES_OLD or (provider in _CLAUDE_REPLACES_OLD and "claude" in model) else None


def _parallel_calls(provider: str, model: str, says: _Map, known: Collection[str]) -> bool | None:
    if "parallel_tool_calls" not in known or (provider in _PARALLEL_LOST and not is_claude(provider, model)):
        return False
    if provider == "bedrock" and not says("native_structured_output"):
        return False  # only the newer Claudes there are told
    return says("parallel_function_calling")


def _formats(provider: str, model: str, says: _Map, known: Collection[str]) -> tuple[Format, ...] | None:
    if "response_format" not in known:
        return ()
    if provider == "bedrock" or is_claude(provider, model):
        return _SCHEMA  # it drops a plain `json_object`
    if provider in _OBJECTS_ONLY or says("response_schema") is False:
        return _JSON
    if provider == "groq" or provider in GEMINI_PROVIDERS:
        # it makes a prompt, or a tool, of a schema for models it does not know
        return _BOTH if says("response_schema") else _JSON
    return None


def _formats_beside_tools(provider: str, model: str, says: _Map) -> tuple[Format, ...] | None:
    if provider in _NOT_BESIDE_TOOLS:
        return ()
    if (provider == "bedrock" or is_claude(provider, model)) and not says("native_structured_output"):
        return ()  # it forces a tool that stands for the format, and no other could be called
    if provider == "groq":
        return ()  # its server takes one or the other
    return None


def _reasoning(provider: str, known: Collection[str]) -> bool | None:
    return False if "reasoning_effort" not in known or provider in _PROMPTS_OF_ITS_OWN else None


def _efforts(provider: str, model: str, says: _Map) -> tuple[str, ...] | None:
    if is_claude(provider, model):
        if not says("adaptive_thinking"):
            return ("none", *_BUDGETS)
        extra = [name for name in ("xhigh", "max") if says(f"{name}_reasoning_effort")]
        return (*(() if says.always_thinks else ("none",)), "minimal", *_LEVELS, *extra)
    if provider in GEMINI_PROVIDERS:
        return _gemini_efforts(model)
    if provider in {"openai", "azure"}:
        return _openai_efforts(says)
    if provider in {"ollama", "ollama_chat"}:
        return _LEVELS if model.startswith("gpt-oss") else ("none", *_LEVELS)
    return _EFFORTS.get(provider)


def _gemini_efforts(model: str) -> tuple[str, ...]:
    """A Gemini 3 is told a level, an older one a budget. Only small ones of the older need not think at all."""
    leveled, large = "gemini-3" in model, "pro" in model
    least = () if leveled and large else ("minimal",) if leveled or large else ("none", "minimal")
    return (*least, *_LEVELS)


def _openai_efforts(says: _Map) -> tuple[str, ...] | None:
    if not says("reasoning"):
        return None
    least = [name for name in ("none", "minimal") if says(f"{name}_reasoning_effort")]
    most = [name for name in ("xhigh", "max") if says(f"{name}_reasoning_effort")]
    return (*least, *_LEVELS, *most)


def _thinking_tokens(provider: str, model: str, says: _Map) -> dict[str, int] | None:
    return dict(_BUDGETS) if is_claude(provider, model) and not says("adaptive_thinking") else None


def is_claude(provider: str, model: str) -> bool:
    """Whether it is one of Anthropic's, wherever it runs."""
    return provider == "anthropic" or (provider in _CLAUDES and "claude" in model)


def stops_thinking(info: Json, known: Collection[str]) -> bool:
    """Whether this Claude is known to take it when it is asked not to think. `known` are the names in the map.

    litellm answers for models that are not there too, from the name of their family.
    """
    return info.get("key") in known and not info.get("thinking_always_on")
