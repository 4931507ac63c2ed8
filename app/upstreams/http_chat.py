"""A chat-completions server that is asked directly, without litellm."""

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import msgspec

from ..http_client.keep import KEEP, Keep
from ..options import ChatCompat
from ..protocol.problems import Problem
from .chat_compat import shaped, tokenized
from .chat_lines import ChatLines, NotAStreamError
from .counting import CountingAddress
from .faults import ReportedError, invalid_answer, is_error, problem_in_stream
from .http_failures import TROUBLE, HttpRefusedError
from .http_server import CONNECT, HttpServer
from .payload_sink import taken_by_sink
from .port import Counted, UpstreamBroke
from .refused_param import with_param
from .response_body import ResponseBody
from .taps import posts

Json = dict[str, Any]

COMPAT: Final = ChatCompat()
V1: Final = "/v1"
"""How a base URL ends next to which vLLM has addresses of its own."""
STREAMED: Final = frozenset({"stream", "stream_options"})
"""Fields of a request that mean nothing when tokens are only counted."""


class HttpChat:
    """A server at `base_url` that speaks chat completions. The key goes nowhere but to it."""

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str | None = None,
        timeout: float = 300.0,
        connect: float = CONNECT,
        keep: Keep = KEEP,
        compat: ChatCompat = COMPAT,
    ) -> None:
        server_at = partial(HttpServer, api_key=api_key, timeout=timeout, connect=connect, keep=keep)
        root = base_url.rstrip("/")
        chat = f"{root}/chat/completions"
        self._server = server_at(chat)
        self._llama_counter = CountingAddress(server_at(f"{chat}/input_tokens"), "input_tokens")
        self._vllm_counter: CountingAddress | None = None
        if root.endswith(V1):
            self._vllm_counter = CountingAddress(server_at(f"{root.removesuffix(V1)}/tokenize"), "count")
        self._secret = api_key
        self._compat = compat

    async def open(self, ask: Json, key: str | None = None) -> AsyncGenerator[Json]:
        """Ask, and yield chunks as they come. `UpstreamRefused` first, `UpstreamBroke` later."""
        started = False
        model = str(ask["model"])
        answer = None
        lines = ChatLines()
        read = partial(_chunks, lines.read)
        try:
            answer = await self._ask(ask, key)
            del ask  # it may be large, and the answer may take long
            async for data in answer.pieces(taken_by_sink(read, lambda: lines.done)):
                for chunk in read(data):
                    started = True
                    yield chunk
                    del chunk  # its memory is freed while the next one is awaited
                del data
                if lines.done:
                    return
            for chunk in _chunks(lines.end):
                started = True
                yield chunk
        except (*TROUBLE, NotAStreamError, ReportedError) as error:
            secret = key or self._secret
            problem = self._problem(error, model, secret)
            cause = self._server.cause(error, problem, secret)
            # not `from error`: its text may hold the key, and a traceback would print it
            if started:
                raise UpstreamBroke(problem) from None
            raise self._server.refused(error, problem, cause) from None
        finally:
            if answer is not None:
                answer.release(complete=lines.done)

    async def count(self, ask: Json, key: str | None = None) -> Counted | None:
        """The tokens of a request, as llama.cpp or vLLM counts them; None from any other server."""
        body = shaped(ask, self._compat)
        whole = {name: value for name, value in body.items() if name not in STREAMED}
        asks = [(self._llama_counter, whole)]
        if self._vllm_counter is not None:
            asks.append((self._vllm_counter, tokenized(body)))
        for counter, count_ask in asks:
            with suppress(*TROUBLE):
                if (counted := await counter.count(count_ask, key)) is not None:
                    return counted
        return None

    def posted(self, ask: Json) -> Json:
        """The body that the server gets for this ask."""
        return shaped(ask, self._compat)

    async def close(self) -> None:
        """Close every connection."""
        for server in (self._server, self._llama_counter, self._vllm_counter):
            if server is not None:
                await server.close()

    async def _ask(self, ask: Json, key: str | None) -> ResponseBody:
        """Ask. A server that refuses `stream_options` is asked without, now and from now on."""
        posts(partial(shaped, compat=self._compat))
        try:
            return await self._server.ask(msgspec.json.encode(shaped(ask, self._compat)), key)
        except HttpRefusedError as refusal:
            client = refusal.status in {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}
            if not (client and "stream_options" in refusal.text and self._compat.stream_options):
                raise
        without = self._compat.model_copy(update={"stream_options": False})
        posts(partial(shaped, compat=without))
        answer = await self._server.ask(msgspec.json.encode(shaped(ask, without)), key)
        self._compat = without
        return answer

    def _problem(self, error: Exception, model: str, secret: str | None) -> Problem:
        match error:
            case ReportedError():
                return problem_in_stream(error.body, model=model, secret=secret)
            case NotAStreamError():
                return invalid_answer(str(error))
            case HttpRefusedError():
                return with_param(self._server.problem(error, model, secret), error.text)
            case _:
                return self._server.problem(error, model, secret)


def _chunks(read: Callable[..., Iterable[Json]], *data: bytes) -> Iterable[Json]:
    """The chunks that `read` returns. Raises `ReportedError` for an error, after the chunks before it."""
    chunks = read(*data)
    if isinstance(chunks, list) and len(chunks) == 1 and chunks[0].get("choices"):  # no error, as nearly always
        return chunks
    return _checked(chunks)


def _checked(chunks: Iterable[Json]) -> Iterator[Json]:
    for chunk in chunks:
        if is_error(chunk):
            raise ReportedError(chunk)
        yield chunk
