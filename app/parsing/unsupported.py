"""Parameters that this server refuses, ignores with a warning or ignores without one, each with its reason."""

from collections.abc import Container, Sequence
from typing import Any, Final

from ..protocol.problems import refuse
from ..protocol.request.create_response import CONTEXTS, ENCRYPTED_REASONING, SERVICE_TIERS, CreateResponse
from ..protocol.warnings import ClientWarning
from .validation import SHOWN

STEERING: Final = frozenset(
    {
        "api_base",
        "api_key",
        "base_url",
        "custom_llm_provider",
        "extra_body",
        "extra_headers",
        "fallbacks",
        "headers",
        "mock_response",
        "model_list",
        "num_retries",
        "timeout",
    }
)
STEERING_PREFIXES: Final = ("litellm_", "aws_")
"""Keys that would steer the libraries behind this server, for instance send its own key to another address."""

_SEND_HISTORY: Final = (
    "This server is stateless and keeps nothing between requests: send the whole history in 'input' instead, "
    "the items of earlier outputs included."
)
STATEFUL: Final[dict[str, str]] = {
    "previous_response_id": f"'previous_response_id' is not supported. {_SEND_HISTORY}",
    "conversation": f"'conversation' is not supported. {_SEND_HISTORY}",
    "prompt": (
        "'prompt' is not supported. This server is stateless and stores no prompt templates: "
        "send their text as 'instructions' and 'input' instead."
    ),
}
_BACKGROUND: Final = (
    "'background: true' is not supported. This server is stateless and could not hand the response out later: "
    "leave it out, and use 'stream: true' for long answers."
)

MOST_NAMED: Final = 50
"""Unknown parameters that are named in warnings. One more warning counts the rest."""
QUIET: Final = frozenset(
    {
        "client_metadata",  # Codex sends it with every request; it is for its own servers' logs
    }
)
_GROUPS: Final = ("prompt_cache_options", "reasoning", "stream_options", "text")
"""Parameters that are objects, of which unknown members have no effect."""
PREWARM: Final = (
    "'prompt_cache_options.prewarm' prepares nothing: the model's server fills its cache only with an answer, and was "
    "not asked for one."
)
PREWARM_WARNING: Final = ClientWarning("prompt_cache_options.prewarm", "prompt_cache_options", PREWARM)
EFFECTIVE_INCLUDES: Final = frozenset(
    {
        "message.output_text.logprobs",
        ENCRYPTED_REASONING,  # Codex asks for it always
    }
)
INCLUDES_OF_TOOLS: Final = {
    "code_interpreter_call.outputs": "code_interpreter",
    "computer_call_output.output.image_url": "computer",
    "file_search_call.results": "file_search",
    "web_search_call.action.sources": "web_search",
    "web_search_call.results": "web_search",
}
"""What `include` may ask about calls of a hosted tool, and how the types of this tool begin. Without the tool there are
no such calls, and nothing is missed."""
INCLUDE_OF_INPUT: Final = "message.input_image.image_url"
"""About items of the input, which an answer never contains."""


def refuse_steering(raw: dict[str, Any]) -> None:
    """Refuses keys that no client may set, whatever their value."""
    for key in raw:
        if key in STEERING or key.startswith(STEERING_PREFIXES):
            raise refuse("unknown_parameter", f"Unknown parameter: '{key[:SHOWN]}'.", key[:SHOWN])


def refuse_stateful(posted: dict[str, Any]) -> None:
    """Refuses parameters that need stored state. The message names the alternative."""
    for key, message in STATEFUL.items():
        if key in posted:
            raise refuse("unsupported_parameter", message, key)
    if posted.get("background") is True:
        raise refuse("unsupported_parameter", _BACKGROUND, "background")


def warnings_about(posted: dict[str, Any], known: Container[str], request: CreateResponse) -> tuple[ClientWarning, ...]:
    """A warning for each parameter that has no effect, where the client could expect one."""
    unknown = [key for key in posted if key not in known and key not in QUIET]
    for name in _GROUPS:
        if (group := getattr(request, name)) is not None:
            unknown += [f"{name}.{key}" for key, value in (group.model_extra or {}).items() if value is not None]
    warnings = [_unknown(key[:SHOWN], f"'{key[:SHOWN]}' has no effect on this server.") for key in unknown[:MOST_NAMED]]
    if len(unknown) > MOST_NAMED:
        details = f"{len(unknown) - MOST_NAMED} other parameters have no effect on this server either."
        warnings.append(_unknown("", details))
    warnings += _of_members(request)
    for index, entry in enumerate(request.context_management):
        if entry.threshold is None:
            path = f"context_management[{index}]"
            details = f"'{path}' has no effect: {entry.no_effect}"
            warnings.append(ClientWarning(path, "context_management", details))
    if posted.get("service_tier", "auto") not in SERVICE_TIERS:
        details = "'service_tier' names a tier that this server does not know."
        warnings.append(ClientWarning("service_tier", "service_tier", details))
    kinds = [str(tool.get("type")) for tool in request.raw_tools]
    for index, name in enumerate(request.include):
        if not _has_effect_or_is_not_missed(name, kinds):
            path = f"include[{index}]"
            warnings.append(ClientWarning(path, "include", f"'{path}' has no effect on this server."))
    return tuple(warnings)


def _of_members(request: CreateResponse) -> list[ClientWarning]:
    """The warnings about known members of parameters that are objects."""
    warnings: list[ClientWarning] = []
    if request.prewarms:
        warnings.append(PREWARM_WARNING)
    if request.truncation == "auto":
        details = "'truncation' has no effect on this server: a conversation that is too long is an error."
        warnings.append(ClientWarning("truncation", "truncation", details))
    if request.reasoning is not None and request.reasoning.mode not in (None, "standard"):
        details = "'reasoning.mode' has no effect on this server: models think as usual."
        warnings.append(ClientWarning("reasoning.mode", "reasoning.mode", details))
    if request.reasoning is not None and request.reasoning.context not in {None, *CONTEXTS}:
        details = "'reasoning.context' names turns that this server does not know: reasoning of all turns is sent."
        warnings.append(ClientWarning("reasoning.context", "reasoning.context", details))
    if request.stream_options is not None and request.stream_options.include_obfuscation:
        details = "'stream_options.include_obfuscation' has no effect on this server: it sends no padding."
        warnings.append(ClientWarning("stream_options.include_obfuscation", "include_obfuscation", details))
    return warnings


def _has_effect_or_is_not_missed(include: str, kinds: Sequence[str]) -> bool:
    """`kinds`: the types of the tools that are offered."""
    if include in INCLUDES_OF_TOOLS:
        return not any(kind.startswith(INCLUDES_OF_TOOLS[include]) for kind in kinds)
    return include in EFFECTIVE_INCLUDES or include == INCLUDE_OF_INPUT


def _unknown(param: str, details: str) -> ClientWarning:
    return ClientWarning(param, "unknown parameter", details)
