"""A small web server on loopback whose pages are scripted: `with Site({"/cat.png": page(PNG)}) as site: …`."""

import asyncio
import socket
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import NamedTuple, Self

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
PDF = b"%PDF-1.7\n" + b"x" * 16


class Page(NamedTuple):
    """One answer. `pause` seconds pass between its head and its body, and behind each of its pieces."""

    status: int = 200
    headers: Mapping[str, str] = {}
    pieces: tuple[bytes, ...] = ()
    pause: float = 0


def page(*pieces: bytes, kind: str = "application/octet-stream", pause: float = 0, **headers: str) -> Page:
    """A page with this body."""
    reported = {name.replace("_", "-"): value for name, value in headers.items()}
    return Page(200, {"content-type": kind, **reported}, pieces, pause)


def redirect(location: str, status: int = 302) -> Page:
    """An answer that sends on."""
    return Page(status, {"location": location})


class Site:
    """Serves pages by their path; `asked` lists the heads of all requests, and `on_ask` gets each path."""

    def __init__(
        self, pages: Mapping[str, Page], host: str = "127.0.0.1", on_ask: Callable[[str], None] = lambda _: None
    ) -> None:
        self.pages = dict(pages)
        self.asked: list[str] = []
        self.most_at_once = 0
        self._open = 0
        self._on_ask = on_ask
        self._socket = socket.create_server((host, 0))
        self.port = self._socket.getsockname()[1]
        self.url = f"http://{host}:{self.port}"
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @property
    def paths(self) -> list[str]:
        """What was asked for."""
        return [head.split(" ")[1] for head in self.asked]

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait(5)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._answer, sock=self._socket))
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        self.most_at_once = max(self.most_at_once, self._open)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.asked.append(head)
            self._on_ask(head.split(" ")[1])
            found = self.pages.get(head.split(" ")[1], Page(404))
            writer.write(f"HTTP/1.1 {found.status} X\r\nconnection: close\r\n".encode())
            for name, value in found.headers.items():
                writer.write(f"{name}: {value}\r\n".encode())
            writer.write(b"\r\n")
            await asyncio.sleep(found.pause)
            for piece in found.pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(found.pause)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self._open -= 1
            writer.close()
