"""Fields that an upstream wants back with the next request, such as signatures of reasoning, and no output item holds.

They are read from its chunks, joined, and put on the messages and calls of the next request.

On a message:

    thinking_blocks            Anthropic's, as litellm gives them: reasoning with signatures, and redacted reasoning
    reasoning_details          OpenRouter's, of every provider behind it
    reasoning_items            reasoning items of Responses, as litellm gives them for models that it asks in that API
    provider_specific_fields   litellm's; of them `thought_signatures`, Gemini's for its text
    extra_content              Gemini's own chat endpoint

On a call: `provider_specific_fields`, `extra_content`, `thought_signature`. litellm also writes Gemini's signature
behind the call's id, which makes it longer than clients and other upstreams take: it is taken off, and laid on the
call.
"""

from collections.abc import Iterable
from typing import Any, Final

from app.prompt.sealed_state import StateForm, merged

Fields = dict[str, Any]

_LISTS: Final = ("thinking_blocks", "reasoning_details", "reasoning_items")
_OF_CALLS: Final = ("provider_specific_fields", "extra_content")
_SIGNATURE: Final = "thought_signature"
_IN_THE_ID: Final = "__thought__"
_WORDS: Final = {"thinking": "thinking", "reasoning.text": "text", "reasoning.summary": "summary"}
"""Where a piece of each type has its words; of other types every piece is whole."""


def state_of_delta(delta: Fields) -> Fields:
    """The state in this delta of a message: one piece of it, while it streams."""
    state: Fields = {}
    for name in _LISTS:
        pieces = delta.get(name)
        if isinstance(pieces, list) and (whole := [piece for piece in pieces if isinstance(piece, dict)]):
            state[name] = whole
    specific = delta.get("provider_specific_fields")
    signatures = specific.get("thought_signatures") if isinstance(specific, dict) else None
    if isinstance(signatures, list) and signatures:
        state["provider_specific_fields"] = {"thought_signatures": signatures}
    if (extra := delta.get("extra_content")) and isinstance(extra, dict):
        state["extra_content"] = extra
    return state


def thought_in_details(delta: Fields) -> str:
    """The readable reasoning in `reasoning_details`, for servers that send it nowhere else."""
    details = delta.get("reasoning_details")
    pieces = [piece for piece in details if isinstance(piece, dict)] if isinstance(details, list) else []
    words = [piece.get(_WORDS.get(str(piece.get("type")), "text")) for piece in pieces]
    return "".join([word for word in words if isinstance(word, str)])


def state_of_call(fragment: Fields) -> Fields:
    """The state in this fragment of a call."""
    state: Fields = {name: value for name in _OF_CALLS if (value := fragment.get(name)) and isinstance(value, dict)}
    if (signature := fragment.get(_SIGNATURE)) and isinstance(signature, str):
        state[_SIGNATURE] = signature
    _, _, signature = str(fragment.get("id") or "").partition(_IN_THE_ID)
    if signature:
        state["provider_specific_fields"] = {_SIGNATURE: signature} | state.get("provider_specific_fields", {})
    return state


def without_signature(call_id: str) -> str:
    """The id of a call as it was before litellm wrote a signature behind it."""
    return call_id.partition(_IN_THE_ID)[0]


def joined(pieces: Iterable[Fields]) -> Fields:
    """The state of a message, from that of its deltas.

    Reasoning without a signature stays out: it is text, and goes back as such.
    """
    fields = merged(pieces)
    for name in ("thinking_blocks", "reasoning_details"):
        if name in fields:
            fields[name] = _whole(fields[name])
    blocks = fields.get("thinking_blocks", [])
    if blocks and not any(block.get("signature") or block.get("data") for block in blocks):
        del fields["thinking_blocks"]
    return fields


def words_of(fields: Fields) -> str:
    """The reasoning text in these fields, so that it need not be sealed twice."""
    blocks = fields.get("thinking_blocks") or fields.get("reasoning_details") or []
    return "".join([str(block.get(_WORDS.get(str(block.get("type")), ""), "") or "") for block in blocks])


FORM: Final = StateForm(joined, words_of)
"""How this dialect writes provider state."""


def _whole(pieces: list[Fields]) -> list[Fields]:
    """The blocks of which these are the pieces, in their order."""
    blocks: list[_StateBlock] = []
    for piece in pieces:
        if not (blocks and blocks[-1].takes(piece)):
            blocks.append(_StateBlock(piece))
    return [block.whole() for block in blocks]


class _StateBlock:
    """A block while its pieces arrive. A signature closes it."""

    def __init__(self, piece: Fields) -> None:
        self._fields = dict(piece)
        self._words_at = at = _WORDS.get(str(piece.get("type")))
        self._words = [str(piece.get(at) or "")] if at else []

    def takes(self, piece: Fields) -> bool:
        """Whether this piece goes on here. If so, it is taken."""
        at = self._words_at
        if at is None or any(piece.get(name) != self._fields.get(name) for name in ("type", "index")):
            return False
        if piece.get("id") and self._fields.get("id") not in (None, "", piece["id"]):
            return False
        if self._fields.get("signature") and piece.get(at):
            return False
        self._words.append(str(piece.get(at) or ""))
        self._fields.update({name: value for name, value in piece.items() if value is not None})
        return True

    def whole(self) -> Fields:
        """The block as its server takes it back."""
        if self._words_at and (text := "".join(self._words)):
            self._fields[self._words_at] = text
        if self._fields.get("type") in {"thinking", "redacted_thinking"}:
            self._fields.pop("index", None)  # litellm's count: Anthropic would refuse it
        return self._fields
