"""Builds the prompt for one model from a request, with a warning for everything that is not sent as posted."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from ..bridges.base import FunctionSpec
from ..bridges.choice import Choice
from ..bridges.table import BridgeTable
from ..options import SILENT_HINTS
from ..protocol.problems import refuse
from ..protocol.request.create_response import CacheOptions, CreateResponse
from ..protocol.response import InputTransformation
from ..protocol.warnings import ClientWarning, no_effect
from .effort import asked_effort, known_effort
from .hosted_search import hosted_search
from .item_reader import to_conversation
from .model_limits import ModelLimits
from .nouns import Assistant, Caching, Call, Entry, Hints, Prompt, Sampling
from .output_format import asked_format, instructed, read_format
from .prompt_rules import PromptRules
from .sealed_state import StateForm, state_sealer

DEFAULT_TIERS: Final = (None, "auto", "default")
WEB_SEARCH: Final = "web_search"
"""How the types of web searches begin."""
PAST_TOOL: Final = "A tool of an earlier turn; it cannot be called."


class BuiltPrompt(NamedTuple):
    """A prompt, the tools of its functions, and what differs from the request."""

    prompt: Prompt
    table: BridgeTable
    warnings: list[ClientWarning]
    removed: Sequence[InputTransformation] = ()
    """Items of the input that are not in the prompt."""


def build(request: CreateResponse, *, rules: PromptRules, model: str, state_form: StateForm) -> BuiltPrompt:
    """The prompt for this model. `state_form` describes how the dialect writes provider state.

    Raises `ProblemError` where the request cannot be put to this model.
    """
    _refuse_audio(request.raw)
    table = _table(request, rules)
    warnings = [*request.warnings, *table.warnings, *table.lost]
    limits = ModelLimits(rules)
    offered, choice = table.offer(rules.named_tool_choice)
    functions, lost = limits.tools(offered, demanded=choice.mode == "required")
    warnings += lost
    web_search, lost = hosted_search(
        (tool for tool in table.hosted if tool.type.startswith(WEB_SEARCH)), request.max_tool_calls
    )
    warnings += lost
    form = read_format(asked_format(request), rules.can, tools=bool(functions))
    warnings += form.warnings
    sealer = state_sealer(rules, model, state_form)
    conversation = to_conversation(request, table, rules, None if sealer is None else sealer.open)
    warnings += conversation.warnings
    entries = instructed(conversation.entries, form.instruction, as_user=rules.model.system_messages == "as_user")
    parallel, ignored = limits.parallel_calls(request.parallel_tool_calls) if functions else (None, [])
    warnings += ignored
    if not functions and rules.declare_past_tools:
        functions, choice = _past_functions(entries), Choice("none")
    effort, changed = known_effort(asked_effort(request), rules.can, limit=request.max_output_tokens)
    warnings += changed
    hints, dropped = _hints(request, rules.hints)
    warnings += dropped
    verbosity, ignored = limits.verbosity(request.text.verbosity)
    warnings += ignored
    prompt = Prompt(
        entries=tuple(entries),
        functions=tuple(functions),
        choice=choice,
        parallel_calls=parallel,
        output=form.enforced,
        sampling=_sampling(request),
        effort=effort,
        verbosity=verbosity,
        hints=hints,
        caching=_caching(request),
        web_search=web_search,
    )
    return BuiltPrompt(prompt, table, warnings, conversation.removed)


def _table(request: CreateResponse, rules: PromptRules) -> BridgeTable:
    """The tools of a request, each with the function that carries it."""
    return BridgeTable(
        request.tools,
        request.tool_choice,
        items=request.items,
        positions=request.positions,
        hosted=partial(_is_hosted, rules),
    )


def _is_hosted(rules: PromptRules, kind: str) -> bool:
    """Whether a server runs this type of tool, or the model can do the same without it."""
    model = rules.model
    if kind == "image_generation":
        return model.image_output
    return kind.startswith(WEB_SEARCH) and model.web_search


def _refuse_audio(raw: dict[str, Any]) -> None:
    """Refuses requests for sound: the Responses API has no events or items for it."""
    for name in ("audio", "modalities", "output_modalities"):
        wanted = raw.get(name)
        if (isinstance(wanted, list) and "audio" in wanted) or (name == "audio" and wanted is not None):
            message = f"'{name}' is not supported: this server returns what a model speaks as text only. Leave it out."
            raise refuse("unsupported_parameter", message, name)


def _past_functions(entries: Sequence[Entry]) -> list[FunctionSpec]:
    """The functions that a history calls, for servers that refuse a past call of an undeclared one."""
    pieces = [piece for entry in entries if isinstance(entry, Assistant) for piece in entry.pieces]
    names = dict.fromkeys(piece.name for piece in pieces if isinstance(piece, Call))
    return [FunctionSpec(name=name, description=PAST_TOOL) for name in names]


def _sampling(request: CreateResponse) -> Sampling:
    return Sampling(
        temperature=request.temperature,
        top_p=request.top_p,
        presence_penalty=request.presence_penalty,
        frequency_penalty=request.frequency_penalty,
        max_tokens=request.max_output_tokens,
        logprobs=bool(request.top_logprobs) or "message.output_text.logprobs" in request.include,
        top_logprobs=request.top_logprobs or None,
    )


def _hints(request: CreateResponse, taken: frozenset[str]) -> tuple[Hints, list[ClientWarning]]:
    """The hints that this upstream takes, and a warning if a client would miss one of the others."""
    wanted = {name: value for name in Hints.__struct_fields__ if (value := getattr(request, name)) is not None}
    hints = Hints(**{name: value for name, value in wanted.items() if name in taken})
    if wanted.get("service_tier") in DEFAULT_TIERS:
        wanted.pop("service_tier", None)
    return hints, [no_effect(name) for name in wanted if name not in taken | SILENT_HINTS]


def _caching(request: CreateResponse) -> Caching:
    """The client's `prompt_cache_options`."""
    options = request.prompt_cache_options or CacheOptions()
    return Caching(only_marked=options.mode == "explicit", ttl=options.ttl)
