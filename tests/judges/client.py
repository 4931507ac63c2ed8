"""The client of `python -m tests.judges`: asks a Responses server, and judges all that it answers."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus
from typing import Any, Final, NamedTuple

import aiohttp

from . import Finding, Frames, Rule, Silence, StreamJudge, TypesJudge, judge_answered_error, judge_answered_response
from . import client_rules as rules
from .findings import Findings, quoted
from .response_judge import judge_error_object

Json = dict[str, Any]

PATIENCE: Final = 60
"""Seconds for which the server may send nothing."""
LONGEST: Final = 16 * 1024 * 1024
"""Bytes of one answer that are read."""
_TOO_LONG: Final = f"the answer is longer than {LONGEST} bytes"
_ENDS: Final = {"response.completed", "response.incomplete", "response.failed", "error"}


class BrokenError(Exception):
    """A broken rule after which the question cannot go on."""

    def __init__(self, rule: Rule, detail: str, offending: Any = "") -> None:
        super().__init__(detail)
        self.finding = Finding(rule, detail, quoted(offending))


class Answered(NamedTuple):
    """An answer that was read as a whole."""

    status: int
    headers: Mapping[str, str]
    body: Any
    """JSON, or text if it is none."""


class Client:
    """Speaks to one server. What it finds is in `found`."""

    def __init__(self, url: str, model: str = "", key: str = "") -> None:
        """`url` ends like a base URL of an SDK, mostly with /v1."""
        self.url = url
        self.model = model
        self.types = TypesJudge()
        self.found: list[Finding] = []
        self.longest_silence = 0.0
        """Seconds, of all streams."""
        self._headers = {"authorization": f"Bearer {key}"} if key else {}

    def _session(self) -> aiohttp.ClientSession:
        """Connections for one request: a server may close a used one at any time, which is no fault of its answers."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=PATIENCE)
        return aiohttp.ClientSession(headers=self._headers, timeout=timeout, trust_env=True)

    @asynccontextmanager
    async def _open(self, method: str, path: str, body: Json | bytes | None) -> AsyncIterator[aiohttp.ClientResponse]:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"} if data is not None else {}
        with _connected():
            async with (
                self._session() as session,
                session.request(method, self.url + path, data=data, headers=headers, allow_redirects=False) as response,
            ):
                yield response

    async def asked(self, method: str, path: str, body: Json | bytes | None = None) -> Answered:
        """The answer to any request, which is not judged."""
        async with self._open(method, path, body) as response:
            return await _whole(response)

    async def first_model(self) -> str:
        """The first model that the server lists."""
        answer = await self.asked("GET", "/models")
        data = answer.body.get("data") if isinstance(answer.body, dict) else None
        for each in data if isinstance(data, list) else ():
            if isinstance(each, dict) and isinstance(name := each.get("id"), str) and name:
                return name
        message = f"GET /models answers {answer.status} and names no model; choose one with --model"
        raise BrokenError(rules.ANSWERED, message)

    async def completed(self, *items: Json, **fields: Any) -> Json:
        """The answer to a request without `stream`, judged."""
        async with self._open("POST", "/responses", self._body(items, fields)) as response:
            answer = await _whole(response)
            if response.headers.get("connection", "").lower() == "close":
                self._add(rules.KEEP_ALIVE, "the server closes it", "connection: close")
        if answer.status != HTTPStatus.OK:
            self._refused(answer)
        if not isinstance(answer.body, dict):
            streams = answer.headers.get("content-type", "").startswith("text/event-stream")
            wrong = "a stream, which was not requested" if streams else "no JSON object"
            raise BrokenError(rules.WHOLE_RESPONSE, f"the body is {wrong}", answer.body)
        self.found += judge_answered_response(answer.body) or self.types.response(answer.body)
        body: Json = answer.body
        return body

    async def streamed(self, *items: Json, **fields: Any) -> list[Json]:
        """The events of an answer, judged."""
        silence = Silence()
        async with self._open("POST", "/responses", self._body(items, {**fields, "stream": True})) as response:
            if response.status != HTTPStatus.OK:
                self._refused(await _whole(response))
            return await self._events_of(response, silence)

    async def refused(self, body: Json | bytes) -> None:
        """An invalid request must be refused as clients understand it; a stream may say so in an event."""
        silence = Silence()
        async with self._open("POST", "/responses", body) as response:
            if response.status == HTTPStatus.OK and response.content_type == "text/event-stream":
                events = await self._events_of(response, silence)
                if events and events[-1].get("type") not in {"response.failed", "error"}:
                    self._add(rules.ERROR_STATUS, "it was answered", events[-1])
                return
            answer = await _whole(response)
        self.found += judge_answered_error(answer.status, answer.headers, answer.body)

    async def left(self, *items: Json) -> None:
        """Ask for a long answer, and leave after its first event."""
        async with self._open("POST", "/responses", self._body(items, {"stream": True})) as response:
            if response.status != HTTPStatus.OK:
                self._refused(await _whole(response))
            await response.content.readany()
            response.close()

    @asynccontextmanager
    async def websocket(self) -> AsyncIterator["Socket"]:
        """A connection over which several answers come."""
        closing = aiohttp.ClientWSTimeout(ws_close=5)
        with _connected():
            async with (
                self._session() as session,
                session.ws_connect(f"{self.url}/responses", max_msg_size=LONGEST, timeout=closing) as connection,
            ):
                yield Socket(self, connection)

    def judge_events(self, events: list[Json], *, has_ended: bool = True) -> None:
        """Judge the events of one answer. `has_ended`: nothing more would come."""
        judge = StreamJudge()
        for event in events:
            judge.read(event)
        if has_ended:
            judge.end()
        self.found += judge.found.found + self.types.events(judge.sound)

    def _add(self, rule: Rule, detail: str, offending: Any) -> None:
        self.found.append(Finding(rule, detail, quoted(offending)))

    def _body(self, items: tuple[Json, ...], fields: Mapping[str, Any]) -> Json:
        return {"model": self.model, "input": list(items), **fields}

    def _refused(self, answer: Answered) -> None:
        self.found += judge_answered_error(answer.status, answer.headers, answer.body)
        raise BrokenError(rules.ANSWERED, f"refused with status {answer.status}", answer.body)

    async def _events_of(self, response: aiohttp.ClientResponse, silence: Silence) -> list[Json]:
        frames = Frames(response.headers.get("content-type", ""))
        events: list[Json] = []
        has_ended = False
        try:
            async for piece in _pieces(response):
                new = frames.feed(piece)
                silence.heard(has_event=bool(new))
                events += new
            has_ended = True
            events += frames.end()
        finally:  # what came is judged, even if nobody waits for the rest
            silence.heard(has_event=False)
            self.longest_silence = max(self.longest_silence, silence.longest)
            self.found += silence.found.found + frames.found.found
            self.judge_events(events, has_ended=has_ended)
        return events


