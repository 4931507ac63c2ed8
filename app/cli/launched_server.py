"""The server of `am-proxy launch`: one of its own, in a thread of this process, or one that runs already."""

import http.client
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from ..json_text import json_value
from ..main import TracingUnavailableError, build_app
from ..settings import Settings
from .banner import address
from .launched_models import MissingError
from .serve import ReloadingServer, listen, listen_advice

_START_WITHIN: Final = 30
"""Seconds for the start of the server."""
_ANSWER_WITHIN: Final = 10
_STOP_WITHIN: Final = 3
_LONGEST: Final = 64 * 1024 * 1024
"""Bytes of a catalogue: those of ten thousand models."""


class Listed(NamedTuple):
    """What a server lists."""

    status: int
    is_ours: bool
    """Whether it is an AM Proxy."""
    models: Sequence[Mapping[str, Any]]
    """As `codex_model` describes them."""


@contextmanager
def own_server(settings: Settings) -> Iterator[str]:
    """Serve until the block ends; the base URL. It ends with this process, however that ends.

    Raises `MissingError` if it cannot start.
    """
    ready = threading.Event()
    host, port = settings.server.host, settings.server.port
    try:
        listener = listen(host, port, send_timeout=settings.server.send_timeout)
        application = build_app(settings)
    except OSError as error:
        raise MissingError(f"its server cannot listen on port {port}: {listen_advice(error)}") from error
    except TracingUnavailableError as error:
        raise MissingError(str(error)) from error
    with listener:
        server = ReloadingServer(application, settings, listener, ready=ready.set)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="server", daemon=True)
        thread.start()
        for _ in range(_START_WITHIN * 10):
            if ready.wait(0.1) or not thread.is_alive():
                break
        if not ready.is_set():
            raise MissingError("the server did not start")
        try:
            yield address(host, listener.getsockname()[1])
        finally:
            server.stop_now()
            thread.join(_STOP_WITHIN)


def listed_at(base_url: str, key: str | None) -> Listed:
    """The models of the server at this address on this machine. No proxy of the environment is used."""
    host, _, path = base_url.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=_ANSWER_WITHIN)
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    try:
        connection.request("GET", f"/{path}/models?client_version=0", headers=headers)
        response = connection.getresponse()
        body, ours = response.read(_LONGEST + 1), (response.getheader("x-request-id") or "").startswith("req_AM-")
    except (OSError, http.client.HTTPException):
        return Listed(0, is_ours=False, models=[])
    finally:
        connection.close()
    models: Any = None
    if response.status == HTTPStatus.OK and len(body) <= _LONGEST:
        try:
            models = json_value(body).get("models")
        except (ValueError, AttributeError, RecursionError):
            models = None
    entries = [entry for entry in models or [] if isinstance(entry, dict) and isinstance(entry.get("slug"), str)]
    return Listed(response.status, is_ours=ours, models=entries)
