"""The turns of the other workers. Each worker keeps those that it ran; whichever is asked shows all of them.

A turn is asked of the worker that gave it its number. The lists of all workers are shown as one, and so are the turns
of a session, which any of them may have.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response as HttpResponse
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from ..json_text import json_bytes
from ..observers.recorded_turn import Recorded
from ..observers.shown_turn import EarlierTurn
from ..observers.watchers import Note
from ..protocol.problems import Problem, ProblemError
from ..workers.peers import ASKED_BY_WORKER, PeerAnswer, Peers, SilentWorkerError

READY_WITHIN: Final = 3.0
"""Seconds in which each worker must have sent the rows that it has."""
AGAIN_AFTER: Final = 5.0
"""Seconds after which a list ends that lacks a worker, so that its reader asks again."""
MOST_QUEUED: Final = 200
"""Notes of all workers that wait for the reader."""
MOST_BEFORE: Final = 256
"""Turns of other workers that are asked for at once: of a longer session, the rest is shown without what changed."""
_OK: Final = 200
_PASSED_ON: Final = {
    *(b"cache-control", b"content-disposition", b"content-security-policy", b"content-type", b"referrer-policy"),
    *(b"cross-origin-opener-policy", b"cross-origin-resource-policy", b"retry-after", b"x-content-type-options"),
}
"""Headers of another worker's answer; the others are those of this one."""
_SILENT: Final = Problem(
    code="overloaded", message="The worker that keeps it does not answer. Please try again.", retry_after=1
)


class _BegunRow(msgspec.Struct):
    """What is needed of a row."""

    began: float = 0


class _BegunTurn(msgspec.Struct):
    row: _BegunRow


class _Part(msgspec.Struct):
    """The turns of a session that one worker keeps."""

    session: int
    turns: list[msgspec.Raw]


class _Found(msgspec.Struct):
    numbers: list[int] = []


class _Arrival(NamedTuple):
    worker: int
    note: Note | None
    """None at its end."""


FoundT = TypeVar("FoundT")
_row = msgspec.json.Decoder(_BegunRow)
_turn = msgspec.json.Decoder(_BegunTurn)
_OWN: Final = -1


class OtherWorkers:
    """Asks them."""

    def __init__(self, peers: Peers) -> None:
        self._peers = peers

    def answer(self, request: Request, number: int) -> HttpResponse | None:
        """The answer of the worker that has this number; None if it is this one."""
        owner = self._peers.owner_of(number)
        if owner is None or is_from_worker(request):
            return None
        return _PassedOn(self._peers, owner)

    async def found(self, request: Request, numbers: list[int]) -> dict[str, Any]:
        """The numbers that this worker and the others found, and how many workers do not answer."""
        if is_from_worker(request):
            return {"numbers": numbers}
        answers = await asyncio.gather(*(self._of(other, request.scope, _Found) for other in self._peers.others))
        every = [*numbers, *(number for answer in answers if answer is not None for number in answer.numbers)]
        return {"numbers": sorted(every, reverse=True)} | _missing(answers.count(None))

    async def session(self, request: Request, own: bytes) -> tuple[bytes, int]:
        """The turns of a session in all workers, in the order of time, and their number. `own`: those of this one."""
        part = msgspec.json.decode(own, type=_Part)
        if is_from_worker(request):
            return own, len(part.turns)
        none = _Part(part.session, [])
        answers = await asyncio.gather(*(self._of(other, request.scope, _Part, none) for other in self._peers.others))
        turns = [turn for each in (part, *answers) if each is not None for turn in each.turns]
        turns.sort(key=lambda turn: _turn.decode(turn).row.began)
        shown = {"session": part.session, "turns": turns} | _missing(answers.count(None))
        return json_bytes(shown), len(turns)

    async def before(self, request: Request, turns: Iterable[Recorded]) -> dict[int, EarlierTurn]:
        """What other workers say about the turns that these continue."""
        since = {turn.place.since for turn in turns if turn.place is not None and turn.place.since is not None}
        numbers = [number for number in since if self._peers.owner_of(number) is not None]
        found = await asyncio.gather(*(self._members(request, number) for number in numbers[:MOST_BEFORE]))
        return {number: turn for number, turn in zip(numbers, found, strict=False) if turn is not None}

    async def _members(self, request: Request, number: int) -> EarlierTurn | None:
        scope = {**request.scope, "path": f"/inspector/turns/{number}/members", "query_string": b""}
        owner = self._peers.owner_of(number)
        return None if owner is None else await self._of(owner, scope, EarlierTurn)

    async def _of(self, other: int, scope: Scope, kind: type[FoundT], none: FoundT | None = None) -> FoundT | None:
        """What another worker answers: `none` if it has nothing, None if it does not answer."""
        try:
            async with self._peers.asked(other, scope) as answer:
                body = await asyncio.wait_for(_whole(answer), READY_WITHIN)
                return msgspec.json.decode(body, type=kind) if answer.status == _OK else none
        except (SilentWorkerError, TimeoutError, msgspec.MsgspecError):
            return None

    async def rows(self, request: Request, own: AsyncIterator[Note]) -> AsyncIterator[Note]:
        """The notes of all workers: first the rows that they have, by their time, then what changes.

        It ends when that of one worker ends, and after a while if one is missing, so that the reader asks again.
        """
        if is_from_worker(request):
            async for row in own:
                yield row
            return
        queue: asyncio.Queue[_Arrival] = asyncio.Queue(MOST_QUEUED)
        sources = {_OWN: own} | {other: self._notes_of(other, request) for other in self._peers.others}
        tasks = [asyncio.create_task(_read(worker, notes, queue)) for worker, notes in sources.items()]
        try:
            first, missing = await _first(set(sources), queue)
            for each in first:
                yield each
            yield Note("ready", json_bytes({"turns": len(first)} | _missing(len(missing))))
            until = asyncio.get_running_loop().time() + AGAIN_AFTER if missing else None
            while (note := await _next(queue, until)) is not None:
                yield note
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _notes_of(self, other: int, request: Request) -> AsyncIterator[Note]:
        try:
            async with self._peers.asked(other, request.scope) as answer:
                if answer.status != _OK:
                    return
                async for note in _notes(answer):
                    yield note
        except SilentWorkerError:
            return


