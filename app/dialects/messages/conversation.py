"""Entries of a prompt -> the system prompt and the messages of the Messages API.

Messages of the user and of the assistant alternate; a later system entry is text of the user. The outputs of calls come
first in the message after them, then what the user says. The texts, reasoning and calls of the assistant keep their
order.
"""

from base64 import b64decode
from collections.abc import Iterable

from ...fetching.media_types import sniffed_base64
from ...fetching.policy import is_data_uri
from ...prompt import nouns as n
from ...prompt.history import EMPTY_OUTPUT
from ...types.json import Json, decode
from ...types.problems import Warnings, refuse
from ..cache_marks import MARKED, ends_to_mark
from .blocks import blocks_of

_GO_ON = "Continue."
"""What the user says where a conversation begins or ends with the assistant, which the API refuses."""
_TEXTS = ("text/", "application/json", "application/xml")
"""How the media types of files begin that are sent as text: the API takes only PDF as data."""


def conversation(entries: Iterable[n.Entry], warnings: Warnings) -> tuple[list[Json], list[Json]]:
    """The system prompt, made of the system entries before any other, and the messages."""
    system: list[Json] = []
    messages: list[Json] = []
    for entry in entries:
        if isinstance(entry, n.System) and not messages:
            system.append(_text(entry.text))
            continue
        role, blocks = "assistant" if isinstance(entry, n.Assistant) else "user", _blocks(entry)
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        elif blocks:
            messages.append({"role": role, "content": blocks})
    if len(messages) == 1 and all(not block.get("text", "-").strip() for block in messages[0]["content"]):
        raise refuse("invalid_value", "'input' must not be blank: this model refuses empty text.", "input")
    for at, where in ((0, "begins"), (-1, "ends")):
        if not messages or messages[at]["role"] == "assistant":
            messages.insert(len(messages) if at else 0, {"role": "user", "content": [_text(_GO_ON)]})
            told = f"The user's message '{_GO_ON}' was added: the API wants a conversation that {where} with the user."
            warnings.append(told)
    return system, messages


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _blocks(entry: n.Entry) -> list[Json]:
    match entry:
        case n.System():
            return [_text(f"<system>\n{entry.text}\n</system>")]
        case n.User():
            return [{**_part(part), MARKED: True} if part.ends_cached else _part(part) for part in entry.parts]
        case n.Assistant():
            return [block for piece in entry.pieces for block in _piece(piece)]
        case n.ToolOutput():
            content = [_part(part) for part in entry.parts] or [_text(EMPTY_OUTPUT)]
            block: Json = {"type": "tool_result", "tool_use_id": entry.call_id, "content": content}
            if entry.failed and not n.media_of(entry.parts):  # servers refuse an error that is not text alone
                block["is_error"] = True
            return [{**block, MARKED: True} if any(part.ends_cached for part in entry.parts) else block]


def _piece(piece: n.Piece) -> list[Json]:
    match piece:
        case n.AssistantMessage():
            return [_text(part.text) for part in piece.parts]
        case n.ProviderState():
            return blocks_of(piece.fields)
        case n.Call():
            return [{"type": "tool_use", "id": piece.id, "name": piece.name, "input": decode(piece.arguments)}]
        case _:
            return []  # reasoning: it is in the state that follows it


def _part(part: n.Part) -> Json:
    match part:
        case n.Text():
            return _text(part.text)
        case n.Image():
            return {"type": "image", "source": _source(part.url, "image/png")}
        case n.File():
            return {"type": "document", "source": _document(part.url), "title": part.name}
        case _:
            return _text("[A recording was left out here: this model cannot hear audio.]")


def _source(url: str, otherwise: str) -> Json:
    if not is_data_uri(url):
        return {"type": "url", "url": url}
    head, _, data = url.partition(",")
    declared = head[5:].partition(";")[0].lower()
    return {"type": "base64", "media_type": sniffed_base64(data) or declared or otherwise, "data": data}


def _document(url: str) -> Json:
    source = _source(url, "application/pdf")
    if source.get("media_type", "").startswith(_TEXTS):
        try:
            return {"type": "text", "media_type": "text/plain", "data": b64decode(source["data"]).decode()}
        except ValueError:  # no base64, or no UTF-8: the server says what is wrong with it
            pass
    return source


def mark_to_cache(
    tools: list[Json], system: list[Json], messages: list[Json], mark: Json | None, *, automatic: bool
) -> None:
    """Puts the mark on the blocks up to which the prompt is cached. `automatic`: not only where the client did."""
    rows = [*[message["content"] for message in messages], system, tools]
    of_client = [(row, at) for row, held in enumerate(rows) for at, each in enumerate(held) if each.pop(MARKED, 0)]
    if mark is None:
        return
    ends = [(row, len(content) - 1) for row, content in enumerate(rows) if content]
    users = [end for end in ends[: len(messages)] if messages[end[0]]["role"] == "user"]
    for row, at in ends_to_mark(of_client, users, ends[len(messages) :], automatic=automatic):
        rows[row][at] = {**rows[row][at], MARKED: mark}
