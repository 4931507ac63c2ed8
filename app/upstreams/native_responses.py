"""A server with the Responses API: OpenAI, vLLM, Ollama, LM Studio, another AM Proxy."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from ..http_client.keep import KEEP, Keep
from ..protocol.problems import ERROR_SHAPES, Problem
from .counting import CountingAddress
from .error_body import body_of, decoded
from .faults import ReportedError, asks_for_less, invalid_answer, problem_in_stream, retry_seconds, short
from .http_failures import TROUBLE, HttpRefusedError
from .http_server import CONNECT, NOT_THERE, HttpServer
from .object_answer import json_object
from .payload_sink import taken_by_sink
from .port import Counted, NoSuchAddressError, UpstreamBroke, UpstreamRefused
from .response_body import ResponseBody
from .response_events import EventReader
from .sse_lines import NotEventsError

Json = dict[str, Any]

LATE: Final = b"late"
"""Stands for a piece that did not come in time."""
LONGEST_PARAM: Final = 200

_COUNTED: Final = ("model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "reasoning", "text")
"""The fields of a request that are sent to be counted: servers refuse the others there."""


class NativeResponses:
    """A server at `base_url` with the Responses API. The key is sent only to it."""

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        timeout: float = 300.0,
        connect: float = CONNECT,
        keep: Keep = KEEP,
    ) -> None:
        self._url = f"{base_url.rstrip('/')}/responses"
        self._server_at = partial(HttpServer, api_key=api_key, timeout=timeout, connect=connect, keep=keep)
        self._server = self._server_at(self._url)
        self._counter = CountingAddress(self._server_at(f"{self._url}/input_tokens"), "input_tokens")
        self._secret = api_key
        self._other_addresses: dict[str, _OtherAddress] = {}

    async def open(self, ask: Json, key: str | None = None) -> AsyncGenerator[Json]:
        """Ask, and yield events as they come. `UpstreamRefused` first, `UpstreamBroke` later."""
        model = str(ask["model"])
        answer: ResponseBody | None = None
        secret = key or self._secret
        reading = EventReader()
        read = partial(_cleaned, reading, secret)
        try:
            answer = await self._server.ask(msgspec.json.encode(ask), key)
            del ask  # it may be large, and the answer may take long
            pieces = answer.pieces(taken_by_sink(read, lambda: reading.done or reading.time_left is not None))
            while (data := await _next(pieces, reading.time_left)) is not None:
                for event in reading.late() if data is LATE else read(data):
                    yield event
                    del event  # it is not kept in memory until the next one comes
                del data
                if reading.done:
                    return
            reading.end()
            for event in reading.release():
                yield event
        except (*TROUBLE, NotEventsError, ReportedError) as error:
            meant = error if reading.error is None else ReportedError(reading.error)
            problem = self._problem(meant, model, secret)
            cause = self._server.cause(meant, problem, secret)
            # not `from error`: its text may hold the key, and a traceback would print it
            if reading.started and not (reading.holds and asks_for_less(problem)):
                for event in reading.release():
                    yield event
                raise UpstreamBroke(problem) from None
            raise self._server.refused(error, problem, cause) from None
        finally:
            if answer is not None:
                answer.release(complete=reading.done)

    def at(self, path: str) -> "_OtherAddress":
        """The same server at the address that is `path` below its own."""
        if path not in self._other_addresses:
            self._other_addresses[path] = _OtherAddress(self, self._server_at(f"{self._url}/{path}"))
        return self._other_addresses[path]

    async def count(self, ask: Json, key: str | None = None) -> Counted | None:
        """The tokens of the ask, counted by the server; None if it cannot count. `UpstreamRefused` as in `open`."""
        body: Json = {name: ask[name] for name in _COUNTED if name in ask}
        try:
            return await self._counter.count(body, key)
        except TROUBLE as error:
            raise self.refused(error, str(ask["model"]), key) from None

    def refused(self, error: Exception, model: str, key: str | None) -> UpstreamRefused:
        """The exception to raise if one of `TROUBLE` comes before the answer to an ask with this key."""
        secret = key or self._secret
        problem = self._problem(error, model, secret)
        return self._server.refused(error, problem, self._server.cause(error, problem, secret))

    async def close(self) -> None:
        """Close every connection."""
        for server in (self._server, self._counter):
            await server.close()
        for address in self._other_addresses.values():
            await address.close()

    def _problem(self, error: Exception, model: str, secret: str | None) -> Problem:
        match error:
            case ReportedError():
                return problem_in_stream(error.body, model=model, secret=secret)
            case NotEventsError():
                return invalid_answer(str(error))
            case HttpRefusedError():
                return _with_upstreams_message(error, self._server.problem(error, model, secret), secret)
            case _:
                return self._server.problem(error, model, secret)


class _OtherAddress:
    """Another address of the same server. It answers with one JSON object."""

    def __init__(self, native: NativeResponses, server: HttpServer) -> None:
        self._native = native
        self._server = server

    async def open(self, ask: Json, key: str | None = None) -> AsyncGenerator[Json]:
        """The object. Raises `NoSuchAddressError` where the server has no such address, `UpstreamRefused` otherwise."""
        try:
            yield await _whole(await self._server.ask(msgspec.json.encode(ask), key))
        except (*TROUBLE, NotEventsError) as error:
            refused = self._native.refused(error, str(ask["model"]), key)
            if isinstance(error, HttpRefusedError) and error.status in NOT_THERE:
                raise NoSuchAddressError(refused.problem, cause=refused.cause) from None
            raise refused from None

    async def close(self) -> None:
        """Close the connections to this address."""
        await self._server.close()


async def _whole(answer: ResponseBody) -> Json:
    """An answer that is one JSON object."""
    body = await json_object(answer)
    if body is None:
        raise NotEventsError("the answer is not a JSON object")
    return body


def _cleaned(reading: EventReader, secret: str | None, data: bytes) -> Iterable[Json]:
    """The events that end in this piece, for the client."""
    events = reading.read(data)
    if isinstance(events, list) and (not events or events[0]["type"] != "response.failed"):  # one event at most
        return events
    return _each_cleaned(events, secret)


def _each_cleaned(events: Iterable[Json], secret: str | None) -> Iterator[Json]:
    for event in events:
        if event["type"] == "response.failed":
            _clean(event, secret)
        yield event


async def _next(pieces: AsyncIterator[bytes], within: float | None) -> bytes | None:
    """The next piece of an answer; None at its end, and `LATE` if none comes within so many seconds."""
    if within is None:  # as nearly always: a timeout for every piece costs more than to read it
        return await anext(pieces, None)
    limit = asyncio.timeout(within)
    try:
        async with limit:
            return await anext(pieces, None)
    except TimeoutError:
        if limit.expired():
            return LATE
        raise


def _clean(event: Json, secret: str | None) -> None:
    """Removes keys and addresses from the error message of a failed response."""
    response = event.get("response")
    error = response.get("error") if isinstance(response, dict) else None
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        error["message"] = short(error["message"], secret) or "The upstream failed."


def _has_status(code: str, status: int) -> bool:
    return code in ERROR_SHAPES and ERROR_SHAPES[code].status == status


def _with_upstreams_message(refusal: HttpRefusedError, problem: Problem, secret: str | None) -> Problem:
    """The problem with the upstream's own code and message, where ours are less exact: the client uses the same API."""
    if problem.code not in {"invalid_value", "upstream_error"}:
        return problem
    whole = decoded(refusal.text)
    body = body_of(whole)
    error = whole.get("error") if isinstance(whole, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    param = body.param
    if code == "model_not_found":  # OpenAI answers 400 then
        param = "model"
    if isinstance(code, str) and (code == "model_not_found" or _has_status(code, refusal.status)):
        wait = retry_seconds(refusal.headers) if code == "overloaded" else None
        problem = replace(problem, code=code, retry_after=wait)
    if refusal.status not in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}:
        return problem
    message = short(body.message, secret) if isinstance(error, dict) else ""
    return replace(problem, message=message or problem.message, param=short(param[:LONGEST_PARAM], secret))
