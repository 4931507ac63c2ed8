"""Model servers whose answers come from recordings, over HTTP: nothing is connected to."""

import asyncio
import errno
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from ..http_client.connection_errors import ConnectTimeoutError, LostError, NoConnectionError, NotHttpError, TlsError
from ..json_text import json_value
from ..off_loop import off_loop
from ..protocol.problems import Problem
from ..recordings.recorded_answers import NotRecordedError, RecordedAnswers
from ..recordings.recording import Arrival, Failure
from .http_failures import CompressedError, HttpRefusedError
from .http_server import COUNTING, HttpServer
from .port import UpstreamRefused
from .response_body import ResponseBody


class ReplayedServer(HttpServer):
    """One address of a server that was recorded. `keeps_pace`: pieces come as late as they came then."""

    def __init__(self, url: str, *, answers: RecordedAnswers, keeps_pace: bool = False, **settings: Any) -> None:
        super().__init__(url, **settings)
        self._answers = answers
        self._keeps_pace = keeps_pace

    async def _answer(self, body: bytes | None, key: str | None, headers: Mapping[str, str]) -> ResponseBody:  # noqa: ARG002 — no key is needed
        if body is None or self.url.endswith(COUNTING):
            raise HttpRefusedError(HTTPStatus.NOT_FOUND, "", {})
        try:
            answer = await off_loop(len(body), lambda: self._answers.next_answer(json_value(body)))
        except NotRecordedError as error:
            raise not_recorded(error) from None
        arrivals = list(answer.arrivals)
        waits = pauses(arrivals) if self._keeps_pace else [0.0] * len(arrivals)
        head = arrivals[0] if arrivals else Arrival(at=0, failed="broke_off")
        await asyncio.sleep(waits[0] if waits else 0)
        if head.failed is not None:
            raise error_of(head.failed)
        if head.status is None:
            await never(was_silent=answer.was_silent)
        status = head.status or 0
        if not 200 <= status < 300:  # noqa: PLR2004 — what HTTP calls a success
            text = "".join(arrival.text or "" for arrival in arrivals)
            raise HttpRefusedError(status, text, head.headers)
        return _ReplayedBody(arrivals[1:], waits[1:], was_silent=answer.was_silent)


def not_recorded(error: NotRecordedError) -> UpstreamRefused:
    """The refusal of an ask that no recording fits. Asking again does not help."""
    return UpstreamRefused(Problem(code="invalid_value", message=str(error)))


def pauses(arrivals: Sequence[Arrival]) -> list[float]:
    """Seconds before each of what came, since the one before."""
    times = [arrival.at for arrival in arrivals]
    return [max(now - before, 0) / 1000 for before, now in zip(times[:1] + times, times, strict=False)]


async def never(*, was_silent: bool) -> None:
    """The recording has no more. What was silent is silent until the time limit; any other connection is lost."""
    if not was_silent:
        raise LostError
    await asyncio.Event().wait()


def error_of(failure: Failure) -> Exception:
    """An error as this one was."""
    return _ERRORS[failure]()


_ERRORS: Final[dict[Failure, Callable[[], Exception]]] = {
    "unreachable": lambda: _caused(NoConnectionError("", 0), OSError(errno.ECONNREFUSED, "refused")),
    "unreachable_tls": lambda: _caused(TlsError("", 0), OSError(errno.EPROTO, "TLS failed")),
    "no_connection_in_time": ConnectTimeoutError,
    "silent": TimeoutError,
    "compressed": CompressedError,
    "not_http": NotHttpError,
    "broke_off": LostError,
}


def _caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


class _ReplayedBody(ResponseBody):
    """The rest of a recorded answer."""

    def __init__(self, arrivals: Sequence[Arrival], waits: Sequence[float], *, was_silent: bool) -> None:
        self._rest = iter(list(zip(arrivals, waits, strict=True)))
        self._was_silent = was_silent
        self.answer = None
        self.read = self._next
        self.taps = ()
        self.has_ended = False

    async def _next(self, _most: int) -> bytes:
        for arrival, wait in self._rest:
            await asyncio.sleep(wait)
            if arrival.failed is not None:
                raise error_of(arrival.failed)
            if arrival.closed:
                await never(was_silent=self._was_silent)
            if arrival.text:
                return arrival.text.encode("utf-8", "surrogateescape")
        return b""
