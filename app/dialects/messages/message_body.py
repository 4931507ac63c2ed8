"""Converts a prompt to the body of a request to the Messages API."""

from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from ...bridges.base import FunctionSpec
from ...prompt.hosted_search import without_effect
from ...prompt.nouns import Hints, Image, JsonSchema, OutputFormat, Prompt, Sampling, ToolOutput, User, WebSearch
from ...protocol.warnings import ClientWarning, no_effect
from ...providers.claude_models import ClaudeModel, claude_model
from ..cached_ends import cache_mark, unmarked
from ..wire import Encoded
from .cache_breakpoints import mark_to_cache
from .conversation import to_conversation
from .messages_options import MessagesOptions
from .schema_rules import enforceable
from .thinking import Thinking, thinking_for, thinking_for_other, without_thoughts

Json = dict[str, Any]

MOST_TOKENS: Final = 32_000
"""The limit of an answer of a model that is no Claude, where the client sets none: the API demands one."""
ANY_ARGUMENTS: Final = {"type": "object", "properties": {}}
WEB_SEARCH: Final = "web_search_20250305"
ROOM_TO_ANSWER: Final = 8_000
"""Tokens for an answer after the longest reasoning."""
_TIERS: Final = {"auto": "auto", "default": "standard_only"}
_WITHOUT_EFFECT: Final = ("presence_penalty", "frequency_penalty", "top_logprobs")
_DEMANDS: Final = frozenset({"any", "tool"})


def encode(prompt: Prompt, model: str, options: MessagesOptions) -> Encoded:
    """The body for this prompt."""
    claude = claude_model(model)
    prompt, warnings = _enforced(prompt, claude, options)
    system, messages, changed = to_conversation(
        prompt.entries, late_system=options.has_all_features and claude is not None and claude.takes_late_system
    )
    warnings += changed
    choice, changed = _tool_choice(prompt, claude)
    warnings += changed
    thinking = _thinking(prompt, claude, messages, demands_call=choice.get("type") in _DEMANDS, options=options)
    warnings += thinking.warnings
    if claude is not None and not thinking.is_on and not claude.thinks_unasked:
        messages = without_thoughts(messages)
    sampling, changed = _sampling(prompt.sampling, claude, thinks=thinking.is_on)
    warnings += changed
    most = claude.most_tokens if claude is not None else _most_in(options.model.context_window)
    tools = _tools(prompt)
    mark = cache_mark(options.model, prompt.caching, by_default=claude is not None)
    mark_to_cache(tools, system, messages, mark, automatic=not prompt.caching.only_marked)
    body: Json = {
        "model": model,
        "max_tokens": prompt.sampling.max_tokens or _above_budget(most, thinking),
        **({"system": system} if system else {}),
        "messages": messages,
        **({"tools": tools} if tools else {}),
        **({"tool_choice": choice} if tools and choice and choice != {"type": "auto"} else {}),
        **thinking.fields,
        **sampling,
        **_output_config(thinking.effort, prompt.output),
        **_hints(prompt.hints),
        "stream": True,
    }
    return Encoded(body, warnings + unmarked(prompt, mark) + _lost(prompt))


def _enforced(
    prompt: Prompt, claude: ClaudeModel | None, options: MessagesOptions
) -> tuple[Prompt, list[ClientWarning]]:
    """The prompt with `strict` only where the server takes it, and schemas as it takes them."""
    if options.can.strict_tools is False:
        functions = tuple([replace(spec, strict=None) if spec.strict else spec for spec in prompt.functions])
        prompt = replace(prompt, functions=functions)
    if claude is None:
        return prompt, []
    enforced = enforceable(prompt, as_user=options.model.system_messages == "as_user")
    prompt = replace(
        prompt, entries=tuple(enforced.entries), functions=tuple(enforced.functions), output=enforced.output
    )
    return prompt, enforced.warnings


def _thinking(
    prompt: Prompt, claude: ClaudeModel | None, messages: list[Json], *, demands_call: bool, options: MessagesOptions
) -> Thinking:
    if claude is not None:
        return thinking_for(prompt.effort, claude, messages, demands_call=demands_call, binds=options.has_all_features)
    return thinking_for_other(prompt.effort, messages, state_was_refused=options.state_was_refused)


