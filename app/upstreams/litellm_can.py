"""What a model behind litellm can do: from litellm's model map, and from the losses of its translation. Pure.

litellm's map contains what a model accepts; what it does not contain is unknown. What litellm's own translation drops
without an error is not in the map. It was found by asking litellm for every provider and reading what arrived. It is
written in the files of `providers/`, and it is not sent even if a configuration allows it.
"""

from collections.abc import Collection
from typing import Any, Final

from ..options import Format
from ..providers.capabilities import Capabilities
from ..providers.lookup import provider_of
from ..providers.provider import ByModel, ModelFacts, Translation, WordT

Json = dict[str, Any]

_ALL: Final = ("parallel_tool_calls", "reasoning_effort", "response_format", "tools", "verbosity")
"""Settings that capabilities depend on."""

_JSON: Final[tuple[Format, ...]] = ("json_object",)


def lost_parts(provider: str, model: str) -> frozenset[str]:
    """Content parts that litellm leaves out for this model."""
    return provider_of(provider).translation_of(model).lost_parts


def capabilities(provider: str, model: str, info: Json, known: Collection[str] | None) -> Capabilities:
    """What `model` can do at `provider`.

    `info` is its entry in litellm's map, `known` the settings that litellm passes on. Both may be missing: then only
    what litellm loses is known.
    """
    facts = ModelFacts(model, info)
    translation = provider_of(provider).translation_of(model)
    if known is None:
        known = _ALL
    return Capabilities(
        vision=False if "image_url" in translation.lost_parts else facts.supports("vision"),
        files=False if "file" in translation.lost_parts else facts.supports("pdf_input"),
        audio=False if "input_audio" in translation.lost_parts else facts.supports("audio_input"),
        # a stale "no" of the map would leave an agent without tools, so only what litellm does counts here
        tools=False
        if "tools" not in known or translation.tools_as_prompt
        else facts.supports("function_calling") or None,
        parallel_calls=_parallel_calls(translation, facts, known),
        strict_tools=False if translation.drops_strict else None,
        reasoning=False if "reasoning_effort" not in known or translation.effort_as_prompt else None,
        efforts=_by_model(translation.efforts, facts),
        thinking_tokens=None if translation.thinking_tokens is None else translation.thinking_tokens(facts),
        structured_output=_formats(translation, facts, known),
        structured_beside_tools=_by_model(translation.formats_beside_tools, facts),
        verbosity=None if "verbosity" in known else False,
    )


def _by_model(words: ByModel[WordT], facts: ModelFacts) -> tuple[WordT, ...] | None:
    return words(facts) if callable(words) else words


def _parallel_calls(translation: Translation, facts: ModelFacts, known: Collection[str]) -> bool | None:
    drops = translation.drops_parallel_calls
    if "parallel_tool_calls" not in known or (drops(facts) if callable(drops) else drops):
        return False
    return facts.supports("parallel_function_calling")


def _formats(translation: Translation, facts: ModelFacts, known: Collection[str]) -> tuple[Format, ...] | None:
    if "response_format" not in known:
        return ()
    if translation.formats is not None:
        return _by_model(translation.formats, facts)
    return _JSON if facts.supports("response_schema") is False else None


def stops_thinking(info: Json, known: Collection[str]) -> bool:
    """Whether this Claude is known to accept being asked not to think. `known` are the names in the map.

    litellm also answers for models that are not in the map, by the name of their family.
    """
    return info.get("key") in known and not info.get("thinking_always_on")
