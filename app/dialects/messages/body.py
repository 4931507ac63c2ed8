"""Prompt -> the body of a request to the Messages API."""

from msgspec.structs import replace

from ...prompt.nouns import Image, Model, Prompt, ToolOutput, User, WebSearch
from ...providers.claude import Claude, claude_of
from ...tools.base import FunctionSpec
from ...types.json import Json, given
from ...types.problems import Warnings
from ..cache_marks import cache_mark, unmarked
from .blocks import THOUGHTS
from .conversation import conversation, mark_to_cache
from .schemas import enforceable
from .thinking import thinking_of, thinking_of_other

_MOST_TOKENS = 32_000
"""The limit of an answer of a model that is no Claude, where the client sets none: the API demands one."""
_ROOM_TO_ANSWER = 8_000
"""Tokens for an answer after the longest reasoning."""
_TIERS = {"auto": "auto", "default": "standard_only"}
_DEMANDS = frozenset({"any", "tool"})


def body(prompt: Prompt, model: Model) -> tuple[Json, Warnings]:
    """The body for this prompt, and a warning for what this API cannot be told."""
    warnings = Warnings()
    claude, by_maker = claude_of(model.upstream_name), model.provider.name == "anthropic"
    if model.can.strict_tools is False:
        prompt = replace(prompt, functions=tuple([replace(spec, strict=None) for spec in prompt.functions]))
    if claude is not None:
        prompt = enforceable(prompt, model, warnings)
    system, messages = conversation(prompt.entries, warnings)
    choice = _tool_choice(prompt, claude, warnings)
    if claude is None:
        thinking = thinking_of_other(prompt.effort, messages, warnings, state_refused=model.state_refused)
    else:
        demands = choice.get("type") in _DEMANDS
        thinking = thinking_of(prompt.effort, claude, messages, warnings, demands=demands, by_maker=by_maker)
        if not thinking.is_on and not claude.thinks_unasked:
            for message in messages:
                message["content"] = [block for block in message["content"] if block["type"] not in THOUGHTS]
            messages = [message for message in messages if message["content"]]
    sampling = _sampling(prompt.sampling, claude, warnings, thinks=thinking.is_on)
    tools = [*map(_tool, prompt.functions), *([_web_search(prompt.web_search)] if prompt.web_search else [])]
    mark = cache_mark(model, prompt.caching, by_default=claude is not None)
    mark_to_cache(tools, system, messages, mark, automatic=not prompt.caching.only_marked)
    warnings += unmarked(prompt, mark) + _lost(prompt)
    config: Json = {"effort": thinking.effort} if thinking.effort else {}
    if (output := prompt.output) is not None and output.schema is not None:
        described = {"description": output.description} if output.description else {}
        config["format"] = {"type": "json_schema", "schema": {**described, **output.schema}}
    user = prompt.hints.get("safety_identifier") or prompt.hints.get("user")
    window = model.settings.context_window or 4 * _MOST_TOKENS  # vLLM refuses what does not fit beside the prompt
    most = claude.most_tokens if claude else min(_MOST_TOKENS, max(1, window // 4))
    budget: int = thinking.field.get("budget_tokens", -_ROOM_TO_ANSWER)
    asked: Json = {
        "model": model.upstream_name,
        "max_tokens": prompt.sampling.get("max_tokens") or max(most, budget + _ROOM_TO_ANSWER),
        "messages": messages,
        "system": system,
        "tools": tools,
        "tool_choice": choice if choice != {"type": "auto"} else None,
        "thinking": thinking.field,
        "output_config": config,
        "metadata": {"user_id": user} if user else None,
        "service_tier": _TIERS.get(prompt.hints.get("service_tier", "")),
        **sampling,
        "stream": True,
    }
    return {name: value for name, value in asked.items() if value not in (None, {}, [])}, warnings


def _tool(spec: FunctionSpec) -> Json:
    tool = {
        "name": spec.name,
        "input_schema": {"type": "object", **(spec.parameters or {"properties": {}})},
        "description": spec.description or None,
        "strict": spec.strict or None,
    }
    return given(tool)


def _tool_choice(prompt: Prompt, claude: Claude | None, warnings: Warnings) -> Json:
    """The choice; empty without functions."""
    if not prompt.functions:
        return {}
    choice: Json = {"type": {"required": "any"}.get(prompt.choice.mode, prompt.choice.mode)}
    if prompt.choice.name is not None:
        choice = {"type": "tool", "name": prompt.choice.name}
    if choice["type"] in _DEMANDS and claude is not None and not claude.takes_demanded_calls:
        choice = {"type": "auto"}
        warnings.append("'tool_choice' is sent as 'auto': this model cannot be required to call a tool.")
    if prompt.parallel_calls is False and choice["type"] != "none":
        choice["disable_parallel_tool_use"] = True
    return choice


def _web_search(search: WebSearch) -> Json:
    tool: Json = {"type": "web_search_20250305", "name": "web_search"}
    if search.domains or search.blocked:
        tool["allowed_domains" if search.domains else "blocked_domains"] = list(search.domains or search.blocked)
    location = None if search.location is None else {"type": "approximate", **search.location}
    return given({**tool, "max_uses": search.most, "user_location": location})


def _sampling(given: Json, claude: Claude | None, warnings: Warnings, *, thinks: bool) -> Json:
    """`temperature` and `top_p`, where the model takes them."""
    fields: Json = {name: given[name] for name in ("temperature", "top_p") if name in given}
    if claude is None:
        return fields
    refused = [] if claude.takes_sampling and not thinks else list(fields)
    if len(fields) > len(refused) + 1:
        refused.append("top_p")  # newer versions refuse both together
    warnings += [_no_effect(name) for name in refused if fields.pop(name) != 1]  # 1 is the default of both
    if fields.get("temperature", 0) > 1:
        fields["temperature"] = 1
        warnings.append("'temperature' was lowered to 1: this model takes no higher one.")
    return fields


def _no_effect(name: str) -> str:
    return f"'{name}' has no effect on this model."


def _lost(prompt: Prompt) -> Warnings:
    """Warnings about settings that this API does not have."""
    given, search = prompt.sampling, prompt.web_search or WebSearch()
    parts = [part for entry in prompt.entries if isinstance(entry, User | ToolOutput) for part in entry.parts]
    lost = {
        "presence_penalty": "presence_penalty" in given,
        "frequency_penalty": "frequency_penalty" in given,
        "top_logprobs": "top_logprobs" in given,
        "include: message.output_text.logprobs": "logprobs" in given and "top_logprobs" not in given,
        "detail: low": any(isinstance(part, Image) and part.detail == "low" for part in parts),
        "tools.search_context_size": search.context_size is not None,
        "filters.blocked_domains": bool(search.domains and search.blocked),  # Claude takes only one of the two
        "text.verbosity": prompt.verbosity is not None,
        "service_tier": prompt.hints.get("service_tier", "auto") not in _TIERS,
    }
    return [_no_effect(name) for name, is_lost in lost.items() if is_lost]
