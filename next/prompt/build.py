"""Request -> prompt for one model, with a warning for everything that is not sent as posted."""

from collections.abc import Iterable, Sequence
from typing import Any

from ..prompt import limits
from ..providers.provider import HINTS
from ..tools.base import FunctionSpec
from ..tools.choice import Choice
from ..tools.table import Tools
from ..types.json import Json, as_object, given, without
from ..types.problems import Warning, Warnings
from ..types.request import LOGPROBS, OtherTool, Request, Tool
from .items import conversation
from .nouns import Assistant, Caching, Call, Entry, Model, Prompt, WebSearch
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


def without_effect(member: str) -> Warning:
    """The warning about a member of the tool that is not honoured."""
    return Warning("tools", "web_search", f"'{member[:64]}' of 'web_search' has no effect on this model's search.")


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
    functions = limits.offered(functions, model, warnings, demanded=choice.mode == "required")
    search = web_search(tools.hosted, request.max_tool_calls, warnings)
    output, instruction = limits.output_format(request, model, warnings, tools=bool(functions))
    entries = conversation(request, model, tools, state, warnings)
    parallel = limits.parallel_calls(request.parallel_tool_calls, model, warnings) if functions else None
    if not functions and (model.declares_past_tools or model.provider.needs_tools):
        functions, choice = _past_functions(entries), Choice("none")
    prompt = Prompt(
        entries=tuple(limits.instructed(entries, instruction, model)),
        functions=functions,
        choice=choice,
        parallel_calls=parallel,
        output=output,
        sampling=_sampling(request),
        effort=limits.effort(request, model, warnings),
        hints=_hints(request, model, warnings),
        verbosity=limits.verbosity(request.text.verbosity, model, warnings),
        caching=_caching(request),
        web_search=search,
    )
    return prompt, tools, warnings


def _past_functions(entries: Sequence[Entry]) -> tuple[FunctionSpec, ...]:
    """The functions that a history calls, for servers that refuse a past call of an undeclared one."""
    pieces = [piece for entry in entries if isinstance(entry, Assistant) for piece in entry.pieces]
    names = dict.fromkeys([piece.name for piece in pieces if isinstance(piece, Call)])
    return tuple([FunctionSpec(name=name, description=_PAST_TOOL) for name in names])


def _sampling(request: Request) -> dict[str, Any]:
    sampling = {name: value for name in _SAMPLING if (value := getattr(request, name)) is not None}
    if request.max_output_tokens is not None:
        sampling["max_tokens"] = request.max_output_tokens
    if request.top_logprobs or LOGPROBS in request.include:
        sampling["logprobs"] = True
    return sampling | ({"top_logprobs": request.top_logprobs} if request.top_logprobs else {})


def _hints(request: Request, model: Model, warnings: Warnings) -> dict[str, Any]:
    """Parameters that do not change the answer, and that the upstream takes. A client would miss only the tier."""
    wanted = {name: value for name in HINTS if (value := getattr(request, name)) is not None}
    taken: Json = {name: value for name, value in wanted.items() if name in model.upstream.hints}
    if "service_tier" not in taken and wanted.get("service_tier", "auto") not in {"auto", "default"}:
        warnings.add("service_tier", "service_tier", "'service_tier' has no effect on this model.")
    return taken


def _caching(request: Request) -> Caching:
    options = request.prompt_cache_options
    return Caching() if options is None else Caching(only_marked=options.mode == "explicit", ttl=options.ttl)
