"""Request -> prompt for one model, with a warning for everything that is not sent as posted."""

from typing import Any, Final, NamedTuple

from ..tools.table import Tools
from ..types.problems import Warning, no_effect
from ..types.request import EFFORTS, JsonSchemaFormat, Request
from .items import conversation
from .model import Model
from .nouns import OutputFormat, Prompt

_HINTS: Final = (
    "metadata", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier", "user",
)  # fmt: skip
"""Parameters that do not change the answer: sent where the upstream takes them."""
_MISSED: Final = frozenset({"service_tier"})
"""Those of them that a client would miss."""
_LOGPROBS: Final = "message.output_text.logprobs"


class Built(NamedTuple):
    """A prompt, the tools of its functions, and what differs from the request."""

    prompt: Prompt
    tools: Tools
    warnings: list[Warning]


def build(request: Request, model: Model) -> Built:
    """The prompt for this model. Raises `ProblemError` where the request cannot be put to it."""
    tools = Tools(request)
    entries, warnings = conversation(request, model)
    effort, changed = _effort(request, model)
    hints, ignored = _hints(request, model)
    prompt = Prompt(
        entries=tuple(entries),
        functions=tools.specs,
        choice=tools.choice,
        parallel_calls=request.parallel_tool_calls if tools.specs else None,
        output=_output(request),
        sampling=_sampling(request),
        effort=effort,
        verbosity=request.text.verbosity,
        hints=hints,
    )
    return Built(prompt, tools, [*tools.warnings, *warnings, *changed, *ignored])


def _output(request: Request) -> OutputFormat | None:
    form = request.text.format
    if isinstance(form, JsonSchemaFormat):
        return OutputFormat(name=form.name, schema=form.schema_, description=form.description, strict=form.strict)
    return None if form is None else OutputFormat()


def _sampling(request: Request) -> dict[str, Any]:
    logprobs = bool(request.top_logprobs) or _LOGPROBS in request.include
    wanted = {
        "temperature": request.temperature,
        "top_p": request.top_p,
        "presence_penalty": request.presence_penalty,
        "frequency_penalty": request.frequency_penalty,
        "max_tokens": request.max_output_tokens,
        "logprobs": logprobs or None,
        "top_logprobs": request.top_logprobs or None,
    }
    return {name: value for name, value in wanted.items() if value is not None}


def _effort(request: Request, model: Model) -> tuple[str | None, list[Warning]]:
    """The wanted effort, or the next lower one that the model knows, or its lowest."""
    asked = None if request.reasoning is None else request.reasoning.effort
    known = model.settings.reasoning_efforts
    if asked is None or not known or asked in known:
        return asked, []
    rank = EFFORTS.index(asked)
    lower = [effort for effort in known if effort in EFFORTS and EFFORTS.index(effort) < rank]
    best = lower[-1] if lower else known[0]
    verb = "lowered" if lower else "raised"
    details = f"'reasoning.effort' was {verb} from '{asked}' to '{best}': this model does not know it."
    return best, [Warning("reasoning.effort", "reasoning.effort", details)]


def _hints(request: Request, model: Model) -> tuple[dict[str, Any], list[Warning]]:
    wanted = {name: value for name in _HINTS if (value := getattr(request, name)) is not None}
    taken = {name: value for name, value in wanted.items() if name in (model.upstream.hints or ())}
    lost = [name for name in wanted if name not in taken and name in _MISSED]
    if wanted.get("service_tier") in {"auto", "default"}:
        lost = [name for name in lost if name != "service_tier"]
    return taken, [no_effect(name) for name in lost]
