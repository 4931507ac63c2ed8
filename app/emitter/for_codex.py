"""What Codex gets differently from every other client, in the emitter and in the relay.

Codex discards an answer that ends with `response.incomplete`, reads no status of a call and would run half a script,
and shows nothing of a message with a `refusal` part. So an incomplete answer ends with `response.completed`, with
a response inside whose status is `incomplete`; where a limit cut a call, the response fails; and a refusal is text.
"""

from collections.abc import Mapping
from typing import Any, Final

from ..protocol.events import ResponseCompleted
from .rules import ANY_CLIENT, CUT_IN_A_CALL, ClientRules, EndingRule, ItemKind, Reason

Json = dict[str, Any]

_REFUSAL: Final = "response.refusal."
_TEXT: Final = "response.output_text."


def _for_codex(rule: EndingRule) -> EndingRule:
    if rule.status != "incomplete" or rule.by_client:  # it knows the end that it asked for
        return rule
    return rule._replace(event=ResponseCompleted, items={**rule.items, ItemKind.NEWEST_CALL: CUT_IN_A_CALL})


ENDINGS_FOR_CODEX: Final[Mapping[Reason, EndingRule]] = {
    reason: _for_codex(rule) for reason, rule in ANY_CLIENT.endings.items()
}
CODEX: Final = ClientRules(ENDINGS_FOR_CODEX, shows_refusals=False)


def client_rules(*, for_codex: bool) -> ClientRules:
    """The rules for this client."""
    return CODEX if for_codex else ANY_CLIENT


def refusals_as_text(name: str, event: Json) -> str:
    """Changes a relayed event where it is about a refusal, and returns its name."""
    if name.startswith(_REFUSAL):
        name = event["type"] = _TEXT + name.removeprefix(_REFUSAL)
        if "refusal" in event:
            event["text"] = event.pop("refusal")
        event["logprobs"] = []
    if "part" in event:
        event["part"] = _part(event["part"])
    if "item" in event:
        event["item"] = _item(event["item"])
    response = event.get("response")
    if isinstance(response, dict) and isinstance(response.get("output"), list):
        event["response"] = {**response, "output": [_item(item) for item in response["output"]]}
    return name


def _item(item: Any) -> Any:
    if not isinstance(item, dict) or not isinstance(item.get("content"), list):
        return item
    return {**item, "content": [_part(part) for part in item["content"]]}


def _part(part: Any) -> Any:
    if not isinstance(part, dict) or part.get("type") != "refusal":
        return part
    return {"type": "output_text", "text": part.get("refusal"), "annotations": []}
