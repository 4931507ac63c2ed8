"""How much to think, in the words of this model."""

from app.protocol.request.create_response import CreateResponse
from app.protocol.request.input_items import ConfigurationUpdateItem
from app.protocol.warnings import ClientWarning
from app.providers.capabilities import EFFORTS, Capabilities


def asked_effort(request: CreateResponse) -> str | None:
    """How much the client wants the model to think. An update in the input, as Codex sends, holds until the next."""
    asked = None if request.reasoning is None else request.reasoning.effort
    updates = [item.reasoning for item in request.items if isinstance(item, ConfigurationUpdateItem)]
    return next((update.effort for update in reversed(updates) if update and update.effort), asked)


def known_effort(asked: str | None, can: Capabilities, *, limit: int | None) -> tuple[str | None, list[ClientWarning]]:
    """The effort to ask for: the one that was asked, else the nearest below that the model knows, else its least.

    `limit` is that of the whole answer, into which some models' thoughts must fit. None: nothing is asked.
    """
    if asked is None:
        return None, []
    if can.reasoning is False or can.efforts == ():
        never = asked == "none"  # it may think all the same
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
