"""A server with Anthropic's Messages API that is asked directly: Anthropic, and others that offer the same API."""

from collections.abc import AsyncGenerator, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from ..http_client.keep import KEEP, Keep
from ..options import KeyHeader
from ..protocol.problems import Problem
from ..providers.capabilities import Capabilities
from ..providers.claude_models import claude_model
from .counting import CountingAddress
from .faults import ReportedError, invalid_answer, problem_in_stream
from .http_failures import TROUBLE
from .http_server import CONNECT, HttpServer
from .message_events import MessageEvents
from .paused_answers import carried_on, may_pause
from .payload_sink import taken_by_sink
from .port import Counted, UpstreamBroke
from .short_question import VERSION_HEADERS
from .sse_lines import NotEventsError

Json = dict[str, Any]

BINDING_BETA: Final = "thinking-binding-controls-2026-08-01"
"""The beta feature of `thinking.block_binding`."""
OTHERS: Final = Capabilities(audio=False, structured_output=(), strict_tools=False, verbosity=False)
"""What models that are no Claude accept."""
_COUNTED: Final = ("model", "messages", "system", "tools", "tool_choice", "thinking")
"""The fields of a request that are sent to be counted: the server refuses the others there."""


class HttpMessages:
    """A server at `base_url`, which ends with the version, with the Messages API. The key goes nowhere but to it."""

    def __init__(  # noqa: PLR0913 — each is a setting of the upstream
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        key_header: KeyHeader = "x-api-key",
        betas: Sequence[str] = (),
        timeout: float = 300.0,
        connect: float = CONNECT,
        keep: Keep = KEEP,
    ) -> None:
        server_at = partial(
            HttpServer, api_key=api_key, key_header=key_header, timeout=timeout, connect=connect, keep=keep,
            headers=VERSION_HEADERS,
        )  # fmt: skip
        url = f"{base_url.rstrip('/')}/messages"
        self._betas = tuple(betas)
        self._server = server_at(url)
        self._counter = CountingAddress(server_at(f"{url}/count_tokens"), "input_tokens")
        self._secret = api_key

    def open(self, ask: Json, key: str | None = None) -> AsyncGenerator[Json]:
        """Ask, and yield events as they come. `UpstreamRefused` first, `UpstreamBroke` later."""
        if may_pause(ask):
            return carried_on(ask, partial(self._message, key=key, may_take=False))
        return self._message(ask, key)

    async def _message(self, ask: Json, key: str | None, *, may_take: bool = True) -> AsyncGenerator[Json]:
        """The events of one message. `may_take`: they may also go to the `SINK` of this task."""
        started = False
        model = str(ask["model"])
        answer = None
        events = MessageEvents()
        try:
            answer = await self._server.ask(msgspec.json.encode(ask), key, self._headers_for(ask))
            del ask  # it may be large, and the answer may take long
            take = taken_by_sink(events.read, lambda: events.done) if may_take else None
            async for data in answer.pieces(take):
                for event in events.read(data):
                    started = True
                    yield event
                    del event  # its memory is freed while the next one is awaited
                del data
                if events.done:
                    return
            for event in events.end():
                started = True
                yield event
        except (*TROUBLE, NotEventsError, ReportedError) as error:
            secret = key or self._secret
            problem = self._problem(error, model, secret)
            cause = self._server.cause(error, problem, secret)
            # not `from error`: its text may hold the key, and a traceback would print it
            if started:
                raise UpstreamBroke(problem) from None
            raise self._server.refused(error, problem, cause) from None
        finally:
            if answer is not None:
                answer.release(complete=events.done)

    async def count(self, ask: Json, key: str | None = None) -> Counted | None:
        """The tokens of a request, counted by the server; None if it cannot count. `UpstreamRefused` as in `open`."""
        body: Json = {name: ask[name] for name in _COUNTED if name in ask}
        try:
            return await self._counter.count(body, key, self._headers_for(body))
        except TROUBLE as error:
            secret = key or self._secret
            problem = self._problem(error, str(ask["model"]), secret)
            raise self._server.refused(error, problem, self._server.cause(error, problem, secret)) from None

    async def capabilities(self, model: str) -> Capabilities:
        """What this model can do, by its name."""
        claude = claude_model(model)
        return OTHERS if claude is None else claude.capabilities

    async def dropped(self, ask: Json) -> list[str]:  # noqa: ARG002 — as the interface demands
        """Nothing: an ask is sent as it is."""
        return []

    async def close(self) -> None:
        """Close every connection."""
        await self._server.close()
        await self._counter.close()

    def _headers_for(self, ask: Json) -> dict[str, str]:
        """The header that names the beta features of this ask."""
        binds = "block_binding" in ask.get("thinking", {})
        betas = dict.fromkeys((*self._betas, *((BINDING_BETA,) if binds else ())))
        return {"anthropic-beta": ",".join(betas)} if betas else {}

    def _problem(self, error: Exception, model: str, secret: str | None) -> Problem:
        match error:
            case ReportedError():
                return problem_in_stream(error.body, model=model, secret=secret)
            case NotEventsError():
                return invalid_answer(str(error))
            case _:
                return self._server.problem(error, model, secret)
