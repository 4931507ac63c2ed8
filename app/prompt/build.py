"""Request -> prompt for one model: what it cannot be asked is refused, or changed with a warning."""

from collections.abc import Iterable, Sequence
from typing import Any

from ..providers.provider import HINTS
from ..tools.base import FunctionSpec
from ..tools.choice import Choice
from ..tools.table import Tools
from ..types.json import Json, as_object, encode, given, without
from ..types.problems import Warnings, refuse
from ..types.request import (
    EFFORTS,
    LOGPROBS,
    JsonObjectFormat,
    JsonSchemaFormat,
    OtherTool,
    Request,
    SettingsUpdate,
    Tool,
)
from .items import conversation
from .nouns import Assistant, Caching, Call, Entry, Model, OutputFormat, Prompt, System, Text, User, WebSearch
from .state import State

_MEMBERS = frozenset({"type", "filters", "search_context_size", "user_location", "external_web_access"})
"""No server is told of `external_web_access`, which Codex sends with each request."""
_FILTERS = frozenset({"allowed_domains", "blocked_domains"})


def web_search(hosted: Iterable[Tool], most: int | None, warnings: Warnings) -> WebSearch | None:
    """The first search among these tools. `most`: `max_tool_calls`. `warnings` gets members without effect."""
    searches = [tool.members for tool in hosted if isinstance(tool, OtherTool) and tool.type.startswith("web_search")]
    if not searches:
        return None
    tool = searches[0]
    size, location, filters = (tool.get(name) for name in ("search_context_size", "user_location", "filters"))
    filters = as_object(filters)
    place = without(given(location), "type") if isinstance(location, dict) else None
    lost = [name for name, value in tool.items() if name not in _MEMBERS and value not in (None, ["text"])]
    lost += [f"filters.{name}" for name, value in filters.items() if name not in _FILTERS and value]
    warnings += [without_effect(name) for name in lost]
    return WebSearch(
        context_size=size if isinstance(size, str) else None,
        domains=_names(filters.get("allowed_domains")),
        blocked=_names(filters.get("blocked_domains")),
        most=most,
        location=place,
    )


def without_effect(member: str) -> str:
    """The warning about a member of the tool that is not honoured."""
    return f"'{member[:64]}' of 'web_search' has no effect on this model's search."


