"""One websocket: turns over one connection, one after the other.

Theory of operation
-------------------
Two tasks serve a connection. One reads: it puts frames into a short queue, and answers at once those that no turn can
serve. When the client disconnects it ends, and the running turn is cancelled and its upstream closed. The other works:
it takes a frame, runs its turn as a POST does, sends the events, and remembers the outcome. A connection ends

    when the client disconnects      the running turn is cancelled
    when the server stops            after the running turn, with 1001
    when the settings are reloaded   the same
    after `websocket_lifetime`       after the running turn, with an error frame and 1001
    after `websocket_idle`           between two turns, with 1001
    when the client reads nothing    at once, after `send_timeout`
    after too many useless frames    at once, with 1008

Only the type of a frame is read when it arrives. A `response.create` takes one of its caller's slots before the rest is
decoded, one that is only to be remembered (`generate: false`) too; frames that wait hold none. Bytes that wait and
bytes that are remembered are counted, each caller within its share. Before the upstream's first payload a failure is an
`error` frame with an HTTP status, after it `response.failed`, as over HTTP. Warnings are next to the response in the
first event. `turns/conversation_memory.py` holds the conversation; only a failed `response.create` makes it forget.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import msgspec
from starlette.datastructures import Headers
from starlette.types import Receive, Send

from ..emitter.encoded_size import size_of
from ..off_loop import OWNER, off_loop
from ..parsing.create_frame import Frame, parse_frame
from ..parsing.frame_head import CREATE, read_head
from ..protocol.events import Event, LastEvent, RelayedLast, is_last
from ..protocol.problems import Problem, ProblemError
from ..settings import Key, Server
from ..turns.conversation_memory import ConversationMemory, continued_input, conversation_of, with_frame_positions
from ..turns.lifecycle import ClientGoneError, TurnLifecycle
from ..turns.log import trace_of
from ..turns.prompt_comparison import KnownPrompt
from ..turns.service import BegunTurn, TurnService
from . import sse
from .websocket_control import GIVEN_BACK, given_back, unknown_type
from .websocket_frames import (
    FULL,
    STOPPING,
    WaitingFrames,
    frames,
    send_one_by_one,
    warnings_by_position,
)
from .websocket_guard import DRAIN, POLICY, FrameBudget

BETA: Final = "responses_websockets="
"""In `OpenAI-Beta`: the client uses the protocol as it was before its release."""

GOING_AWAY: Final = 1001


@dataclass(eq=False)
class Connection:
    """One connection to its end."""

    service: TurnService
    server: Server
    caller: Key
    headers: Headers
    request_id: str
    memory: ConversationMemory
    waiting: WaitingFrames
    send_raw: Send

    def __post_init__(self) -> None:
        self._originator = self.headers.get("originator", "")
        self._trace = trace_of(self.headers)
        self._lenient = BETA in self.headers.get("openai-beta", "")
        self._turns = 0
        self._is_busy = False
        self._sending = asyncio.Lock()
        self._useless = FrameBudget()
        """How many frames that no turn can serve may still come: each is answered."""
        self._wake = asyncio.Event()
        """Set when there is a frame, or a reason to end."""
        self._draining = False
        self._now = asyncio.get_running_loop().time
        self._expires = self._now() + self.server.websocket_lifetime

    def leave(self) -> None:
        """End after the running turn."""
        self._draining = True
        self._wake.set()

    async def run(self, receive: Receive) -> None:
        """Serve it until it ends."""
        reading = asyncio.create_task(self._read(receive))
        working = asyncio.create_task(self._work())
        try:
            await asyncio.wait({reading, working}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (working, reading):
                task.cancel()
            try:
                ended = await asyncio.gather(working, reading, return_exceptions=True)
            finally:
                self.waiting.clear()
                self.memory.clear()
        for error in ended:
            if isinstance(error, Exception) and not isinstance(error, ClientGoneError):
                raise error

    async def _read(self, receive: Receive) -> None:
        OWNER.set(self.caller.owner)
        while (message := await receive())["type"] != "websocket.disconnect":
            if message["type"] == DRAIN:
                self._draining = True
            else:
                frame = message.get("bytes") or (message.get("text") or "").encode()
                await self._arrived(frame)
                del message, frame  # they would be held until the next one comes
            self._wake.set()

    async def _arrived(self, frame: bytes) -> None:
        """Puts a frame into the queue. One that no turn can serve is answered now, not after those that wait."""
        refusal: Event | Problem
        try:
            head = await off_loop(len(frame), read_head, frame, self.server.max_json_values)
            if head.type in GIVEN_BACK:
                refusal = given_back(head.type, await self.service.decode(frame))
            elif head.type != CREATE:
                refusal = unknown_type(head.type)
            elif self.waiting.add(frame, waits=self._is_busy):
                return
            else:
                refusal = FULL
        except ProblemError as error:
            refusal = error.problem
        if not self._useless.take(0):
            await self.send_raw({"type": "websocket.close", "code": POLICY, "reason": "too many useless frames"})
            raise ClientGoneError
        if isinstance(refusal, Problem):
            self._log(refusal)
            await self._send_error(refusal)
        else:
            await self._send(sse.data_of(refusal).decode())

    def _log(self, refusal: Problem) -> None:
        turn = self.service.turn(request_id=self._next_id(), websocket=True, **self._trace)
        turn.log.set_caller(self.caller)
        turn.refuse(refusal)

    def _next_id(self) -> str:
        self._turns += 1
        return f"{self.request_id}-{self._turns}"

    async def _work(self) -> None:
        while (frame := await self._next()) is not None:
            self._is_busy = True
            await self._turn(frame)
            del frame  # it would be held until the next one comes
            self._is_busy = False
        with suppress(OSError):
            await self.send_raw({"type": "websocket.close", "code": GOING_AWAY})

    async def _next(self) -> bytes | None:
        """The next frame; None when the connection must end."""
        idle_until = self._now() + self.server.websocket_idle
        while not self._draining and self._now() < self._expires:
            if self.waiting:
                return self.waiting.pop()
            if self._now() >= idle_until:
                return None
            with suppress(TimeoutError):
                async with asyncio.timeout_at(min(idle_until, self._expires)):
                    await self._wake.wait()
            self._wake.clear()
        if not self._draining:
            await self._send_error(self._too_old())
        for _ in range(len(self.waiting) if self._draining else 0):
            await self._send_error(STOPPING)
        return None

    async def _turn(self, data: bytes) -> None:
        request_id = self._next_id()
        raw: dict[str, Any] = {}
        offset, size = 0, len(data)
        try:
            async with self.service.turn(request_id=request_id, websocket=True, **self._trace) as turn:
                try:
                    turn.admit(self.caller)
                    raw = await self.service.decode(data)
                    frame = parse_frame(raw, lenient=self._lenient)
                    if frame.previous_response_id is not None:
                        size += self.memory.size
                        history = await off_loop(size, self.memory.recall, frame.previous_response_id, data)
                        offset = len(history)
                        frame.body["input"] = continued_input(history, frame.body.get("input"))
                    last, prompt = await self._answer(frame, size, turn)
                except ProblemError as error:
                    raise ProblemError(with_frame_positions(error.problem, offset)) from None
        except ProblemError as error:
            self.memory.forget(raw.get("previous_response_id"))
            await self._send_error(error.problem)
            return
        if last.response.status == "failed":
            self.memory.forget(frame.previous_response_id)
        else:
            size += size_of(last, 0)
            self.memory.keep(*await off_loop(size, conversation_of, frame.body["input"], last), prompt)

    async def _answer(
        self, frame: Frame, size: int, turn: TurnLifecycle
    ) -> tuple[LastEvent | RelayedLast, KnownPrompt | None]:
        """Sends the answer; returns its last event, and its prompt."""
        create = await self.service.read_object(frame.body, turn, size, previous_response_id=frame.previous_response_id)
        running = await self.service.begin(create, turn, originator=self._originator, memory=self.memory)
        await running.open(self.server.first_payload_wait)
        turn.log.note(status=HTTPStatus.OK.value)
        return await self._send_batches(turn.watch(running.batches()), size, running), running.prompt

    async def _send_batches(
        self, batches: AsyncIterator[list[Event]], size: int, running: BegunTurn
    ) -> LastEvent | RelayedLast:
        """Sends these batches with their warnings, late ones in the last event; returns the last event."""
        last: Event | None = None
        async for batch in batches:
            first = () if last is not None else running.warnings
            late = running.late_warnings if is_last(batch) else ()
            warnings = warnings_by_position(batch, first, late)
            if sse.is_short(batch, size):
                await self._send(*frames(batch, warnings))
            else:
                await send_one_by_one(batch, warnings, size, self._send)
            last = batch[-1]
        return sse.checked_last(last)

    async def _send_error(self, problem: Problem) -> None:
        error = {**problem.body()["error"], "message": problem.failed_message}
        frame = msgspec.json.encode({"type": "error", "status": problem.shape.status, "error": error})
        await self._send(frame.decode())

    async def _send(self, *frames: str) -> None:
        async with self._sending:
            try:
                async with asyncio.timeout(self.server.send_timeout):
                    for frame in frames:
                        await self.send_raw({"type": "websocket.send", "text": frame})
            except OSError:  # the client has closed the connection, or reads nothing
                raise ClientGoneError from None

    def _too_old(self) -> Problem:
        minutes = f"{self.server.websocket_lifetime / 60:g} minutes"
        message = f"This connection is {minutes} old, which is the limit. Open another one to continue."
        return Problem(code="websocket_connection_limit_reached", message=message)
