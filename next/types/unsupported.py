"""Parameters that are refused, and parameters that have no effect."""

import msgspec

from .json import Json
from .problems import Warning, refuse
from .request import ReasoningConfig, Request, TextConfig

_STEERING = frozenset(
    {
        "api_base", "api_key", "base_url", "custom_llm_provider", "extra_body", "extra_headers", "fallbacks",
        "headers", "mock_response", "model_list", "num_retries", "timeout",
    }
)  # fmt: skip
_STEERING_PREFIXES = ("litellm_", "aws_")
"""Keys that would steer the libraries behind this server, for instance send its own key to another address."""
_SEND_HISTORY = (
    "This server is stateless and keeps nothing between requests: send the whole history in 'input' instead, "
    "the items of earlier outputs included."
)
_STATEFUL = {
    "previous_response_id": f"'previous_response_id' is not supported. {_SEND_HISTORY}",
    "conversation": f"'conversation' is not supported. {_SEND_HISTORY}",
    "prompt": (
        "'prompt' is not supported. This server is stateless and stores no prompt templates: "
        "send their text as 'instructions' and 'input' instead."
    ),
}
_BACKGROUND = (
    "'background: true' is not supported. This server is stateless and could not hand the response out later: "
    "leave it out, and use 'stream: true' for long answers."
)
_QUIET = frozenset({"background", "client_metadata", "input", "stream_options"})
"""Parameters without an effect that no client misses. Codex sends `client_metadata` for the logs of its own servers."""
KNOWN = frozenset(field.encode_name for field in msgspec.structs.fields(Request)) - {"offers", "choice"}
_MEMBERS = {
    "reasoning": frozenset(field.encode_name for field in msgspec.structs.fields(ReasoningConfig)),
    "text": frozenset(field.encode_name for field in msgspec.structs.fields(TextConfig)),
}
_MOST_NAMED = 50
"""Unknown parameters that are named in warnings. One more warning counts the rest."""
SHOWN = 64
"""At most so many characters of a client's own name for a thing are repeated."""


def refuse_unsupported(posted: Json) -> None:
    """Refuses parameters that no client may set, or that need stored state. The message names the alternative."""
    for key in posted:
        if key in _STEERING or key.startswith(_STEERING_PREFIXES):
            raise refuse("unknown_parameter", f"Unknown parameter: '{key[:SHOWN]}'.", key[:SHOWN])
    for key, message in _STATEFUL.items():
        if posted.get(key) is not None:
            raise refuse("unsupported_parameter", message, key)
    if posted.get("background") is True:
        raise refuse("unsupported_parameter", _BACKGROUND, "background")


def unknown_parameters(posted: Json) -> list[Warning]:
    """A warning for each parameter that has no effect, where the client could expect one."""
    unknown = [key for key in posted if key not in KNOWN and key not in _QUIET]
    for name, known in _MEMBERS.items():
        if isinstance(group := posted.get(name), dict):
            unknown += [f"{name}.{key}" for key, value in group.items() if key not in known and value is not None]
    named = [key[:SHOWN] for key in unknown[:_MOST_NAMED]]
    warnings = [Warning(key, "unknown parameter", f"'{key}' has no effect on this server.") for key in named]
    if len(unknown) > _MOST_NAMED:
        details = f"{len(unknown) - _MOST_NAMED} other parameters have no effect on this server either."
        warnings.append(Warning("", "unknown parameter", details))
    return warnings