class _PassedOn(HttpResponse):
    """The answer of another worker."""

    def __init__(self, peers: Peers, owner: int) -> None:
        super().__init__()
        self._peers = peers
        self._owner = owner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI. Raises `ProblemError` if the worker does not answer."""
        try:
            async with self._peers.asked(self._owner, scope) as found:
                response = StreamingResponse(found.pieces(), found.status)
                response.raw_headers = [(name, value) for name, value in found.headers if name.lower() in _PASSED_ON]
                notices = {**scope, "asgi": {**scope["asgi"], "spec_version": "2.3"}}  # when the client leaves
                await response(notices, receive, send)
        except SilentWorkerError:
            raise ProblemError(_SILENT) from None


def is_from_worker(request: Request) -> bool:
    """Whether another worker asks, which wants to know about this one alone."""
    return ASKED_BY_WORKER in request.scope.get("state", ())


async def _read(worker: int, notes: AsyncIterator[Note], queue: asyncio.Queue[_Arrival]) -> None:
    async for note in notes:
        await queue.put(_Arrival(worker, note))
    await queue.put(_Arrival(worker, None))


async def _next(queue: asyncio.Queue[_Arrival], until: float | None) -> Note | None:
    """The next note; None at the end of one worker, or of the time."""
    try:
        async with asyncio.timeout_at(until):
            return (await queue.get()).note
    except TimeoutError:
        return None


async def _first(waited: set[int], queue: asyncio.Queue[_Arrival]) -> tuple[list[Note], list[int]]:
    """The rows of all workers, in the order in which their turns began, and the workers that did not send theirs."""
    rows: list[Note] = []
    later: list[Note] = []
    missing: list[int] = []
    try:
        async with asyncio.timeout(READY_WITHIN):
            while waited:
                worker, note = await queue.get()
                if note is None or note.name == "ready":
                    waited.discard(worker)
                    missing += [worker] if note is None else []
                else:
                    (rows if note.name == "row" else later).append(note)
    except TimeoutError:
        missing += waited
    rows.sort(key=lambda note: _row.decode(note.data).began)
    return [*rows, *later], missing


async def _notes(answer: PeerAnswer) -> AsyncIterator[Note]:
    """The notes in a stream of server-sent events, each of which has one line of data."""
    rest = bytearray()
    async for piece in answer.pieces():
        start = max(0, len(rest) - 1)
        rest += piece
        if rest.find(b"\n\n", start) < 0:
            continue
        *events, rest = rest.split(b"\n\n")
        for event in events:
            lines = {name: value for name, _, value in (line.partition(b": ") for line in bytes(event).split(b"\n"))}
            if b"event" in lines and b"data" in lines:  # otherwise it is a ping
                yield Note(lines[b"event"].decode(), lines[b"data"])


async def _whole(answer: PeerAnswer) -> bytes:
    return b"".join([piece async for piece in answer.pieces()])


def _missing(number: int) -> dict[str, int]:
    """What to say about workers that do not answer."""
    return {"missing": number} if number else {}
