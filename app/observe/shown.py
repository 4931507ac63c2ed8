"""A turn as JSON for people: what the inspector shows of it, and what `--record` writes."""

import asyncio
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Semaphore
from typing import Any, NamedTuple

import msgspec

from ..types.json import Json, as_object, as_text, decode, encode, objects, without
from ..types.redact import redacted, redacted_text
from ..upstreams.port import AskRecord
from .log import log
from .record import Kept

_WORDS = 160
"""Characters of what was said in a row of the list."""
_CALLS = 8
"""Names of called tools there."""
_WAITING = 64
"""Turns that wait to be written. Where a disk is slower than that, turns are left out."""
_LEFT_OUT = "… (not JSON)"
_LOOSE = ("annotations", "id", "logprobs", "phase", "status")
"""Members of an item that clients leave out or change when they send it back."""
_encoded = msgspec.json.Encoder(order="deterministic").encode


class Facts(NamedTuple):
    """What the list and the conversations need of a turn: found out once, when somebody looks."""

    items: list[int]
    """A number for each item of the input; 0 for one that clients may leave out."""
    output: list[int]
    """The same of the answer."""
    has_answers: bool
    """Whether the input has something that a model said."""
    response_id: str
    previous: str
    """The response that a websocket has put before the input."""
    name: str
    """What the client calls the conversation, if it does."""
    said: str
    answered: str
    calls: list[str]


def facts_of(kept: Kept) -> Facts:
    """The facts of a turn. Those of one that runs are not kept: it may end meanwhile."""
    if kept.runs:
        return _facts(request_of(kept), {})
    if kept.facts is None:
        kept.facts = _facts(request_of(kept), told(kept)[1])
    return kept.facts


def _facts(request: Json, response: Json) -> Facts:
    items, output = items_of(request.get("input")), items_of(response.get("output"))
    said = " ".join(map(text_of, items[-1:]))
    answered = " ".join([text_of(item) for item in output if _kind(item) == "message"])
    calls = [str(item.get("name") or item["type"]) for item in output if _kind(item).endswith("_call")]
    return Facts(
        [_number(item) for item in items],
        [_number(item) for item in output],
        any(item.get("role") == "assistant" or _kind(item).endswith("_call") for item in items),
        as_text(response.get("id")),
        as_text(request.get("previous_response_id")),
        as_text(request.get("prompt_cache_key")),
        _brief(said),
        _brief(answered),
        calls,
    )


def request_of(kept: Kept) -> Json:
    """What was posted; empty if it is no JSON object."""
    return as_object(decode(kept.body))


def told(kept: Kept) -> tuple[list[tuple[float, Json]], Json]:
    """What the client got: the events with their times, and the response, as far as they were sent."""
    events: list[tuple[float, Json]] = []
    response: Json = {}
    for at, piece in list(kept.sent):
        for line in piece.split(b"\n"):
            value = decode(line.removeprefix(b"data: ")) if line.startswith((b"data: {", b"{")) else None
            if isinstance(value, dict) and "sequence_number" in value:
                events.append((at, value))
                response = as_object(value.get("response")) or response
            elif isinstance(value, dict):
                response = value
    return events, response


def items_of(value: Any) -> list[Json]:
    """The items of an input or an output."""
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": value}]
    return objects(value)


def text_of(item: Json) -> str:
    """The words of an item, or what a tool gave back."""
    content = item.get("content", item.get("output"))
    if isinstance(content, str):
        return content
    texts = [part.get("text") or part.get("refusal") for part in items_of(content)]
    return " ".join([text for text in texts if isinstance(text, str)])


def row(kept: Kept) -> Json:
    """A row of the list: the line in the log, and what it was about."""
    facts = facts_of(kept)
    return {
        **without(kept.fields, "cause", "warnings"),
        "number": kept.number,
        "began": round(kept.began, 3),
        "state": "running" if kept.runs else "ended",
        "model": kept.fields.get("model", ""),
        "said": facts.said,
        "answered": facts.answered,
        "calls": facts.calls[:_CALLS],
        "asks": len(kept.asks),
    }


