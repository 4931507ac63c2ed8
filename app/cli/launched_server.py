"""The server of `am-proxy launch`: one of its own, in a thread of this process, or one that runs already."""

import http.client
import os
import secrets
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from ..json_text import json_value
from ..settings import Key, Settings
from ..settings.sources import ENVIRONMENT_KEY
from ..upstreams.model_list import is_name
from .banner import address
from .launched_models import MissingError

KEY_VARIABLE: Final = "AM_LAUNCH_KEY"
"""The variable in which an agent gets the key of this run."""
_START_WITHIN: Final = 30
"""Seconds for the start of the server."""
_ANSWER_WITHIN: Final[float] = 10
"""Seconds for a whole answer: the program on that port may be any, and send without end."""
_STOP_WITHIN: Final = 3
_LONGEST: Final = 64 * 1024 * 1024
"""Bytes of a catalogue: those of ten thousand models."""
_OUR_IDS: Final = "req_AM-"

Cards = Sequence[Mapping[str, Any]]
"""Models as `codex_model` describes them."""


class ReachedServer(NamedTuple):
    """A server that answers."""

    base_url: str
    models: Cards
    environ: Mapping[str, str] = {}
    """The variable with the key for it, if it wants one."""
    searches: bool = False
    """Whether it searches the web for the caller."""


@contextmanager
def own_server(settings: Settings) -> Iterator[ReachedServer]:
    """Serve until the block ends. The server ends with this process, however that ends.

    If the settings want keys, it has one more for this run. Raises `MissingError` if it cannot start.
    """
    from ..main import CannotStartError, build_app  # noqa: PLC0415 — it takes half a second
    from .listening import listen, listen_advice  # noqa: PLC0415 — as above
    from .reloading_server import ReloadingServer  # noqa: PLC0415 — as above

    settings, environ = _with_key(settings)
    host, port = settings.server.host, settings.server.port
    ready = threading.Event()
    try:
        listener = listen(host, port, send_timeout=settings.server.send_timeout)
    except OSError as error:
        raise MissingError(f"its server cannot listen on port {port}: {listen_advice(error)}") from error
    with listener:
        try:
            application = build_app(settings)
        except CannotStartError as error:
            raise MissingError(str(error)) from error
        server = ReloadingServer(application, settings, listener, ready=ready.set)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="server", daemon=True)
        thread.start()
        for _ in range(_START_WITHIN * 10):
            if ready.wait(0.1) or not thread.is_alive():
                break
        if not ready.is_set():
            raise MissingError("the server did not start")
        try:
            url = address(host, listener.getsockname()[1])
            key = environ.get(KEY_VARIABLE)
            searches = settings.search.backend != "none" and _searches(url, key)
            yield ReachedServer(url, _ask(url, key).models, environ, searches=searches)
        finally:
            server.stop_now()
            thread.join(_STOP_WITHIN)


def _with_key(settings: Settings) -> tuple[Settings, dict[str, str]]:
    if not settings.keys:
        return settings, {}
    key = f"am-{secrets.token_urlsafe(32)}"
    own = Key("launch", sha256(key.encode()).digest())
    return replace(settings, keys=(*settings.keys, own)), {KEY_VARIABLE: key}


def running_server(host: str, port: int) -> ReachedServer | None:
    """The AM Proxy that runs there; None if nothing does. Raises `MissingError` for any other program."""
    url = address(host, port)
    found = _ask(url, None)
    environ = {}
    if found.is_ours and found.status == HTTPStatus.UNAUTHORIZED:
        key = os.environ.get(ENVIRONMENT_KEY, "")
        environ = {ENVIRONMENT_KEY: key}
        found = _ask(url, key) if key else found
    if found.status == _NOTHING:
        return None
    if not found.is_ours:
        raise MissingError(f"port {port} is used by another program: leave --port out, or choose another port")
    if found.status == HTTPStatus.UNAUTHORIZED:
        unknown = "does not know the key in" if environ.get(ENVIRONMENT_KEY) else "needs a key: put it into"
        raise MissingError(f"the AM Proxy at {url} {unknown} the environment variable {ENVIRONMENT_KEY}")
    if found.status != HTTPStatus.OK:
        raise MissingError(f"the AM Proxy at {url} answers with status {found.status}")
    searches = _searches(url, environ.get(ENVIRONMENT_KEY))
    return ReachedServer(url, found.models, environ, searches=searches)


class _ListReply(NamedTuple):
    status: int
    is_ours: bool = False
    """Whether it is an AM Proxy that answers."""
    models: Cards = ()


_NOTHING: Final = 0
"""The status if nothing listens."""
_NO_HTTP: Final = 1


def _ask(base_url: str, key: str | None) -> _ListReply:
    """The list of models of a server on this machine."""
    reply = _exchange(base_url, key, "GET", "/models?client_version=0")
    try:
        listed = json_value(reply.body) if reply.status == HTTPStatus.OK and len(reply.body) <= _LONGEST else None
    except (ValueError, RecursionError):
        listed = None
    models = listed.get("models") if isinstance(listed, dict) else None
    entries = [entry for entry in models or [] if isinstance(entry, dict) and is_name(entry.get("slug"))]
    return _ListReply(reply.status, reply.is_ours, entries)


def _searches(base_url: str, key: str | None) -> bool:
    """Whether a server on this machine searches the web for whoever has this key."""
    return _exchange(base_url, key, "POST", "/alpha/search", b"{}").status == HTTPStatus.OK


class _Reply(NamedTuple):
    status: int
    is_ours: bool = False
    body: bytes = b""


def _exchange(base_url: str, key: str | None, method: str, path: str, body: bytes | None = None) -> _Reply:
    """The answer of a server on this machine. No proxy of the environment is used."""
    host, _, prefix = base_url.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=_ANSWER_WITHIN)
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    headers |= {} if body is None else {"Content-Type": "application/json"}
    late = threading.Event()
    try:
        connection.connect()
        limit = threading.Timer(_ANSWER_WITHIN, _end, (connection.sock, late))
        limit.daemon = True
        limit.start()
    except ConnectionRefusedError:
        return _Reply(_NOTHING)
    except OSError:
        return _Reply(_NO_HTTP)
    try:
        connection.request(method, f"/{prefix}{path}", body, headers)
        response = connection.getresponse()
        answer, ours = response.read(_LONGEST + 1), (response.getheader("x-request-id") or "").startswith(_OUR_IDS)
    except (OSError, ValueError, http.client.HTTPException):
        return _Reply(_NO_HTTP)
    finally:
        limit.cancel()
        connection.close()
    return _Reply(_NO_HTTP) if late.is_set() else _Reply(response.status, ours, answer)


def _end(connection: socket.socket, late: threading.Event) -> None:
    """End an answer that takes too long."""
    late.set()
    with suppress(OSError):  # it has ended by itself
        connection.shutdown(socket.SHUT_RDWR)