def _names(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


_SAMPLING = ("temperature", "top_p", "presence_penalty", "frequency_penalty")
_PAST_TOOL = "A tool of an earlier turn; it cannot be called."


def build(request: Request, model: Model, state: State | None = None) -> tuple[Prompt, Tools, Warnings]:
    """The prompt for this model, the tools of its functions, and what differs from the request.

    Raises `ProblemError` where the request cannot be put to it. `state` opens provider state; None: it stays sealed.
    """
    searches, draws = model.settings.web_search, model.settings.image_output
    tools = Tools(request, ("web_search",) * searches + ("image_generation",) * draws)
    warnings = tools.warnings
    functions, choice = tools.specs, tools.choice
    if choice.mode == "required" and model.upstream.named_tool_choice == "required":  # it takes no name
        functions, choice = tuple([spec for spec in functions if tools.allows(spec.name)]), Choice("required")
    functions = offered(functions, model, warnings, demanded=choice.mode == "required")
    search = web_search(tools.hosted, request.max_tool_calls, warnings)
    output, told = output_format(request, model, warnings, tools=bool(functions))
    entries = conversation(request, model, tools, state, warnings)
    parallel = parallel_calls(request.parallel_tool_calls, model, warnings) if functions else None
    if not functions and (model.declares_past_tools or model.provider.needs_tools):
        functions, choice = _past_functions(entries), Choice("none")
    prompt = Prompt(
        entries=tuple(instructed(entries, told, model)),
        functions=functions,
        choice=choice,
        parallel_calls=parallel,
        output=output,
        sampling=_sampling(request),
        effort=effort(request, model, warnings),
        hints=_hints(request, model, warnings),
        verbosity=verbosity(request.text.verbosity, model, warnings),
        caching=_caching(request),
        web_search=search,
    )
    return prompt, tools, warnings


def _past_functions(entries: Sequence[Entry]) -> tuple[FunctionSpec, ...]:
    """The functions that a history calls, for servers that refuse a past call of an undeclared one."""
    pieces = [piece for entry in entries if isinstance(entry, Assistant) for piece in entry.pieces]
    names = dict.fromkeys([piece.name for piece in pieces if isinstance(piece, Call)])
    return tuple([FunctionSpec(name=name, description=_PAST_TOOL) for name in names])


def _sampling(request: Request) -> Json:
    return given(
        {
            **{name: getattr(request, name) for name in _SAMPLING},
            "max_tokens": request.max_output_tokens,
            "logprobs": True if request.top_logprobs or LOGPROBS in request.include else None,
            "top_logprobs": request.top_logprobs or None,
        }
    )


def _hints(request: Request, model: Model, warnings: Warnings) -> Json:
    """Parameters that do not change the answer, and that the upstream takes. A client would miss only the tier."""
    wanted = {name: value for name in HINTS if (value := getattr(request, name)) is not None}
    taken: Json = {name: value for name, value in wanted.items() if name in model.upstream.hints}
    if "service_tier" not in taken and wanted.get("service_tier", "auto") not in {"auto", "default"}:
        warnings.append("'service_tier' has no effect on this model.")
    return taken


def _caching(request: Request) -> Caching:
    options = request.prompt_cache_options
    return Caching() if options is None else Caching(only_marked=options.mode == "explicit", ttl=options.ttl)


_JSON_ONLY = "Answer with one JSON object and nothing else: no words before or after it, no code fence."
_BY_SCHEMA = "It must be valid by this JSON schema"
_AFTER_CALLS = "This is about your final answer; calls of tools are made as usual."


def offered(
    specs: tuple[FunctionSpec, ...], model: Model, warnings: Warnings, *, demanded: bool
) -> tuple[FunctionSpec, ...]:
    """The functions that may be offered. `demanded`: the client demands a call."""
    if not specs:
        return specs
    if model.can.tools is False:
        message = "This model cannot call tools."
        if demanded or not model.server.lenient:
            raise refuse("unsupported_value", message, "tool_choice" if demanded else "tools")
        warnings.append(f"{message} They were left out.")
        return ()
    if model.can.strict_tools is False and any(spec.strict for spec in specs):
        warnings.append("'strict' on tools has no effect: this model's server does not enforce schemas.")
    return specs


def parallel_calls(asked: bool | None, model: Model, warnings: Warnings) -> bool | None:
    """The value of `parallel_tool_calls` to send."""
    if model.can.parallel_calls is not False:
        return asked
    if asked is False:
        warnings.append("'parallel_tool_calls: false' has no effect: this model has no such setting.")
    return None


def verbosity(asked: str | None, model: Model, warnings: Warnings) -> str | None:
    """The value of `text.verbosity` to send."""
    if asked is None or model.can.verbosity is not False:
        return asked
    warnings.append("'text.verbosity' has no effect on this model.")
    return None


def effort(request: Request, model: Model, warnings: Warnings) -> str | None:
    """The wanted effort, or the next lower one that the model knows, or its lowest."""
    updates = [item.reasoning for item in request.items if isinstance(item, SettingsUpdate)]  # Codex sends them
    asked = [update.effort for update in (request.reasoning, *updates) if update is not None and update.effort]
    best, why = _nearest(asked[-1], model, request.max_output_tokens) if asked else (None, "")
    if why:
        warnings.append(f"'reasoning.effort{why}.")
    return best


def _nearest(wanted: str, model: Model, limit: int | None) -> tuple[str | None, str]:
    """The effort to ask for, and what differs. `limit`: of the whole answer, which includes thought of some models."""
    if model.can.reasoning is False and wanted == "none":  # the model may think nevertheless
        return None, ": none' has no effect: this model has no such setting"
    if model.can.reasoning is False:
        return None, "' has no effect on this model"
    efforts = model.settings.reasoning_efforts or model.provider.efforts or EFFORTS
    known = [each for each in EFFORTS if each in efforts]
    fitting = [each for each in known if limit is None or model.thinking_tokens.get(each, 0) < limit]
    if wanted in fitting:
        return wanted, ""
    reason = "this model does not know it"
    if wanted in known:
        reason = "'max_output_tokens' leaves too little room for so much thought"
    if not fitting:
        return None, f": {wanted}' has no effect: {reason}"
    lower = [each for each in fitting if EFFORTS.index(each) < EFFORTS.index(wanted)]
    best = lower[-1] if lower else fitting[0]
    return best, f"' was {'lowered' if lower else 'raised'} from '{wanted}' to '{best}': {reason}"


def output_format(
    request: Request, model: Model, warnings: Warnings, *, tools: bool
) -> tuple[OutputFormat | None, str | None]:
    """The format that the model's server enforces, and the instruction instead of it or in addition to it.

    The same format always gives the same text, so that prompt caches hit.
    """
    updates = [item.text for item in request.items if isinstance(item, SettingsUpdate)]
    form = [each.format for each in (request.text, *updates) if each is not None and each.format is not None]
    if not form or not isinstance(wanted := form[-1], JsonObjectFormat | JsonSchemaFormat):
        return None, None
    kind, output = "json_object", OutputFormat()
    if isinstance(wanted, JsonSchemaFormat):
        kind = "json_schema"
        output = OutputFormat(
            name=wanted.name, schema=wanted.schema_, description=wanted.description, strict=wanted.strict
        )
    enforced = model.can.structured_output
    if enforced is None or kind in enforced:
        return output, None
    reason = "its server does not enforce it in a request with tools" if tools else "its server does not enforce it"
    warnings.append(f"'text.format: {kind}' is sent to the model as an instruction: {reason}.")
    return OutputFormat() if "json_object" in enforced else None, instruction(output, tools=tools)


def instructed(entries: list[Entry], told: str | None, model: Model) -> list[Entry]:
    """The same entries with this instruction at the end of the first system entry, or before them all.

    At the start, its position does not change while a conversation grows.
    """
    if told is None:
        return entries
    if entries and isinstance(first := entries[0], System):
        return [System(f"{first.text}\n\n{told}"), *entries[1:]]
    as_user = model.settings.system_messages == "as_user"
    return [User((Text(told),)) if as_user else System(told), *entries]


def instruction(form: OutputFormat, *, tools: bool) -> str:
    """What the model is told of a format that no server enforces. Without a schema, any JSON object is valid."""
    lines = [_JSON_ONLY]
    if form.schema is not None:
        title = f", named '{form.name}'" + (f" ({form.description})" if form.description else "")
        lines.append(f"{_BY_SCHEMA}{title}:\n{encode(form.schema).decode()}")
    if tools:
        lines.append(_AFTER_CALLS)
    return "\n".join(lines)
