"""What a prompt cache compares of the body of a chat request."""

from itertools import takewhile
from typing import Any

from ...prompt_cache.prefix import Prefix, Setting, message_parts, tool_parts

Json = dict[str, Any]


def prefix_of(body: Json) -> Prefix:
    """The settings, tools and messages of this body. The first messages are the system prompt."""
    messages = body.get("messages") or []
    first = len(list(takewhile(lambda message: _role(message) in {"system", "developer"}, messages)))
    parts = message_parts("messages", messages, _role)
    system = len(message_parts("messages", messages[:first], _role))
    return Prefix(
        settings=(
            Setting("prompt_cache_key", "prompt_cache_key_changed", body.get("prompt_cache_key")),
            Setting("response_format", "text_format_changed", body.get("response_format")),
            Setting("reasoning_effort", "reasoning_effort_changed", body.get("reasoning_effort")),
            Setting("thinking", "reasoning_effort_changed", body.get("thinking")),
            Setting("verbosity", "verbosity_changed", body.get("verbosity")),
            Setting("tool_choice", "tools_changed", body.get("tool_choice")),
            Setting("service_tier", "service_tier_changed", body.get("service_tier")),
        ),
        tools=tool_parts(body.get("tools")),
        system=parts[:system],
        messages=parts[system:],
    )


def _role(message: Json) -> str:
    return str(message.get("role", ""))
