"""Provider state: fields that an upstream must get back with the next request, such as signatures of reasoning.

No output item has a field for them. They are read from the chunks, joined, and added to the messages and calls of the
next request.

On a message:

    thinking_blocks            Anthropic's, as litellm gives them: reasoning with signatures, and redacted reasoning
    reasoning_details          OpenRouter's, of every provider behind it
    reasoning_items            reasoning items of Responses, as litellm gives them for models that it calls by that API
    provider_specific_fields   litellm's; only `thought_signatures` is used, Gemini's for its text
    extra_content              Gemini's own chat endpoint

On a call: `provider_specific_fields`, `extra_content`, `thought_signature`. litellm also appends Gemini's
signature to the call's id, which makes the id longer than clients and other upstreams accept: it is removed from the id
and added to the call.
"""

from collections.abc import Iterable
from typing import Any, Final

from ...prompt.sealed_state import StateForm, merged

Fields = dict[str, Any]

_LISTS: Final = ("thinking_blocks", "reasoning_details", "reasoning_items")
_OF_CALLS: Final = ("provider_specific_fields", "extra_content")
_SIGNATURE: Final = "thought_signature"
_IN_THE_ID: Final = "__thought__"
_TEXT_KEYS: Final = {"thinking": "thinking", "reasoning.text": "text", "reasoning.summary": "summary"}
"""The key of the text in a piece of each type. Pieces of other types are complete."""


def state_of_delta(delta: Fields) -> Fields:
    """The state in this delta of a message: one piece of it, while it streams."""
    state: Fields = {}
    for name in _LISTS:
        pieces = delta.get(name)
        if isinstance(pieces, list) and (objects := [piece for piece in pieces if isinstance(piece, dict)]):
            state[name] = objects
    specific = delta.get("provider_specific_fields")
    signatures = specific.get("thought_signatures") if isinstance(specific, dict) else None
    if isinstance(signatures, list) and signatures:
        state["provider_specific_fields"] = {"thought_signatures": signatures}
    if (extra := delta.get("extra_content")) and isinstance(extra, dict):
        state["extra_content"] = extra
    return state


def reasoning_in_details(delta: Fields) -> str:
    """The readable reasoning in `reasoning_details`, for servers that send it nowhere else."""
    details = delta.get("reasoning_details")
    pieces = [piece for piece in details if isinstance(piece, dict)] if isinstance(details, list) else []
    texts = [piece.get(_TEXT_KEYS.get(str(piece.get("type")), "text")) for piece in pieces]
    return "".join([text for text in texts if isinstance(text, str)])


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
    """The id of a call as it was before litellm appended a signature."""
    return call_id.partition(_IN_THE_ID)[0]


def joined(pieces: Iterable[Fields]) -> Fields:
    """The state of a message, joined from the state of its deltas.

    Reasoning without a signature is left out: it is sent back as plain text.
    """
    fields = merged(pieces)
    for name in ("thinking_blocks", "reasoning_details"):
        if name in fields:
            fields[name] = _joined_blocks(fields[name])
    blocks = fields.get("thinking_blocks", [])
    if blocks and not any(block.get("signature") or block.get("data") for block in blocks):
        del fields["thinking_blocks"]
    return fields


def words_of(fields: Fields) -> str:
    """The reasoning text in these fields, so that it need not be sealed twice."""
    blocks = fields.get("thinking_blocks") or fields.get("reasoning_details") or []
    return "".join([str(block.get(_TEXT_KEYS.get(str(block.get("type")), ""), "") or "") for block in blocks])


FORM: Final = StateForm(joined, words_of)
"""How this dialect writes provider state."""


def _joined_blocks(pieces: list[Fields]) -> list[Fields]:
    """The blocks that these pieces make, in their order."""
    blocks: list[_StateBlock] = []
    for piece in pieces:
        if not (blocks and blocks[-1].add(piece)):
            blocks.append(_StateBlock(piece))
    return [block.fields() for block in blocks]


class _StateBlock:
    """A block while its pieces are joined. No text follows its signature."""

    def __init__(self, piece: Fields) -> None:
        self._fields = dict(piece)
        self._text_key = key = _TEXT_KEYS.get(str(piece.get("type")))
        self._texts = [str(piece.get(key) or "")] if key else []

    def add(self, piece: Fields) -> bool:
        """Adds the piece if it continues this block. Returns whether it does."""
        key = self._text_key
        if key is None or any(piece.get(name) != self._fields.get(name) for name in ("type", "index")):
            return False
        if piece.get("id") and self._fields.get("id") not in (None, "", piece["id"]):
            return False
        if self._fields.get("signature") and piece.get(key):
            return False
        self._texts.append(str(piece.get(key) or ""))
        self._fields.update({name: value for name, value in piece.items() if value is not None})
        return True

    def fields(self) -> Fields:
        """The block as its server accepts it."""
        if self._text_key and (text := "".join(self._texts)):
            self._fields[self._text_key] = text
        if self._fields.get("type") in {"thinking", "redacted_thinking"}:
            self._fields.pop("index", None)  # litellm's count: Anthropic would refuse it
        return self._fields
