"""A server that speaks Responses itself: OpenAI, vLLM, Ollama, LM Studio, another AM Proxy."""

import json
from collections.abc import AsyncGenerator, Iterator
from http import HTTPStatus
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from app.protocol.problems import ANSWERS, Problem
from app.protocol.sse_lines import SseEvents
from app.upstreams.counting import CountingAddress
from app.upstreams.faults import problem_in_stream, retry_seconds, short
from app.upstreams.http_server import (
    CONNECT,
    NOT_THERE,
    TROUBLE,
    Answer,
    HttpRefusedError,
    HttpServer,
    did_not_answer_as_it_must,
    json_object,
)
from app.upstreams.port import Counted, UpstreamBroke, UpstreamRefused

Json = dict[str, Any]

LAST: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})
LONGEST_ERROR: Final = 64 * 1024
"""Bytes of a body that is no stream, as far as it is read."""
LONGEST_PARAM: Final = 200

_COUNTED: Final = ("model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "text")
"""What of an ask may be counted: servers refuse the rest there."""

_decode: Final = msgspec.json.Decoder().decode


class NotEventsError(Exception):
    """The upstream's answer cannot be read as what it must be."""


class _ToldError(Exception):
    """The upstream reported an error inside its answer."""

    def __init__(self, told: Json) -> None:
        super().__init__()
        self.told = told


class NativeResponses:
    """A server at `base_url` that speaks Responses. The key goes nowhere but to it."""

    def __init__(
        self, base_url: str, *, api_key: str | None = None, timeout: float = 300.0, connect: float = CONNECT
    ) -> None:
        url = f"{base_url.rstrip('/')}/responses"
        self._server = HttpServer(url, api_key=api_key, timeout=timeout, connect=connect)
        self._counter = CountingAddress(
            f"{url}/input_tokens", "input_tokens", api_key=api_key, timeout=timeout, connect=connect
        )
        self._secret = api_key
        self.compactor = _Compactor(
            self, HttpServer(f"{url}/compact", api_key=api_key, timeout=timeout, connect=connect)
        )
        """The same server, asked to sum a conversation up."""

    async def open(self, ask: Json, key: str | None = None) -> AsyncGenerator[Json]:
        """Ask, and yield events as they come. `UpstreamRefused` first, `UpstreamBroke` later."""
        model = str(ask["model"])
        answer: Answer | None = None
        secret = key or self._secret
        reading = _Reading()
        try:
            answer = await self._server.ask(msgspec.json.encode(ask), key)
            del ask  # it may be long, and so may the answer take
            async for data in answer:
                for event in reading.read(data):
                    if event["type"] == "response.failed":
                        _clean(event, secret)
                    yield event
                    del event  # what was told does not wait here for what comes next
                del data
                if reading.done:
                    return
            reading.end()
        except (*TROUBLE, NotEventsError, _ToldError) as error:
            problem = self._problem(error, model, secret)
            # not `from error`: its text may hold the key, and a traceback would print it
            if reading.spoken:
                raise UpstreamBroke(problem) from None
            raise UpstreamRefused(problem, wait=self._server.wait(error)) from None
        finally:
            if answer is not None:
                answer.let_go(heard_out=reading.done)

    async def count(self, ask: Json, key: str | None = None) -> Counted | None:
        """How long the ask is, by the server itself; None if it has no such address. `UpstreamRefused` as in `open`."""
        body: Json = {name: ask[name] for name in _COUNTED if name in ask}
        try:
            return await self._counter.count(body, key)
        except TROUBLE as error:
            raise self.refused(error, str(ask["model"]), key) from None

    def refused(self, error: Exception, model: str, key: str | None) -> UpstreamRefused:
        """What to raise where one of `TROUBLE` comes before the answer to an ask with this key."""
        return UpstreamRefused(self._problem(error, model, key or self._secret), wait=self._server.wait(error))

    async def close(self) -> None:
        """Close every connection."""
        for server in (self._server, self._counter, self.compactor.server):
            await server.close()

    def _problem(self, error: Exception, model: str, secret: str | None) -> Problem:
        match error:
            case _ToldError():
                return problem_in_stream(error.told, model=model, secret=secret)
            case NotEventsError():
                return did_not_answer_as_it_must(str(error))
            case HttpRefusedError():
                return _as_told(error, self._server.problem(error, model, secret), secret)
            case _:
                return self._server.problem(error, model, secret)


class _Compactor:
    """A server that sums conversations up in its own way, or is asked for a summary if it cannot."""

    def __init__(self, native: NativeResponses, server: HttpServer) -> None:
        self._native = native
        self.server = server

    async def open(self, ask: Json, key: str | None = None) -> AsyncGenerator[Json]:
        """What the server made of `ask["compact"]`; where it has no such address, its answer to `ask["otherwise"]`."""
        try:
            yield await _whole(await self.server.ask(msgspec.json.encode(ask["compact"]), key))
        except (*TROUBLE, NotEventsError) as error:
            if not (isinstance(error, HttpRefusedError) and error.status in NOT_THERE):
                raise self._native.refused(error, str(ask["model"]), key) from None
        else:
            return
        async for event in self._native.open(ask["otherwise"], key):
            yield event


async def _whole(answer: Answer) -> Json:
    """An answer that is one JSON object."""
    told = await json_object(answer)
    if told is None:
        raise NotEventsError("the answer is not a JSON object")
    return told


def _clean(event: Json, secret: str | None) -> None:
    """Why it failed, without keys and addresses."""
    response = event.get("response")
    error = response.get("error") if isinstance(response, dict) else None
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        error["message"] = short(error["message"], secret) or "The upstream failed."


def _as_told(refusal: HttpRefusedError, problem: Problem, secret: str | None) -> Problem:
    """The client spoke the upstream's own language: what no word of ours fits is told in the upstream's."""
    if problem.code not in {"invalid_value", "upstream_error"}:
        return problem
    try:
        told = json.loads(refusal.text)["error"]
        message, param, code = told["message"], told.get("param"), told.get("code")
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return problem
    if isinstance(code, str) and code in ANSWERS and ANSWERS[code].status == refusal.status:
        wait = retry_seconds(refusal.headers) if code == "overloaded" else None
        problem = replace(problem, code=code, retry_after=wait)
    if refusal.status not in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}:
        return problem
    return replace(
        problem,
        message=short(message, secret) if isinstance(message, str) and message else problem.message,
        param=short(param[:LONGEST_PARAM], secret) if isinstance(param, str) else "",
    )


