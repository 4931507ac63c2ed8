"""One websocket: frames come in, and lanes run their turns side by side.

Theory of operation
-------------------
One task reads: it puts frames into the queues of their lanes, and answers at once those that no turn can serve. Each
lane that has frames is a task (`websocket_lanes.py`). The task of the connection waits for its end:

    when the client disconnects      the running turns are cancelled, and their upstreams closed
    when the server stops            after the running turns, with 1001
    when the settings are reloaded   the same
    after `websocket_lifetime`       after the running turns, with an error frame and 1001
    after `websocket_idle`           when no turn has run for so long, with 1001
    when the client reads nothing    at once, after `send_timeout`
    after too many other frames      at once, with 1008: frames that start no turn are answered at once

Only the type and the lane of a frame are read when it arrives. A `response.create` takes one of its caller's slots
before the rest is decoded, one that is only to be remembered (`generate: false`) too; frames that wait hold none. Bytes
that wait and bytes that are remembered are counted, each caller within its share. Before the upstream's first payload a
failure is an `error` frame with an HTTP status, after it `response.failed`, as over HTTP. Warnings are next to the
response in the first event. `turns/conversation_memory.py` holds the conversations; only a failed `response.create`
makes it forget one.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import Headers
from starlette.types import Receive, Send

from ..off_loop import OWNER, off_loop
from ..parsing.frame_head import CREATE, read_head
from ..protocol.control_events import ControlEvent
from ..protocol.problems import Problem, ProblemError
from ..settings import Key, Server
from ..turns.conversation_memory import ConversationMemory
from ..turns.lifecycle import ClientGoneError, TurnLifecycle
from ..turns.log import told_by
from ..turns.service import TurnService
from .websocket_control import CONTROL, ControlReply, check_ids, check_length, unknown_type
from .websocket_frames import FULL, STOPPING, FrameSender, WaitingFrames
from .websocket_guard import DRAIN, POLICY, FrameBudget
from .websocket_lanes import Lane, LaneContext

BETA: Final = "responses_websockets="
"""In `OpenAI-Beta`: the client uses the protocol as it was before its release."""
GOING_AWAY: Final = 1001
RUNNING: Final = 16
"""The most turns that one connection runs at once. Frames for more wait."""
NAMES: Final = 32
"""The most names of lanes that one connection may use."""

NO_MORE_NAMES: Final = Problem(
    code="websocket_stream_limit_reached",
    message=f"This connection has used {NAMES} different values of 'stream_id', which is the limit. Use one of them "
    "again, or open another connection.",
    param="stream_id",
)


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
        self._trace = told_by(self.headers)
        self._turns = 0
        self._sender = FrameSender(self.send_raw, self.server.send_timeout)
        self._context = LaneContext(
            service=self.service,
            server=self.server,
            caller=self.caller,
            originator=self.headers.get("originator", ""),
            lenient=BETA in self.headers.get("openai-beta", ""),
            memory=self.memory,
            waiting=self.waiting,
            sender=self._sender,
            places=asyncio.Semaphore(RUNNING),
            new_turn=self._new_turn,
            may_begin=self._may_begin,
            idle=self._became_idle,
        )
        self._lanes: dict[str | None, Lane] = {}
        self._useless = FrameBudget()
        """How many frames that start no turn may still come: each is read and answered."""
        self._wake = asyncio.Event()
        """Set when a lane has become busy or idle, and when there is a reason to end."""
        self._draining = False
        self._is_closing = False
        self._now = asyncio.get_running_loop().time
        self._idle_since = self._now()
        self._expires = self._now() + self.server.websocket_lifetime

    def leave(self) -> None:
        """End after the running turns."""
        self._draining = True
        self._wake.set()

    async def run(self, receive: Receive) -> None:
        """Serve it until it ends."""
        try:
            async with asyncio.TaskGroup() as tasks:
                reading = tasks.create_task(self._read(receive, tasks))
                await self._wait_for_its_end()
                reading.cancel()
        except* ClientGoneError:
            pass
        finally:
            self.waiting.clear()
            self.memory.clear()

    async def _read(self, receive: Receive, tasks: asyncio.TaskGroup) -> None:
        OWNER.set(self.caller.owner)
        while (message := await receive())["type"] != "websocket.disconnect":
            if message["type"] == DRAIN:
                self._draining = True
            else:
                frame = message.get("bytes") or (message.get("text") or "").encode()
                await self._arrived(frame, tasks)
                del message, frame  # they would be held until the next one comes
            self._wake.set()
        raise ClientGoneError

    async def _arrived(self, frame: bytes, tasks: asyncio.TaskGroup) -> None:
        """Puts a frame into the queue of its lane. One that no turn can serve is answered now, not after others."""
        reply: ControlReply | None
        name: str | None = None
        try:
            head = await off_loop(len(frame), read_head, frame, self.server.max_json_values)
            name = head.stream_id
            if head.type != CREATE:
                reply = await self._controlled(head.type, frame)
            elif (lane := self._lane(name)) is None:
                reply = ControlReply(NO_MORE_NAMES, name)
            elif self.waiting.add(name, frame, waits=lane.is_busy or self._context.places.locked()):
                lane.start(tasks)
                return
            else:
                reply = ControlReply(FULL, name)
        except ProblemError as error:
            reply = ControlReply(error.problem, name)
        if not self._useless.take(0):
            await self._sender.close(POLICY, "too many frames that start no turn")
            raise ClientGoneError
        if reply is not None:
            await self._reply(*reply, len(frame))

    async def _controlled(self, kind: str, frame: bytes) -> ControlReply | None:
        check_length(kind, len(frame))
        if kind not in CONTROL:
            return ControlReply(unknown_type(kind))
        raw = await self.service.decode(frame)
        check_ids(raw)
        return CONTROL[kind](raw, self)

    async def _reply(self, event: ControlEvent | Problem, lane: str | None, echoed: int) -> None:
        if isinstance(event, Problem):
            self._log(event)
            await self._sender.error(event, lane)
        else:
            await self._sender.control(event, lane, echoed)

    def running(self, response_id: object, name: object = None) -> Lane | None:
        """The lane that runs this response; for None the lane of this name, if it runs one."""
        running = [lane for lane in self._lanes.values() if lane.can_be_stopped]
        if response_id is None:
            return next((lane for lane in running if lane.name == name), None)
        return next((lane for lane in running if lane.response_id == response_id), None)

    def _lane(self, name: str | None) -> Lane | None:
        """The lane of this name; None if it is new, and one name too many."""
        if name not in self._lanes and (name is None or len(self._lanes.keys() - {None}) < NAMES):
            self._lanes[name] = Lane(name, self._context)
        return self._lanes.get(name)

    def _log(self, refusal: Problem) -> None:
        turn = self._new_turn()
        turn.log.set_caller(self.caller)
        turn.refuse(refusal)

    def _new_turn(self) -> TurnLifecycle:
        self._turns += 1
        return self.service.turn(request_id=f"{self.request_id}-{self._turns}", websocket=True, **self._trace)

    def _may_begin(self) -> bool:
        return not self._is_closing and not self._draining and self._now() < self._expires

    def _became_idle(self) -> None:
        self._idle_since = self._now()
        self._wake.set()

    @property
    def _is_busy(self) -> bool:
        return any(lane.is_busy for lane in self._lanes.values())

    async def _wait_for_its_end(self) -> None:
        """Returns when the connection is closed, after the turns that ran."""
        while self._may_begin():
            idle_until = self._expires if self._is_busy else self._idle_since + self.server.websocket_idle
            if self._now() >= idle_until:
                break
            with suppress(TimeoutError):
                async with asyncio.timeout_at(min(idle_until, self._expires)):
                    await self._wake.wait()
            self._wake.clear()
        is_too_old = self._now() >= self._expires
        self._is_closing = True
        while self._is_busy:
            await self._wake.wait()
            self._wake.clear()
        if self._draining:
            for name in self.waiting.lanes:
                await self._sender.error(STOPPING, name)
        elif is_too_old:
            await self._sender.error(self._too_old())
        await self._sender.close(GOING_AWAY)

    def _too_old(self) -> Problem:
        minutes = f"{self.server.websocket_lifetime / 60:g} minutes"
        message = f"This connection is {minutes} old, which is the limit. Open another one to continue."
        return Problem(code="websocket_connection_limit_reached", message=message)
