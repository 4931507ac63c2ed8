"""Asks an upstream of litellm that gets the body as it is. litellm is an argument: it is not imported here.

What litellm decides about such a request is its address, its headers, and fields that it adds to the body. None of
that depends on the conversation. So litellm makes one request for each model, with a stand-in for the key and a client
that sends nothing, and every ask of the model is sent in that way, by litellm's own pool of connections. This costs a
third of a whole call of litellm.

If litellm makes that one request in any other way than is known here, there is none, and litellm is called each time.
"""

import datetime as dt
import json
from collections.abc import Coroutine
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from ..json_text import json_bytes
from .litellm_chunks import PlainAnswer, reads_plain_lines

Json = dict[str, Any]

_KEY: Final = "am-proxy-stands-for-the-key"
_BODY: Final[Json] = {"messages": [{"role": "user", "content": "."}], "stream": True}
_OF_ONE_ASK: Final = frozenset({"api_key", "extra_body", "extra_headers"})
"""Arguments of `acompletion` that are not the same for all asks of a model."""
_SETTINGS: Final = frozenset({"timeout", "stream", "logging_obj", "headers", "data"})
"""What litellm's client is called with."""
MODELS_REMEMBERED: Final = 1000


class KnownRequest(NamedTuple):
    """How a request for one model is sent."""

    url: Any
    """httpx's URL."""
    headers: dict[str, str]
    """Besides those of every request of litellm's client."""
    added: Json
    """Fields of the body besides those of the ask."""


class AnsweredError(Exception):
    """The server answered with something other than a success."""

    def __init__(self, response: Any) -> None:
        super().__init__("")
        self.response = response
        self.status_code = response.status_code


class UnsentError(Exception):
    """The request cannot be written, because its key or its address cannot be part of one."""


class AsIsRequests:
    """How requests for the models of one upstream are sent."""

    def __init__(self) -> None:
        self._known: dict[str, KnownRequest | None] = {}

    def models(self) -> list[str]:
        """The models of which it is known."""
        return list(self._known)

    async def ask(self, litellm: Any, kwargs: Json) -> PlainAnswer | None:
        """Send what `acompletion` with these arguments would send, and return with the head of the answer.

        None if that must be left to litellm: nothing was sent then.
        """
        model = kwargs["model"]
        if model not in self._known:
            if len(self._known) >= MODELS_REMEMBERED:  # with a model `*`, clients may invent any number of names
                self._known.clear()
            self._known[model] = known_request(litellm, kwargs)
        known = self._known[model]
        return None if known is None else await _asked(litellm, known, kwargs)


def known_request(litellm: Any, kwargs: Json) -> KnownRequest | None:
    """How litellm would send requests with these arguments; None if not in a way that is known here."""
    try:
        return _known(litellm, kwargs)
    except Exception:  # noqa: BLE001 — whatever is different in this litellm: it is called for each request then
        return None


def _known(litellm: Any, kwargs: Json) -> KnownRequest | None:
    client = _silent_client(litellm)
    logging = litellm.Logging(
        model=kwargs["model"],
        messages=kwargs["messages"],
        stream=True,
        call_type="acompletion",
        start_time=dt.datetime.now(tz=dt.UTC),
        litellm_call_id="",
        function_id="",
    )
    changed = {"api_key": _KEY, "extra_body": dict(_BODY), "client": client, "litellm_logging_obj": logging}
    of_every_ask = {name: value for name, value in kwargs.items() if name not in _OF_ONE_ASK}
    stream = _result(litellm.completion(**of_every_ask, **changed, acompletion=True))
    [(url, settings)] = client.posts
    headers = {name.lower(): str(value) for name, value in settings["headers"].items()}
    body = json.loads(settings["data"])
    as_is = {name: body.pop(name, None) for name in _BODY} == _BODY
    holders = [name for name, value in headers.items() if _KEY in value]
    elsewhere = _KEY in url or _KEY in json.dumps(body)
    if not as_is or elsewhere or len(holders) != 1 or not settings.keys() <= _SETTINGS or not reads_plain_lines(stream):
        return None
    return KnownRequest(client.url_of(url), headers, body)


async def _asked(litellm: Any, request: KnownRequest, kwargs: Json) -> PlainAnswer:
    import httpx  # noqa: PLC0415 — litellm's own library, which nothing needs without it

    key, seconds = kwargs["api_key"], kwargs["timeout"]
    handler = _pool(litellm, kwargs)
    headers = dict(handler.client.headers) | {name: value.replace(_KEY, key) for name, value in request.headers.items()}
    headers |= kwargs.get("extra_headers", {})
    content = json_bytes(request.added | kwargs["extra_body"])
    wait = dict.fromkeys(("connect", "read", "write", "pool"), seconds)
    post = httpx.Request("POST", request.url, headers=headers, content=content, extensions={"timeout": wait})
    try:
        response = await handler.client.send(post, stream=True)
    except ValueError as error:  # it would be taken for an error of litellm's parser
        raise UnsentError from error
    if response.status_code >= HTTPStatus.MULTIPLE_CHOICES:
        try:
            with suppress(httpx.HTTPError):  # without its body, the status says enough
                await response.aread()
        finally:
            await response.aclose()
        raise AnsweredError(response)
    return PlainAnswer(response, handler)


def _pool(litellm: Any, kwargs: Json) -> Any:
    """The client, with its pool of connections, that litellm uses for this provider on this event loop."""
    provider = litellm.LlmProviders(kwargs["custom_llm_provider"])
    return litellm.llms.custom_httpx.http_handler.get_async_httpx_client(
        llm_provider=provider, params={"ssl_verify": None}
    )


def _silent_client(litellm: Any) -> Any:
    """A client of litellm that notes what it is to post, and posts nothing."""
    import httpx  # noqa: PLC0415 — as above

    class SilentClient(litellm.llms.custom_httpx.http_handler.AsyncHTTPHandler):  # type: ignore[misc]  # a class of litellm
        def __init__(self) -> None:
            self.posts: list[tuple[str, Json]] = []

        def __del__(self) -> None:
            """There is no connection to close."""

        async def post(self, url: str, **settings: Any) -> httpx.Response:
            self.posts.append((url, settings))
            return httpx.Response(HTTPStatus.OK, content=b"", request=httpx.Request("POST", url))

        def url_of(self, text: str) -> httpx.URL:
            return httpx.URL(text)

    return SilentClient()


def _result(call: Coroutine[Any, Any, Any]) -> Any:
    """What this coroutine returns, which waits for nothing."""
    try:
        call.send(None)
    except StopIteration as done:
        return done.value
    call.close()
    return None
