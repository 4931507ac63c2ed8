"""Converts a prompt to the body of a request to a chat-completions server."""

from typing import Any, assert_never

from ...prompt.hosted_search import without_effect
from ...prompt.nouns import JsonObject, JsonSchema, OutputFormat, Prompt, Sampling, WebSearch
from ...protocol.warnings import ClientWarning
from ..cached_ends import cache_mark, unmarked
from ..wire import Encoded
from .cache_marks import mark_to_cache
from .chat_messages import to_messages
from .chat_options import ChatOptions
from .function_tools import to_tools
from .roles import alternating, must_alternate

Json = dict[str, Any]


def encode(prompt: Prompt, model: str, options: ChatOptions) -> Encoded:
    """The chat-completions body for this prompt."""
    warnings: list[ClientWarning] = []
    mark = cache_mark(options.model, prompt.caching, by_default=options.marks_claude and "claude" in model)
    given_back = options.model.give_back_reasoning
    messages = to_messages(prompt.entries, give_back_reasoning=given_back, keep_marks=mark is not None)
    if must_alternate(model, options.model.alternating_roles):
        messages, warnings = alternating(messages)
    tools = to_tools(prompt.functions, prompt.choice, parallel=prompt.parallel_calls)
    if mark is not None:
        automatic = not prompt.caching.only_marked
        mark_to_cache(tools.get("tools", []), messages, mark, automatic=automatic, in_full=options.marks_claude)
    body = {
        "model": model,
        "messages": messages,
        **tools,
        **_web_search(prompt.web_search),
        **({"modalities": ["image", "text"]} if options.model.image_output else {}),
        **_sampling(prompt.sampling),
        **({"verbosity": prompt.verbosity} if prompt.verbosity is not None else {}),
        **({"reasoning_effort": prompt.effort} if prompt.effort else {}),
        **({"response_format": _response_format(prompt.output)} if prompt.output else {}),
        **_set_fields(prompt.hints),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    return Encoded(body, [*warnings, *unmarked(prompt, mark), *_lost(prompt.web_search)])


def _sampling(sampling: Sampling) -> Json:
    """The sampling settings that the client set. A setting that is off is left out."""
    return {name: value for name, value in _set_fields(sampling).items() if value is not False}


def _web_search(search: WebSearch | None) -> Json:
    if search is None:
        return {}
    options: Json = {}
    if search.context_size is not None:
        options["search_context_size"] = search.context_size
    if search.location is not None:
        options["user_location"] = {"type": "approximate", "approximate": search.location}
    return {"web_search_options": options}


def _lost(search: WebSearch | None) -> list[ClientWarning]:
    """Warnings about settings of the search that this API does not have."""
    if search is None:
        return []
    wanted = {
        "filters.allowed_domains": search.domains,
        "filters.blocked_domains": search.blocked,
        "max_tool_calls": search.most,
    }
    return [without_effect(name) for name, value in wanted.items() if value]


def _response_format(output: OutputFormat) -> Json:
    match output:
        case JsonObject():
            return {"type": "json_object"}
        case JsonSchema():
            schema: Json = {"name": output.name, "schema": output.schema}
            if output.description is not None:
                schema["description"] = output.description
            if output.strict is not None:
                schema["strict"] = output.strict
            return {"type": "json_schema", "json_schema": schema}
        case _:
            assert_never(output)


def _set_fields(noun: Any) -> Json:
    """The fields that are set."""
    return {name: value for name in noun.__struct_fields__ if (value := getattr(noun, name)) is not None}