class Socket:
    """A websocket, and its answers one after the other."""

    def __init__(self, client: Client, connection: aiohttp.ClientWebSocketResponse) -> None:
        self._client = client
        self._connection = connection

    async def _answer(self, fields: Json) -> list[Json]:
        request = {"type": "response.create", "model": self._client.model, "store": False, **fields}
        await self._connection.send_str(json.dumps(request))
        events: list[Json] = []
        read = 0
        while not events or events[-1]["type"] not in _ENDS:
            message = await self._connection.receive(PATIENCE)
            if message.type is not aiohttp.WSMsgType.TEXT:
                raise BrokenError(rules.LAST_EVENT, "the connection ended in the middle of an answer")
            event = _json(message.data)
            if not isinstance(event, dict) or not isinstance(event.get("type"), str):
                raise BrokenError(rules.EVENT_JSON, "a frame is no JSON object with a type", message.data)
            read += len(message.data)
            if read > LONGEST:
                raise BrokenError(rules.ANSWERED, _TOO_LONG)
            events.append(event)
        return events

    async def completed(self, **fields: Any) -> Json:
        """The response at the end of an answer, which is judged."""
        events = await self._answer(fields)
        self._client.judge_events(events)
        if events[-1]["type"] != "response.completed" or not isinstance(events[-1].get("response"), dict):
            raise BrokenError(rules.ANSWERED, f"it ended with {events[-1]['type']}", events[-1])
        response: Json = events[-1]["response"]
        return response

    async def refused(self, code: str = "", **fields: Any) -> None:
        """The request must be refused by an error frame, with this code if there is one."""
        [*before, frame] = await self._answer(fields)
        if frame["type"] != "error":
            raise BrokenError(rules.ERROR_STATUS, f"it was not refused: it ended with {frame['type']}", frame)
        if before:
            self._client.judge_events([*before, frame])
        error = frame.get("error")
        judged = Findings()
        judge_error_object(judged, error, frame)
        self._client.found += judged.found
        if code and (not isinstance(error, dict) or error.get("code") != code):
            raise BrokenError(rules.ANSWERED, f"the code of the error is not {code}", frame)


@contextmanager
def _connected() -> Iterator[None]:
    """A connection that fails is a broken rule."""
    try:
        yield
    except TimeoutError:
        raise BrokenError(rules.ANSWERED, f"nothing came for {PATIENCE} s") from None
    except aiohttp.WSServerHandshakeError as error:
        raise BrokenError(rules.ANSWERED, f"there is no websocket: status {error.status}") from None
    except (aiohttp.ClientError, OSError) as error:
        raise BrokenError(rules.ANSWERED, f"the connection failed: {str(error) or type(error).__name__}") from None


async def _pieces(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    read = 0
    async for piece in response.content.iter_any():
        yield piece
        read += len(piece)
        if read > LONGEST:
            raise BrokenError(rules.ANSWERED, _TOO_LONG)


async def _whole(response: aiohttp.ClientResponse) -> Answered:
    text = b"".join([piece async for piece in _pieces(response)])
    body = _json(text)
    return Answered(response.status, response.headers, text.decode(errors="replace") if body is None else body)


def _json(text: str | bytes) -> Any:
    """None if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
