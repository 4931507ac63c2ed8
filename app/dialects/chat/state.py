"""Provider state in chat completions: fields that an upstream must get back, such as signatures of reasoning.

On a message:

    thinking_blocks            Anthropic's, as litellm gives them: reasoning with signatures, and redacted reasoning
    reasoning_details          OpenRouter's, of every provider behind it
    reasoning_items            reasoning items of Responses, as litellm gives them for models that it calls by that API
    provider_specific_fields   litellm's; only `thought_signatures` is used, Gemini's for its text
    extra_content              Gemini's own chat endpoint

On a call: `provider_specific_fields`, `extra_content`, `thought_signature`. litellm also appends Gemini's signature to
the call's id, which makes the id longer than clients and other upstreams accept: it is removed from the id and added to
the call.
"""

from collections.abc import Iterable

from ...prompt.state import StateForm, merged
from ...types.json import Json, as_object, as_text, given, objects

_LISTS = ("thinking_blocks", "reasoning_details", "reasoning_items")
_OF_CALLS = ("provider_specific_fields", "extra_content")
_SIGNATURE = "thought_signature"
_IN_THE_ID = "__thought__"
_TEXT_KEYS = {"thinking": "thinking", "reasoning.text": "text", "reasoning.summary": "summary"}
"""The key of the text in a block of each type. Blocks of other types are complete."""


def state_of_delta(delta: Json) -> Json:
    """The state in this delta of a message: one piece of it, while it streams."""
    state: Json = {name: pieces for name in _LISTS if (pieces := objects(delta.get(name)))}
    signatures = as_object(delta.get("provider_specific_fields")).get("thought_signatures")
    if isinstance(signatures, list) and signatures:
        state["provider_specific_fields"] = {"thought_signatures": signatures}
    if extra := as_object(delta.get("extra_content")):
        state["extra_content"] = extra
    return state


def state_of_call(fragment: Json) -> Json:
    """The state in this fragment of a call."""
    state: Json = {name: value for name in _OF_CALLS if (value := as_object(fragment.get(name)))}
    if signature := as_text(fragment.get(_SIGNATURE)):
        state[_SIGNATURE] = signature
    if signature := str(fragment.get("id") or "").partition(_IN_THE_ID)[2]:
        state["provider_specific_fields"] = {_SIGNATURE: signature} | state.get("provider_specific_fields", {})
    return state


def without_signature(call_id: str) -> str:
    """The id of a call as it was before litellm appended a signature."""
    return call_id.partition(_IN_THE_ID)[0]


def reasoning_in_details(delta: Json) -> str:
    """The readable reasoning in `reasoning_details`, for servers that send it nowhere else."""
    pieces = objects(delta.get("reasoning_details"))
    return "".join([as_text(piece.get(_TEXT_KEYS.get(str(piece.get("type")), "text"))) for piece in pieces])


def _joined(pieces: Iterable[Json]) -> Json:
    """The state of a message. Reasoning without a signature is left out: it is sent back as plain text."""
    fields = merged(pieces)
    for name in ("thinking_blocks", "reasoning_details"):
        if name in fields:
            fields[name] = _blocks(fields[name])
    blocks = fields.get("thinking_blocks", [])
    if blocks and not any(block.get("signature") or block.get("data") for block in blocks):
        del fields["thinking_blocks"]
    return fields


def _words_of(fields: Json) -> str:
    blocks = fields.get("thinking_blocks") or fields.get("reasoning_details") or []
    return "".join([str(block.get(_TEXT_KEYS.get(str(block.get("type")), ""), "") or "") for block in blocks])


FORM = StateForm(_joined, _words_of)
"""How this dialect writes provider state."""


def _blocks(pieces: list[Json]) -> list[Json]:
    """The blocks that these pieces make, as their server accepts them."""
    blocks: list[Json] = []
    texts: list[list[str]] = []
    for piece in pieces:
        key = _TEXT_KEYS.get(str(piece.get("type")), "")
        if blocks and key and _continues(blocks[-1], piece, key):
            blocks[-1] |= given(piece)
        else:
            blocks.append(dict(piece))
            texts.append([])
        texts[-1].append(str(piece.get(key) or "") if key else "")
    for block, written in zip(blocks, texts, strict=True):
        if text := "".join(written):
            block[_TEXT_KEYS[block["type"]]] = text
        if str(block.get("type")) in {"thinking", "redacted_thinking"}:
            block.pop("index", None)  # litellm's count: Anthropic would refuse it
    return blocks


def _continues(block: Json, piece: Json, key: str) -> bool:
    """Whether the piece continues this block. No text follows its signature."""
    if any(piece.get(name) != block.get(name) for name in ("type", "index")):
        return False
    is_another = piece.get("id") and block.get("id") not in (None, "", piece["id"])
    return not is_another and not (block.get("signature") and piece.get(key))