def shown(kept: Kept, *, may_know: bool, pictures: bool = False) -> Json:
    """All about a turn. `may_know`: whoever sees it runs this server, and is told causes, which have addresses."""
    events, response = told(kept)
    request = decode(kept.body)
    fields = kept.fields if may_know else without(kept.fields, "cause")
    return {
        "row": row(kept),
        "fields": fields,
        "request": _LEFT_OUT if request is None else redacted(request, pictures=pictures),
        "asks": [_ask(ask, kept, may_know=may_know) for ask in list(kept.asks)],
        "events": [{"at": _ms(at, kept), "event": redacted(event)} for at, event in events],
        "response": redacted(response) or None,
        "problem": None if kept.problem is None else redacted({"status": kept.problem.status, **kept.problem.body()}),
    }


def _ask(ask: AskRecord, kept: Kept, *, may_know: bool) -> Json:
    is_told = may_know or ask.problem is None  # in a refusal some servers repeat the key that they were sent
    pieces = list(ask.pieces) if is_told else []
    times = [at for at, _ in pieces]
    data = b"".join([piece for _, piece in pieces])
    ended = ask.ended or (times[-1] if times else None)
    return {
        "upstream": ask.upstream,
        "model": redacted_text(ask.model),
        "at": _ms(ask.began, kept),
        "first": _ms(times[0], kept) if times and ask.problem is None else None,
        "end": None if ended is None else _ms(ended, kept),
        "status": ask.status,
        "error": None if ask.problem is None else ask.problem.message,
        "cause": redacted_text(ask.cause) if may_know else "",
        "body": redacted(decode(ask.body)),
        "text": "\n".join([_line(line) for line in data.decode("utf-8", "replace").split("\n")]),
        "bytes": len(data),
    }


def _line(line: str) -> str:
    """A line that an upstream sent: JSON without data and sealed text."""
    head = "data: " if line.startswith("data: ") else ""
    value = decode(line.removeprefix(head).encode())
    same = redacted(value) if isinstance(value, dict) else None
    return redacted_text(line) if same == value or same is None else f"{head}{encode(same).decode()}"


def _ms(at: float, kept: Kept) -> float:
    return round((at - kept.started) * 1000, 2)


def _brief(text: str) -> str:
    words = redacted_text(" ".join(text[: 4 * _WORDS].split()))
    return words if len(words) <= _WORDS else f"{words[: _WORDS - 1]}…"


def _number(item: Json) -> int:
    return 0 if _kind(item) in {"reasoning", "item_reference"} else hash(_encoded(_essence(item)))


def _kind(item: Json) -> str:
    """Its type, whatever was posted as that."""
    return as_text(item.get("type", "message"))


def _essence(item: Json) -> Any:
    """What every client repeats of an item: not its id, and texts as a text or as a list of parts."""
    kind, call = _kind(item), item.get("call_id")
    if kind == "message":
        return [item.get("role", "assistant"), text_of(item)]
    return [kind, call, item.get("name")] if call else without(item, *_LOOSE)


class Folder:
    """Writes turns as they end, in a thread. Nothing in the folder is ever deleted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._thread = ThreadPoolExecutor(1, "record")
        self._room = Semaphore(_WAITING)

    def write(self, kept: Kept) -> None:
        """Write this turn, soon."""
        if self._room.acquire(blocking=False):
            asyncio.get_running_loop().run_in_executor(self._thread, self._write, kept)
        else:
            log.warning("record: a turn is left out, because %s is slow", self._folder)

    def close(self) -> None:
        """Wait until all is written."""
        self._thread.shutdown()

    def _write(self, kept: Kept) -> None:
        name = f"{time.strftime('%Y%m%d-%H%M%S')}-{kept.number:06}-{kept.fields.get('request_id')}-{os.getpid()}.json"
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (file := self._folder / name).touch(0o600, exist_ok=False)
            file.write_bytes(encode(shown(kept, may_know=True)))
        except OSError as error:
            log.warning("record: %s cannot be written: %s", self._folder, error.strerror)
        finally:
            self._room.release()
