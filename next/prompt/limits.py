"""What a model cannot be asked: each wish is sent, refused, or changed, which is added to `warnings`."""

from ..tools.base import FunctionSpec
from ..types.json import encode
from ..types.problems import Warnings, refuse
from ..types.request import EFFORTS, JsonObjectFormat, JsonSchemaFormat, Request, SettingsUpdate
from .nouns import Entry, Model, OutputFormat, System, Text, User

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
        warnings.add("tools", "tools", f"{message} They were left out.")
        return ()
    if model.can.strict_tools is False and any(spec.strict for spec in specs):
        details = "'strict' on tools has no effect: this model's server does not enforce schemas."
        warnings.add("tools", "strict", details)
    return specs


def parallel_calls(asked: bool | None, model: Model, warnings: Warnings) -> bool | None:
    """The value of `parallel_tool_calls` to send."""
    if model.can.parallel_calls is not False:
        return asked
    if asked is False:
        details = "'parallel_tool_calls: false' has no effect: this model has no such setting."
        warnings.add("parallel_tool_calls", "parallel_tool_calls", details)
    return None


def verbosity(asked: str | None, model: Model, warnings: Warnings) -> str | None:
    """The value of `text.verbosity` to send."""
    if asked is None or model.can.verbosity is not False:
        return asked
    warnings.add("text.verbosity", "verbosity", "'text.verbosity' has no effect on this model.")
    return None


def effort(request: Request, model: Model, warnings: Warnings) -> str | None:
    """The wanted effort, or the next lower one that the model knows, or its lowest."""
    updates = [item.reasoning for item in request.items if isinstance(item, SettingsUpdate)]  # Codex sends them
    asked = [update.effort for update in (request.reasoning, *updates) if update is not None and update.effort]
    best, why = _nearest(asked[-1], model, request.max_output_tokens) if asked else (None, "")
    if why:
        warnings.add("reasoning.effort", "reasoning.effort", f"'reasoning.effort{why}.")
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
    details = f"'text.format: {kind}' is sent to the model as an instruction: {reason}."
    warnings.add("text.format", kind, details)
    return OutputFormat() if "json_object" in enforced else None, instruction(output, tools=tools)


def instructed(entries: list[Entry], instruction: str | None, model: Model) -> list[Entry]:
    """The same entries with the instruction at the end of the first system entry, or before them all.

    At the start, its position does not change while a conversation grows.
    """
    if instruction is None:
        return entries
    if entries and isinstance(first := entries[0], System):
        return [System(f"{first.text}\n\n{instruction}"), *entries[1:]]
    as_user = model.settings.system_messages == "as_user"
    return [User((Text(instruction),)) if as_user else System(instruction), *entries]


def instruction(form: OutputFormat, *, tools: bool) -> str:
    """What the model is told of a format that no server enforces. Without a schema, any JSON object is valid."""
    lines = [_JSON_ONLY]
    if form.schema is not None:
        title = f", named '{form.name}'" + (f" ({form.description})" if form.description else "")
        lines.append(f"{_BY_SCHEMA}{title}:\n{encode(form.schema).decode()}")
    if tools:
        lines.append(_AFTER_CALLS)
    return "\n".join(lines)
