"""What a prompt cache compares of the body of a request to the Messages API."""

from typing import Any

from ...prompt_cache.prefix import Prefix, Setting, message_parts, text_parts, tool_parts

Json = dict[str, Any]


def prefix_of(body: Json) -> Prefix:
    """The settings, tools, system prompt and messages of this body."""
    config = body.get("output_config") or {}
    return Prefix(
        settings=(
            Setting("output_config.format", "text_format_changed", config.get("format")),
            Setting("output_config.effort", "reasoning_effort_changed", config.get("effort")),
            Setting("thinking", "reasoning_effort_changed", body.get("thinking")),
            Setting("tool_choice", "tools_changed", body.get("tool_choice")),
            Setting("service_tier", "service_tier_changed", body.get("service_tier")),
        ),
        tools=tool_parts(body.get("tools")),
        system=text_parts("system", body.get("system")),
        messages=message_parts("messages", body.get("messages") or [], lambda message: str(message.get("role", ""))),
    )
