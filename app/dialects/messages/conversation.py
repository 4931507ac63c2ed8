"""Converts the entries of a prompt to the system prompt and the messages of the Messages API.

Messages of the user and of the assistant alternate; one of the system may follow the user's. The outputs of calls come
first in the message after them, then what the user says. The texts, reasoning and calls of the assistant keep their
order.
"""

from collections.abc import Iterable
from itertools import takewhile
from typing import Any, Final, NamedTuple, assert_never

import msgspec

from ...prompt.nouns import (
    Assistant,
    AssistantMessage,
    Call,
    Entry,
    PastThought,
    Piece,
    ProviderState,
    System,
    ToolOutput,
    User,
)
from ...protocol.problems import refuse
from ...protocol.warnings import ClientWarning
from ..wire import ADDED
from .block_state import blocks_of
from .cited_text import put_citations_back
from .content_blocks import part_block, result_block, text_block

Json = dict[str, Any]

GO_ON: Final = "Continue."
"""What the user says where a conversation begins or ends with the assistant, which the API refuses."""


class MessageList(NamedTuple):
    """The system prompt and the messages, and what was added to them."""

    system: list[Json]
    messages: list[Json]
    warnings: list[ClientWarning]


def to_conversation(entries: Iterable[Entry], *, late_system: bool = False) -> MessageList:
    """The system prompt is made of the system entries before any other; later ones become text of the user.

    `late_system`: the model takes messages of the role `system`, if one directly follows a message of the user, and
    the assistant's follows it. So an entry before what the user says comes after it.
    """
    entries = tuple(entries)
    head = list(takewhile(lambda entry: isinstance(entry, System), entries))
    system = [text_block(entry.text) for entry in head if isinstance(entry, System)]
    messages: list[Json] = []
    waiting: list[System] = []
    for entry in entries[len(head) :]:
        if late_system and isinstance(entry, System):
            waiting.append(entry)
            continue
        if isinstance(entry, Assistant):
            _add_system(messages, waiting)
            waiting = []
        role = "assistant" if isinstance(entry, Assistant) else "user"
        blocks = _blocks(entry)
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        elif blocks:
            messages.append({"role": role, "content": blocks})
    _add_system(messages, waiting)
    _refuse_blank(messages)
    return MessageList(system, messages, _complete(messages))


def _add_system(messages: list[Json], entries: list[System]) -> None:
    """Adds these entries after the message of the user that is last; without one, as text of the user."""
    if not entries:
        return
    if messages and messages[-1]["role"] == "user":
        messages.append({"role": "system", "content": [text_block(entry.text) for entry in entries]})
    else:
        messages.append({"role": "user", "content": [block for entry in entries for block in _blocks(entry)]})


def _blocks(entry: Entry) -> list[Json]:
    match entry:
        case System():
            return [text_block(f"<system>\n{entry.text}\n</system>")]
        case User():
            return [part_block(part) for part in entry.parts]
        case Assistant():
            blocks: list[Json] = []
            for piece in entry.pieces:
                if isinstance(piece, ProviderState):
                    put_citations_back(blocks, piece.fields)
                blocks += _piece_blocks(piece)
            return blocks
        case ToolOutput():
            return [result_block(entry.call_id, entry.parts, failed=entry.failed)]
        case _:
            assert_never(entry)


def _piece_blocks(piece: Piece) -> list[Json]:
    match piece:
        case AssistantMessage():
            return [text_block(part.text) for part in piece.parts]
        case PastThought():
            return []  # the text of the state that follows it
        case ProviderState():
            return blocks_of(piece.fields)
        case Call():
            arguments = msgspec.json.decode(piece.arguments)
            return [{"type": "tool_use", "id": piece.id, "name": piece.name, "input": arguments}]
        case _:
            assert_never(piece)


def _refuse_blank(messages: list[Json]) -> None:
    """Refuses a prompt that is nothing but white space, as the API does."""
    if len(messages) == 1 and all(not block.get("text", "-").strip() for block in messages[0]["content"]):
        raise refuse("invalid_value", "'input' must not be blank: this model refuses empty text.", "input")


def _complete(messages: list[Json]) -> list[ClientWarning]:
    """Makes the user begin and end the conversation."""
    warnings: list[ClientWarning] = []
    if not messages or messages[0]["role"] == "assistant":
        messages.insert(0, {"role": "user", "content": [text_block(GO_ON)]})
        warnings.append(_added("begins"))
    if messages[-1]["role"] == "assistant":
        messages.append({"role": "user", "content": [text_block(GO_ON)]})
        warnings.append(_added("ends"))
    return warnings


def _added(where: str) -> ClientWarning:
    details = f"The user's message '{GO_ON}' was added: the API wants a conversation that {where} with the user."
    return ClientWarning("input", ADDED, details)
