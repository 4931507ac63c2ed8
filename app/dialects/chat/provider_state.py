"""What an upstream wants back and no output item can say: found in its chunks, put together, laid on messages again.

On a message:

    thinking_blocks            Anthropic's, as litellm tells them: thoughts with their signatures, redacted ones
    reasoning_details          OpenRouter's, of every provider behind it
    reasoning_items            reasoning items of Responses, as litellm tells them of models it asks so
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


def kept_of_delta(delta: Fields) -> Fields:
    """What this delta of a message holds that is to be kept, piece by piece as it streams."""
    kept: Fields = {}
    for name in _LISTS:
        pieces = delta.get(name)
        if isinstance(pieces, list) and (whole := [piece for piece in pieces if isinstance(piece, dict)]):
            kept[name] = whole
    specific = delta.get("provider_specific_fields")
    signatures = specific.get("thought_signatures") if isinstance(specific, dict) else None
    if isinstance(signatures, list) and signatures:
        kept["provider_specific_fields"] = {"thought_signatures": signatures}
    if (extra := delta.get("extra_content")) and isinstance(extra, dict):
        kept["extra_content"] = extra
    return kept


def thought_in_details(delta: Fields) -> str:
    """The readable thought in `reasoning_details`, for servers that tell it nowhere else."""
    details = delta.get("reasoning_details")
    pieces = [piece for piece in details if isinstance(piece, dict)] if isinstance(details, list) else []
    words = [piece.get(_WORDS.get(str(piece.get("type")), "text")) for piece in pieces]
    return "".join([word for word in words if isinstance(word, str)])


def kept_of_call(fragment: Fields) -> Fields:
    """What this fragment of a call holds that is to be kept."""
    kept: Fields = {name: value for name in _OF_CALLS if (value := fragment.get(name)) and isinstance(value, dict)}
    if (signature := fragment.get(_SIGNATURE)) and isinstance(signature, str):
        kept[_SIGNATURE] = signature
    _, _, signature = str(fragment.get("id") or "").partition(_IN_THE_ID)
    if signature:
        kept["provider_specific_fields"] = {_SIGNATURE: signature} | kept.get("provider_specific_fields", {})
    return kept


def without_signature(call_id: str) -> str:
    """The id of a call as it was before litellm wrote a signature behind it."""
    return call_id.partition(_IN_THE_ID)[0]


def gathered(pieces: Iterable[Fields]) -> Fields:
    """The message's fields, put together from what was kept of its deltas.

    Thoughts that nothing vouches for stay out: they are text, and go back as such.
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
    """What these thoughts say, so that it need not be carried twice."""
    blocks = fields.get("thinking_blocks") or fields.get("reasoning_details") or []
    return "".join([str(block.get(_WORDS.get(str(block.get("type")), ""), "") or "") for block in blocks])


FORM: Final = StateForm(gathered, words_of)


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
        if self._words_at and (said := "".join(self._words)):
            self._fields[self._words_at] = said
        if self._fields.get("type") in {"thinking", "redacted_thinking"}:
            self._fields.pop("index", None)  # litellm's count: Anthropic would refuse it
        return self._fields
