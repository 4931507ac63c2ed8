"""The reasoning effort to ask a model for, in the values that it knows."""

from collections.abc import Sequence

from ..protocol.request.create_response import CreateResponse
from ..protocol.request.input_items import ConfigurationUpdateItem, InputItem
from ..protocol.warnings import ClientWarning
from ..providers.capabilities import EFFORTS, Capabilities


def asked_effort(request: CreateResponse) -> str | None:
    """The effort that the client asks for. An update in the input, as Codex sends, applies until the next one."""
    asked = None if request.reasoning is None else request.reasoning.effort
    return last_effort(request.items) or asked


def last_effort(items: Sequence[InputItem]) -> str | None:
    """The effort in the last update that has one."""
    updates = [item.reasoning for item in items if isinstance(item, ConfigurationUpdateItem)]
    return next((update.effort for update in reversed(updates) if update and update.effort), None)


def known_effort(asked: str | None, can: Capabilities, *, limit: int | None) -> tuple[str | None, list[ClientWarning]]:
    """The effort to ask for: the wanted one, or the next lower one that the model knows, or its lowest.

    `limit` is that of the whole answer, which includes reasoning for some models. None: no effort is asked for.
    """
    if asked is None:
        return None, []
    if can.reasoning is False or can.efforts == ():
        never = asked == "none"  # the model may think nevertheless
        why = ": none' has no effect: this model has no such setting" if never else "' has no effect on this model"
        return None, _warning(f"'reasoning.effort{why}.")
    known = EFFORTS if can.efforts is None else can.efforts
    costs = can.thinking_tokens or {}
    fitting = [effort for effort in known if limit is None or costs.get(effort, 0) < limit]
    if asked in fitting:
        return asked, []
    reason = "this model does not know it"
    if asked in known:
        reason = "'max_output_tokens' leaves too little room for so much thought"
    best = _nearest(asked, fitting)
    if best is None:
        return None, _warning(f"'reasoning.effort: {asked}' has no effect: {reason}.")
    verb = "raised" if EFFORTS.index(best) > EFFORTS.index(asked) else "lowered"
    return best, _warning(f"'reasoning.effort' was {verb} from '{asked}' to '{best}': {reason}.")


def _warning(details: str) -> list[ClientWarning]:
    return [ClientWarning("reasoning.effort", "reasoning.effort", details)]


def _nearest(asked: str, known: list[str]) -> str | None:
    below = [effort for effort in known if EFFORTS.index(effort) < EFFORTS.index(asked)]
    return below[-1] if below else next(iter(known), None)