def _most_in(window: int | None) -> int:
    """The limit of an answer in this context window: vLLM refuses one that does not fit beside the prompt."""
    return MOST_TOKENS if window is None else min(MOST_TOKENS, max(1, window // 4))


def _above_budget(most: int, thinking: Thinking) -> int:
    """The limit of an answer, with room for an answer after the reasoning."""
    budget = thinking.fields.get("thinking", {}).get("budget_tokens", 0)
    return max(most, budget + ROOM_TO_ANSWER) if budget else most


def _tools(prompt: Prompt) -> list[Json]:
    return [_tool(spec) for spec in prompt.functions] + _web_search(prompt.web_search)


def _tool(spec: FunctionSpec) -> Json:
    tool: Json = {"name": spec.name}
    if spec.description:
        tool["description"] = spec.description
    tool["input_schema"] = {"type": "object", **spec.parameters} if spec.parameters else dict(ANY_ARGUMENTS)
    if spec.strict:
        tool["strict"] = True
    return tool


def _tool_choice(prompt: Prompt, claude: ClaudeModel | None) -> tuple[Json, list[ClientWarning]]:
    """The choice; empty without functions."""
    if not prompt.functions:
        return {}, []
    choice: Json = {"type": {"required": "any"}.get(prompt.choice.mode, prompt.choice.mode)}
    warnings: list[ClientWarning] = []
    if prompt.choice.name is not None:
        choice = {"type": "tool", "name": prompt.choice.name}
    if choice["type"] in _DEMANDS and claude is not None and not claude.takes_demanded_calls:
        choice = {"type": "auto"}
        details = "'tool_choice' is sent as 'auto': this model cannot be required to call a tool."
        warnings.append(ClientWarning("tool_choice", "tool_choice", details))
    if prompt.parallel_calls is False and choice["type"] != "none":
        choice["disable_parallel_tool_use"] = True
    return choice, warnings


def _web_search(search: WebSearch | None) -> list[Json]:
    if search is None:
        return []
    tool: Json = {"type": WEB_SEARCH, "name": "web_search"}
    if search.domains:
        tool["allowed_domains"] = list(search.domains)
    elif search.blocked:
        tool["blocked_domains"] = list(search.blocked)
    if search.most is not None:
        tool["max_uses"] = search.most
    if search.location is not None:
        tool["user_location"] = {"type": "approximate", **search.location}
    return [tool]


def _sampling(sampling: Sampling, claude: ClaudeModel | None, *, thinks: bool) -> tuple[Json, list[ClientWarning]]:
    """`temperature` and `top_p`, where the model takes them."""
    wanted = {"temperature": sampling.temperature, "top_p": sampling.top_p}
    fields: Json = {name: value for name, value in wanted.items() if value is not None}
    if claude is None:
        return fields, []
    warnings: list[ClientWarning] = []
    refused = [] if claude.takes_sampling and not thinks else list(fields)
    if len(fields) > len(refused) + 1:
        refused.append("top_p")  # newer versions refuse both together
    warnings += [no_effect(name) for name in refused if fields.pop(name) != 1]  # 1 is the default of both
    if fields.get("temperature", 0) > 1:
        fields["temperature"] = 1
        details = "'temperature' was lowered to 1: this model takes no higher one."
        warnings.append(ClientWarning("temperature", "temperature", details))
    return fields, warnings


def _output_config(effort: str | None, output: OutputFormat | None) -> Json:
    config: Json = {} if effort is None else {"effort": effort}
    if isinstance(output, JsonSchema):
        described = {"description": output.description} if output.description else {}
        config["format"] = {"type": "json_schema", "schema": described | output.schema}
    return {"output_config": config} if config else {}


def _hints(hints: Hints) -> Json:
    user = hints.safety_identifier or hints.user
    tier = _TIERS.get(hints.service_tier or "")
    return ({"metadata": {"user_id": user}} if user else {}) | ({"service_tier": tier} if tier else {})


def _lost(prompt: Prompt) -> list[ClientWarning]:
    """Warnings about settings that this API does not have."""
    lost = [no_effect(name) for name in _WITHOUT_EFFECT if getattr(prompt.sampling, name) is not None]
    if prompt.sampling.logprobs and prompt.sampling.top_logprobs is None:
        lost.append(no_effect("include: message.output_text.logprobs", "logprobs"))
    if any(part.detail == "low" for part in _images(prompt)):
        lost.append(no_effect("detail: low", "detail"))
    if prompt.web_search is not None and prompt.web_search.context_size is not None:
        lost.append(no_effect("tools.search_context_size", "search_context_size"))
    if prompt.web_search is not None and prompt.web_search.domains and prompt.web_search.blocked:
        lost.append(without_effect("filters.blocked_domains"))  # Claude takes only one of the two
    if prompt.verbosity is not None:
        lost.append(no_effect("text.verbosity", "verbosity"))
    if prompt.hints.service_tier is not None and prompt.hints.service_tier not in _TIERS:
        lost.append(no_effect("service_tier"))
    return lost


def _images(prompt: Prompt) -> Iterator[Image]:
    for entry in prompt.entries:
        if isinstance(entry, User | ToolOutput):
            yield from (part for part in entry.parts if isinstance(part, Image))
