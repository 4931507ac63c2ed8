"""The insides of libraries that this server builds on are as it knows them. A version that fails here needs a look.

Where each is used: app/upstreams/litellm_connector.py (aiohttp), app/upstreams/litellm_transport.py (httpx),
app/transports/http_guard.py, app/transports/websocket_guard.py and app/cli/reloading_server.py (uvicorn, websockets).
"""

import asyncio
import io
from functools import partial
from typing import Any

import aiohttp
import aiohttp.payload
import httpx
import uvicorn
from aiohttp.client_proto import ResponseHandler
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.frames import Frame, Opcode

from app.http_client.http_connection import LARGE
from app.upstreams.litellm_connector import in_pieces
from tests.support.internals import Attribute, Method, changes


class Known:
    """Something whose inside is known."""

    kind = "known"

    def __init__(self) -> None:
        self.held = 1

    def take(self, first: int, *, last: int) -> int:
        return first + last + self.held

    async def wait(self) -> None:
        """Does nothing."""


Known.__module__ = "aiohttp.of_this_test"
NOW = f"aiohttp {aiohttp.__version__}: Known"


def test_what_has_changed_is_named() -> None:
    same: list[Any] = [Method(Known, "take", ("first",), ("last",)), Method(Known, "wait", waits=True)]
    assert changes(*same, Attribute(Known, "kind")) == []
    assert changes(
        Method(Known, "gone"), Method(Known, "take", ("last",)), Method(Known, "wait"), Attribute(Known, "lost")
    ) == [
        f"{NOW}.gone is gone",
        f"{NOW}.take takes ('first',), by name ('last',); it is used with ('last',), by name ()",
        f"{NOW}.wait is a coroutine now",
        f"{NOW}.lost is not set or declared any more",
    ]


def test_of_aiohttps_connections() -> None:
    connector = aiohttp.TCPConnector
    assert (
        changes(
            Method(connector, "_get", ("key", "traces"), waits=True),
            Method(connector, "_release", ("key", "protocol"), ("should_close",)),
            *(Attribute(connector, name) for name in ("_conns", "_closed", "_factory", "_keepalive_timeout", "_loop")),
            Method(ResponseHandler, "__init__", ("loop",)),
            Method(ResponseHandler, "eof_received"),
            Method(ResponseHandler, "connection_lost", ("exc",)),
            Method(ResponseHandler, "feed_data", ("data", "size")),
            Method(ResponseHandler, "set_exception", ("exc", "exc_cause")),
            Method(ResponseHandler, "is_connected"),
            Method(ResponseHandler, "close"),
            *(Attribute(ResponseHandler, name) for name in ("should_close", "transport")),
            Method(aiohttp.StreamReader, "readany", waits=True),
            Method(aiohttp.StreamReader, "at_eof"),
        )
        == []
    )


async def test_of_the_connections_in_aiohttps_pool() -> None:
    """The pool is a queue of each server's connections, the oldest first, each beside the time it came back."""
    connector = aiohttp.TCPConnector()
    factory = connector._factory
    assert isinstance(factory, partial)
    assert (factory.func, set(factory.keywords)) == (ResponseHandler, {"loop"})
    protocol = ResponseHandler(asyncio.get_running_loop())
    protocol.transport = type("Open", (), {"is_closing": lambda _: False, "close": lambda _: None})()
    key: Any = "server"
    connector._acquired.add(protocol)
    connector._release(key, protocol)
    assert [held for held, _ in connector._conns[key]] == [protocol]
    assert connector._conns[key].popleft()[0] is protocol
    await connector.close()


async def test_of_how_aiohttp_takes_a_large_body() -> None:
    """As something that gives one piece after the other. The header tells its length."""
    body = b"x" * (LARGE + 1)
    assert in_pieces(body[:LARGE]) == body[:LARGE]
    given = in_pieces(body)
    assert type(aiohttp.payload.PAYLOAD_REGISTRY.get(given)) is aiohttp.payload.AsyncIterablePayload
    assert not isinstance(given, bytes)
    assert [len(piece) async for piece in given] == [LARGE, 1]


def test_of_the_body_of_a_request_of_httpx() -> None:
    request = httpx.Request("POST", "http://there", content=b"body")
    assert request._content == b"body"
    given: Any = io.BytesIO(b"read")
    request._content = given
    assert request.content is given


def test_of_uvicorns_http() -> None:
    http = HttpToolsProtocol
    attributes = ("cycle", "flow", "headers", "loop", "parser", "pipeline", "scope", "transport", "url")
    assert (
        changes(
            Method(http, "__init__", ("config", "server_state", "app_state", "_loop")),
            Method(http, "connection_made", ("transport",)),
            Method(http, "connection_lost", ("exc",)),
            Method(http, "data_received", ("data",)),
            Method(http, "on_header", ("name", "value")),
            Method(http, "send_400_response", ("msg",)),
            *(Method(http, f"{what}_writing") for what in ("pause", "resume")),
            *(Method(http, f"on_{what}") for what in ("message_begin", "headers_complete", "message_complete")),
            *(Method(http, name) for name in ("on_response_complete", "handle_websocket_upgrade", "_should_upgrade")),
            *(Attribute(http, name) for name in attributes),
            *(
                Attribute(RequestResponseCycle, name)
                for name in ("keep_alive", "response_complete", "response_started")
            ),
        )
        == []
    )
    assert STATUS_LINE[400] == b"HTTP/1.1 400 Bad Request\r\n"


def test_of_uvicorns_websockets() -> None:
    socket = WebSocketsSansIOProtocol
    state = ("close_sent", "disconnected", "handshake_complete", "initial_response")
    assert (
        changes(
            Method(socket, "data_received", ("data",)),
            *(Method(socket, f"handle_{kind}", ("event",)) for kind in ("text", "bytes", "cont")),
            Method(socket, "handle_parser_exception"),
            Method(socket, "send_receive_event_to_app"),
            Method(socket, "shutdown"),
            Method(socket, "send", ("message",), waits=True),
            Method(socket, "run_asgi", waits=True),
            Method(socket, "connection_lost", ("exc",)),
            *(Attribute(socket, name) for name in ("conn", "frames", "loop", "queue", "scope", "transport", *state)),
            Attribute(socket, "curr_msg_data_type"),
        )
        == []
    )
    frame = Frame(Opcode.TEXT, b"data")
    frame.data = b""
    assert frame.data == b""


def test_of_uvicorns_server() -> None:
    server = uvicorn.Server
    assert (
        changes(
            *(Method(server, name, ("sockets",), waits=True) for name in ("startup", "shutdown")),
            Method(server, "on_tick", ("counter",), waits=True),
            Attribute(server, "handle_exit"),  # sse-starlette puts its own in its place, which takes anything
            *(Attribute(server, name) for name in ("started", "should_exit", "force_exit", "server_state")),
            *(Attribute(ServerState, name) for name in ("connections", "tasks")),
        )
        == []
    )
