"""What a prompt cache compares of the body of a request to another server with the Responses API."""

from typing import Any, Final

from ...prompt_cache.prefix import Prefix, Setting, message_parts, text_parts, tool_parts

Json = dict[str, Any]

LONGEST_TYPE: Final = 64


def prefix_of(body: Json) -> Prefix:
    """The settings, tools, instructions and items of this body. It holds what the client sent, of any type."""
    text, reasoning = _object(body.get("text")), _object(body.get("reasoning"))
    items = body.get("input")
    return Prefix(
        settings=(
            Setting("prompt_cache_key", "prompt_cache_key_changed", body.get("prompt_cache_key")),
            Setting("text.format", "text_format_changed", text.get("format")),
            Setting("reasoning.effort", "reasoning_effort_changed", reasoning.get("effort")),
            Setting("text.verbosity", "verbosity_changed", text.get("verbosity")),
            Setting("service_tier", "service_tier_changed", body.get("service_tier")),
        ),
        tools=tool_parts(body.get("tools")),
        system=text_parts("instructions", body.get("instructions")),
        messages=message_parts("input", items, _kind) if isinstance(items, list) else text_parts("input", items),
    )


def _kind(item: Json) -> str:
    """The type of an item. A client may post any text as one, so what is no name is not shown."""
    kind = item.get("type", "message")
    return kind if isinstance(kind, str) and len(kind) <= LONGEST_TYPE and kind.isidentifier() else ""


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
