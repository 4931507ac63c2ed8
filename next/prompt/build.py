"""Request -> prompt for one model, with a warning for everything that is not sent as posted."""

from typing import Any

from ..tools.table import Tools
from ..types.problems import Warning
from ..types.request import EFFORTS, LOGPROBS, JsonObjectFormat, JsonSchemaFormat, Request
from .items import conversation
from .nouns import Model, OutputFormat, Prompt

_HINTS = (
    "metadata", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier", "user",
)  # fmt: skip
"""Parameters that do not change the answer: sent where the upstream takes them. A client would miss the tier."""


def build(request: Request, model: Model) -> tuple[Prompt, Tools, list[Warning]]:
    """The prompt for this model, the tools of its functions, and what differs from the request.

    Raises `ProblemError` where the request cannot be put to it.
    """
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
    return prompt, tools, [*tools.warnings, *warnings, *changed, *ignored]


def _output(request: Request) -> OutputFormat | None:
    form = request.text.format
    if isinstance(form, JsonSchemaFormat):
        return OutputFormat(name=form.name, schema=form.schema_, description=form.description, strict=form.strict)
    return OutputFormat() if isinstance(form, JsonObjectFormat) else None


def _sampling(request: Request) -> dict[str, Any]:
    logprobs = bool(request.top_logprobs) or LOGPROBS in request.include
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
    if "service_tier" in taken or wanted.get("service_tier", "auto") in {"auto", "default"}:
        return taken, []
    return taken, [Warning("service_tier", "service_tier", "'service_tier' has no effect on this model.")]
