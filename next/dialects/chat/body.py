"""Prompt -> the body of a request for chat completions."""

from ...prompt.build import without_effect
from ...prompt.nouns import Model, OutputFormat, Prompt, WebSearch
from ...types.json import Json
from ...types.problems import Warnings
from ..cache_marks import cache_mark, unmarked
from .messages import alternating, mark_to_cache, must_alternate, to_messages


def body(prompt: Prompt, model: Model) -> tuple[Json, Warnings]:
    """The body for this prompt, and a warning for what this API cannot be told."""
    warnings = Warnings()
    upstream = model.upstream
    mark = cache_mark(model, prompt.caching, by_default=model.marks_cache and "claude" in model.upstream_name)
    messages = to_messages(prompt.entries, model, keep_marks=mark is not None)
    if must_alternate(model.upstream_name, model.settings.alternating_roles):
        messages = alternating(messages, warnings)
    tools = _tools(prompt, strict=upstream.strict_tools)
    if mark is not None:
        automatic = not prompt.caching.only_marked
        mark_to_cache(tools.get("tools", []), messages, mark, automatic=automatic, in_full=model.marks_cache)
    warnings += unmarked(prompt, mark)
    if upstream.system_role != "system":
        messages = [{**each, "role": upstream.system_role} if each["role"] == "system" else each for each in messages]
    asked: Json = {"model": model.upstream_name, "messages": messages, **tools}
    if prompt.web_search is not None:
        asked["web_search_options"] = _web_search(prompt.web_search, warnings)
    if model.settings.image_output:
        asked["modalities"] = ["image", "text"]
    names = {"max_tokens": upstream.max_tokens_field}
    asked |= {names.get(name, name): value for name, value in prompt.sampling.items()}
    if prompt.verbosity is not None:
        asked["verbosity"] = prompt.verbosity
    if prompt.effort is not None:
        asked["reasoning_effort"] = prompt.effort
    if prompt.output is not None:
        asked["response_format"] = _format(prompt.output)
    asked |= {**prompt.hints, "stream": True}
    if model.provider.stream_options:
        asked["stream_options"] = {"include_usage": True}
    return asked, warnings


def _tools(prompt: Prompt, *, strict: bool) -> Json:
    """All fields about tools; none without tools: servers refuse an empty list, and a choice without tools.

    Without `strict` it is sent with none of them, for servers that refuse unknown keys.
    """
    if not prompt.functions:
        return {}
    tools: Json = {"tools": []}
    for spec in prompt.functions:
        function: Json = {"name": spec.name}
        if spec.description:
            function["description"] = spec.description
        function["parameters"] = spec.parameters or {"type": "object", "properties": {}}
        if spec.strict is not None and strict:
            function["strict"] = spec.strict
        tools["tools"].append({"type": "function", "function": function})
    if prompt.choice.name is not None:
        tools["tool_choice"] = {"type": "function", "function": {"name": prompt.choice.name}}
    elif prompt.choice.mode != "auto":  # `auto` is the default of servers
        tools["tool_choice"] = prompt.choice.mode
    if prompt.parallel_calls is not None:
        tools["parallel_tool_calls"] = prompt.parallel_calls
    return tools


def _web_search(search: WebSearch, warnings: Warnings) -> Json:
    """The options of the search. Other settings do not exist in this API."""
    unknown = {
        "filters.allowed_domains": search.domains,
        "filters.blocked_domains": search.blocked,
        "max_tool_calls": search.most,
    }
    warnings += [without_effect(name) for name, value in unknown.items() if value]
    options: Json = {}
    if search.context_size is not None:
        options["search_context_size"] = search.context_size
    if search.location is not None:
        options["user_location"] = {"type": "approximate", "approximate": search.location}
    return options


def _format(output: OutputFormat) -> Json:
    if output.schema is None:
        return {"type": "json_object"}
    schema: Json = {"name": output.name, "schema": output.schema}
    if output.description is not None:
        schema["description"] = output.description
    if output.strict is not None:
        schema["strict"] = output.strict
    return {"type": "json_schema", "json_schema": schema}
