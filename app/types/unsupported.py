"""Parameters that are refused, and parameters that have no effect."""

from collections.abc import Iterable, Iterator

import msgspec

from .json import Json
from .problems import Warnings, refuse
from .request import (
    ENCRYPTED_REASONING,
    LOGPROBS,
    SERVICE_TIERS,
    CacheOptions,
    ReasoningConfig,
    Request,
    StreamOptions,
    TextConfig,
)

_STEERING = frozenset(
    {
        "api_base", "api_key", "base_url", "custom_llm_provider", "extra_body", "extra_headers", "fallbacks",
        "headers", "mock_response", "model_list", "num_retries", "timeout",
    }
)  # fmt: skip
_STEERING_PREFIXES = ("litellm_", "aws_")
"""Keys that would steer the libraries behind this server, for instance send its own key to another address."""
_SEND_HISTORY = (
    "This server is stateless: send the whole history in 'input' instead, the items of earlier outputs included."
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
_OURS = {"choice", "offers", "positions", "posted", "previous_response_id"}
KNOWN = frozenset(field.encode_name for field in msgspec.structs.fields(Request)) - _OURS
"""The parameters that a client may post."""
_QUIET = frozenset({"client_metadata"})
"""Parameters without an effect that no client misses: Codex sends them for the logs of its own servers."""
OF_CHAT = {
    "function_call": "tool_choice", "functions": "tools", "logprobs": "top_logprobs",
    "max_completion_tokens": "max_output_tokens", "max_tokens": "max_output_tokens",
    "reasoning_effort": "reasoning.effort", "response_format": "text.format", "verbosity": "text.verbosity",
}  # fmt: skip
"""Parameters of chat completions that have another name in the Responses API."""
_MEMBERS = {
    "prompt_cache_options": CacheOptions.__struct_fields__,
    "reasoning": ReasoningConfig.__struct_fields__,
    "stream_options": StreamOptions.__struct_fields__,
    "text": TextConfig.__struct_fields__,
}
"""The known members of parameters that are objects."""
_CONTEXTS = frozenset({"auto", "all_turns", "current_turn"})
_INCLUDES_OF_TOOLS = {
    "code_interpreter_call.outputs": "code_interpreter",
    "computer_call_output.output.image_url": "computer",
    "file_search_call.results": "file_search",
    "web_search_call.action.sources": "web_search",
    "web_search_call.results": "web_search",
}
"""What `include` may ask about calls of a hosted tool, and how the types of this tool begin. Without the tool there are
no such calls, and nothing is missed."""
_INCLUDES = frozenset({LOGPROBS, ENCRYPTED_REASONING, "message.input_image.image_url"})
"""The others that have an effect, or are about the input, which an answer never contains."""
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


def warnings_about(posted: Json, request: Request, members: Iterable[str]) -> Warnings:
    """A warning for each parameter without an effect, where the client could expect one, and for each of `members`."""
    unknown = [key for key in posted if key not in KNOWN and key not in _QUIET]
    for name, known in _MEMBERS.items():
        if name in posted:
            unknown += [
                f"{name}.{key}" for key, value in posted[name].items() if key not in known and value is not None
            ]
    unknown += members
    use = {key: f": use '{name}'" for key, name in OF_CHAT.items()}
    told = [(key[:SHOWN], use.get(key, "")) for key in unknown[:_MOST_NAMED]]
    warnings = [*told, *_without_effect(request)]
    found = [f"'{path}' has no effect on this server{why}." for path, why in warnings]
    if len(unknown) > _MOST_NAMED:
        rest = len(unknown) - _MOST_NAMED
        found.insert(_MOST_NAMED, f"{rest} other parameters have no effect on this server either.")
    return found


def _without_effect(request: Request) -> Iterator[tuple[str, str]]:
    """Path and reason of known parameters with values that have no effect."""
    if request.prompt_cache_options and request.prompt_cache_options.prewarm:
        why = ": a model's server fills its cache only with an answer, and is not asked for one"
        yield "prompt_cache_options.prewarm", why
    if request.truncation == "auto":
        yield "truncation", ": a conversation that is too long is an error"
    reasoning = request.reasoning or ReasoningConfig()
    if reasoning.mode not in (None, "standard"):
        yield "reasoning.mode", ": models think as usual"
    if reasoning.context not in {None, *_CONTEXTS}:
        yield "reasoning.context", ": reasoning of all turns is sent"
    if request.stream_options and request.stream_options.include_obfuscation:
        yield "stream_options.include_obfuscation", ": it sends no padding"
    for index, entry in enumerate(request.context_management):
        if entry.type != "compaction" or entry.compact_threshold is None:
            yield f"context_management[{index}]", ": it is no compaction with a threshold"
    if (request.service_tier or "auto") not in SERVICE_TIERS:
        yield "service_tier", ": it names no tier that is known here"
    kinds = [str(tool.get("type")) for tool in request.tools]
    for index, name in enumerate(request.include):
        of_tool = _INCLUDES_OF_TOOLS.get(name)
        if any(kind.startswith(of_tool) for kind in kinds) if of_tool else name not in _INCLUDES:
            yield f"include[{index}]", ""