class _Reading:
    """The bytes of one answer -> events."""

    def __init__(self) -> None:
        self._events = SseEvents()
        self._begun = b""
        """What came before the first event: the body, if this is no stream."""
        self.spoken = False
        self.done = False
        """The last event was heard: nothing that follows is read."""

    def read(self, data: bytes) -> Iterator[Json]:
        """The events that end in this piece. Raises behind the last sound one."""
        if not self.spoken and len(self._begun) < LONGEST_ERROR:
            self._begun += data
        for text in self._events.feed(data):
            if self.done:
                return
            event = self._event(text)
            if event is not None:
                yield event

    def end(self) -> None:
        """Nothing more comes. Without any event, the body is looked at: it may be an error."""
        if self.spoken:
            return
        body = self._begun.strip()
        try:
            told = json.loads(body)
        except (ValueError, RecursionError):
            told = None
        if isinstance(told, dict) and told.get("error"):
            raise _ToldError(told)
        if body:
            raise NotEventsError("the answer is not a stream of events")

    def _event(self, text: bytes) -> Json | None:
        if text == b"[DONE]":
            self.done = True
            return None
        event = _parsed(text)
        kind = event.get("type")
        if kind == "keepalive":  # strict clients break on it, and an upstream that says nothing else is silent
            return None
        if kind == "error" or (event.get("error") and kind is None):
            raise _ToldError(event)
        if not isinstance(kind, str) or not kind.isprintable() or not kind:
            raise NotEventsError("an event of the stream has no type")
        if not self.spoken:
            self.spoken, self._begun = True, b""
        self.done = kind in LAST
        return event


def _parsed(text: bytes) -> Json:
    try:
        event = _decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # the second of bad bytes in a key
        try:  # half of a character in UTF-16, NaN: a model's text is not refused for that
            event = json.loads(text)
        except (ValueError, RecursionError):
            raise NotEventsError("an event of the stream is not JSON") from None
    if type(event) is not dict:
        raise NotEventsError("an event of the stream is not an object")
    return event
