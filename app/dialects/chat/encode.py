"""CreateResponse -> ChatAsk: everything a chat-completions server is asked, exactly as it would get it."""

from typing import Any, Final, NamedTuple

from app.bridges.table import BridgeTable, Choice
from app.dialects.chat.cache_marks import marked
from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.effort import known_effort
from app.dialects.chat.expansion import Expansion
from app.dialects.chat.function_tools import chosen_tools, past_tools, to_tools
from app.dialects.chat.messages import to_messages
from app.dialects.chat.response_format import instructed, to_format
from app.dialects.chat.roles import alternating, must_alternate
from app.options import HINTS
from app.prompt.conversation import Opener, to_conversation
from app.prompt.model_limits import ModelLimits
from app.protocol.problems import refuse
from app.protocol.request.create_response import CreateResponse
from app.protocol.request.input_items import ConfigurationUpdateItem
from app.protocol.request.text_format import JsonSchemaFormat
from app.protocol.request.tools import Tool
from app.protocol.warnings import ClientWarning, no_effect

SAME_NAME: Final = ("temperature", "top_p", "presence_penalty", "frequency_penalty")
UNMISSED: Final = frozenset({"metadata", "prompt_cache_retention"})
"""Hints that nobody misses: the response echoes the one, and the other changes what an answer costs, if anything."""
DEFAULT_TIERS: Final = (None, "auto", "default")


class ChatAsk(NamedTuple):
    """A chat-completions body, and what of the request it could not say as it was given."""

    body: dict[str, Any]
    warnings: list[ClientWarning]


def to_chat(
    request: CreateResponse,
    *,
    model: str,
    table: BridgeTable,
    options: ChatOptions,
    open_state: Opener | None = None,
    positions: list[int] | None = None,
) -> ChatAsk:
    """The ask. `open_state` opens what the client brings back sealed; `positions` are those of the items as posted.

    Raises `ProblemError` where the request cannot be said to a chat server.
    """
    _refuse_audio(request.raw)
    limits = ModelLimits(options)
    offered, choice = chosen_tools(table, by_name=options.named_tool_choice == "name")
    specs, warnings = limits.tools(offered, demanded=choice.mode == "required")
    form = to_format(request.text.format, options.can, tools=bool(specs))
    warnings += form.warnings
    expansion = Expansion(options.can.replaces_references)
    for spec in specs:
        expansion.of_tool(spec.parameters, f"{table.path_of(spec.name)}.parameters")
    if form.response_format and isinstance(request.text.format, JsonSchemaFormat):
        expansion.of_format(request.text.format.schema_, "text.format.schema")
    conversation = to_conversation(request, table=table, rules=options, open_state=open_state, positions=positions)
    warnings += conversation.warnings
    messages = to_messages(conversation.entries, give_back_reasoning=options.model.give_back_reasoning)
    messages = instructed(messages, form.instruction, as_user=options.model.system_messages == "as_user")
    if must_alternate(model, options.model.alternating_roles):
        messages, late = alternating(messages)
        warnings += late
    tools = to_tools(specs, choice)
    if tools:
        parallel, ignored = limits.parallel_calls(request.parallel_tool_calls)
        warnings += ignored
        if parallel is not None:
            tools["parallel_tool_calls"] = parallel
    if not tools and options.declare_past_tools:
        tools = to_tools(past_tools(messages), Choice("none"))
    effort, changed = known_effort(_effort(request), options.can, limit=request.max_output_tokens)
    warnings += changed
    warnings += [no_effect(name) for name in _lost(request, options)]
    settings, ignored = _settings(request, limits)
    warnings += ignored
    body = {
        "model": model,
        "messages": marked(messages) if options.model.cache_control == "auto" else messages,
        **tools,
        **_web_search(table.web_search),
        **({"modalities": ["image", "text"]} if options.model.image_output else {}),
        **settings,
        **({"reasoning_effort": effort} if effort else {}),
        **({"response_format": form.response_format} if form.response_format else {}),
        **_given(request, [name for name in HINTS if name in options.hints]),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    return ChatAsk(body, warnings)


def _refuse_audio(raw: dict[str, Any]) -> None:
    """Responses has no form for sound that a model makes: what it says is told as text, and nobody waits in vain."""
    for name in ("audio", "modalities", "output_modalities"):
        wanted = raw.get(name)
        if (isinstance(wanted, list) and "audio" in wanted) or (name == "audio" and wanted is not None):
            message = (
                f"'{name}' is not supported: this server tells what a model says aloud as text only. Leave it out."
            )
            raise refuse("unsupported_parameter", message, name)


def wants_logprobs(request: CreateResponse) -> bool:
    """Whether the client asks for log probabilities."""
    return bool(request.top_logprobs) or "message.output_text.logprobs" in request.include


def _lost(request: CreateResponse, options: ChatOptions) -> list[str]:
    """Hints that stay behind."""
    given = _given(request, HINTS)
    if given.get("service_tier") in DEFAULT_TIERS:
        given.pop("service_tier", None)
    return [name for name in given if name not in options.hints | UNMISSED]


def _settings(request: CreateResponse, limits: ModelLimits) -> tuple[dict[str, Any], list[ClientWarning]]:
    """What shapes the answer, under the names chat servers know. What the client did not give is not sent."""
    settings = _given(request, SAME_NAME)
    if request.max_output_tokens is not None:
        settings["max_tokens"] = request.max_output_tokens
    if wants_logprobs(request):
        settings["logprobs"] = True
    if request.top_logprobs:
        settings["top_logprobs"] = request.top_logprobs
    verbosity, warnings = limits.verbosity(request.text.verbosity)
    if verbosity is not None:
        settings["verbosity"] = verbosity
    return settings, warnings


def _effort(request: CreateResponse) -> str | None:
    """How much to think. An update in mid-conversation holds until the next; Codex sends them."""
    asked = None if request.reasoning is None else request.reasoning.effort
    updates = [item.reasoning for item in request.items if isinstance(item, ConfigurationUpdateItem)]
    return next((update.effort for update in reversed(updates) if update and update.effort), asked)


def _web_search(tool: Tool | None) -> dict[str, Any]:
    """The search that the model's own server runs, with what the client says of it."""
    if tool is None:
        return {}
    extras = tool.model_extra or {}
    options = {key: extras[key] for key in ("search_context_size",) if isinstance(extras.get(key), str)}
    if isinstance(extras.get("user_location"), dict):
        place = {key: value for key, value in extras["user_location"].items() if key != "type" and value is not None}
        options["user_location"] = {"type": "approximate", "approximate": place}
    return {"web_search_options": options}


def _given(request: CreateResponse, names: tuple[str, ...] | list[str]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(request, name)) is not None}
