"""Pictures and files that a request names by address: their data takes the place of the addresses."""

import asyncio
import socket
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import aiohttp
from msgspec.structs import replace

from ..settings.tables import Can, ServerSettings, UpstreamSettings
from ..types.problems import ProblemError, refuse
from ..types.request import AnyPart, FilePart, ImagePart, Item, Request
from .media_types import type_of
from .policy import check_url, is_data_uri, is_public, refuse_url

_SECONDS = 10
_HEADERS = {"accept": "image/*, application/pdf, text/*", "accept-encoding": "identity", "user-agent": "am-proxy"}


class Getter:
    """Gets the addresses of one request; `left`: the bytes that it may still get."""

    def __init__(self, left: int, *, allow_private: bool) -> None:
        self._left = left
        self._allow_private = allow_private
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(socket_factory=None if allow_private else _public_socket),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            headers=_HEADERS,
        )

    async def close(self) -> None:
        """Close every connection."""
        await self._session.close()

    async def get(self, url: str, path: str, *, times: int) -> tuple[bytes, str]:
        """The data at this address, which the request names `times` times, first at this path; and its declared type.

        Raises `ProblemError` with the path.
        """
        check_url(url, path, allow_private=self._allow_private)
        try:
            async with asyncio.timeout(_SECONDS), self._session.get(url, max_redirects=4) as response:  # three
                return await self._read(response, path, times), response.content_type
        except (aiohttp.ClientError, OSError, ValueError):  # a TimeoutError is an OSError
            raise refuse_url(path, "it could not be fetched") from None

    async def _read(self, response: aiohttp.ClientResponse, path: str, times: int) -> bytes:
        if response.status != 200 or response.headers.get("content-encoding", "identity") != "identity":
            raise aiohttp.ClientPayloadError
        if (response.content_length or 0) * times > self._left:
            raise _too_large(path, times)
        data = bytearray()
        async for piece in response.content.iter_any():
            self._left -= len(piece) * times
            if self._left < 0:
                raise _too_large(path, times)
            data += piece
        return bytes(data)


def _public_socket(info: aiohttp.AddrInfoType) -> socket.socket:
    if not is_public(str(info[4][0])):
        raise OSError("not a public address")
    return socket.socket(*info[:3])


def _too_large(path: str, times: int) -> ProblemError:
    return refuse_url(path, "its data is too large" + (f" to be sent {times} times" if times > 1 else ""))


_MOST = 64
"""Addresses of one request."""
_AT_ONCE = 4
_MOST_BYTES = 32 * 1024 * 1024
"""Of one request; an address counts as often as it is named."""


class _Place(NamedTuple):
    """Where a request names an address."""

    part: ImagePart | FilePart
    url: str
    path: str


Places = dict[str, list[_Place]]
"""Where a request names each address."""


def to_fetch(request: Request, upstream: UpstreamSettings, can: Can, server: ServerSettings) -> Places:
    """What this upstream does not fetch itself, and its model can read. Raises `ProblemError` for too many."""
    wanted: Places = {}
    for place in _places(request):
        readable = can.vision if isinstance(place.part, ImagePart) else can.files
        if readable is not False and _is_ours(place, upstream, server):
            wanted.setdefault(place.url, []).append(place)
    if len(wanted) > _MOST:
        message = f"'input' contains {len(wanted)} URLs to fetch; at most {_MOST} are allowed. Send the data instead."
        raise refuse("invalid_value", message, "input")
    return wanted


async def fetched(request: Request, wanted: Places, server: ServerSettings) -> Request:
    """The request with the data of these addresses. Raises `ProblemError` with the path of one without any."""
    found: dict[str, tuple[str | None, str]] = {}
    getter = Getter(_MOST_BYTES, allow_private=server.allow_private_urls)
    slots = asyncio.Semaphore(_AT_ONCE)

    async def get(url: str, places: list[_Place]) -> None:
        async with slots:
            data, declared = await getter.get(url, places[0].path, times=len(places))
        kind = type_of(data, declared)
        found[url] = kind, f"data:{kind};base64,{b64encode(data).decode()}"

    try:
        async with asyncio.TaskGroup() as group:
            for url, places in wanted.items():
                group.create_task(get(url, places))
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    finally:
        await getter.close()
    filled = {id(place.part): _filled(place, *found[url]) for url, places in wanted.items() for place in places}
    return replace(request, input=tuple([_with(item, filled) for item in request.items]))


def _with(item: Item, filled: Mapping[int, AnyPart]) -> Item:
    """The item with the parts that take the place of its own."""
    for key, content in _contents(item):
        if any(id(part) in filled for part in content):
            item = replace(item, **{key: tuple([filled.get(id(part), part) for part in content])})
    return item


def _contents(item: Item) -> Iterator[tuple[str, tuple[AnyPart, ...]]]:
    for key in ("content", "output"):
        if isinstance(content := getattr(item, key, None), tuple):
            yield key, content


def _places(request: Request) -> Iterator[_Place]:
    for index, item in enumerate(request.items):
        for key, content in _contents(item):
            for number, part in enumerate(content):
                path = f"{request.path_of(index)}.{key}[{number}]"
                if isinstance(part, ImagePart) and part.image_url and not is_data_uri(part.image_url):
                    yield _Place(part, part.image_url, f"{path}.image_url")
                elif isinstance(part, FilePart) and part.file_url and not part.file_data:
                    yield _Place(part, part.file_url, f"{path}.file_url")


def _is_ours(place: _Place, upstream: UpstreamSettings, server: ServerSettings) -> bool:
    """Whether this server fetches it. Of all others, Anthropic's alone takes addresses of files, and of PDF only."""
    if server.fetch_urls == "never" or upstream.via in {"responses", "demo"}:  # which get what was posted
        return False
    by_messages = upstream.via == "messages"
    if by_messages and not place.url.startswith("https://"):  # they fetch nothing else
        return True
    if isinstance(place.part, FilePart):
        return not (by_messages and upstream.provider == "anthropic" and urlsplit(place.url).path.endswith(".pdf"))
    return not upstream.takes_image_urls


def _filled(place: _Place, kind: str | None, uri: str) -> AnyPart:
    """The part with the data."""
    part = place.part
    if isinstance(part, ImagePart):
        if not (kind or "").startswith("image/"):
            raise refuse_url(place.path, "its data is not an image (PNG, JPEG, GIF or WebP)")
        return replace(part, image_url=uri)
    if kind is None:
        raise refuse_url(place.path, "its data is not a PDF, an image or a text")
    name = unquote(urlsplit(place.url).path.rpartition("/")[2])
    named = part.filename or (name if name.isprintable() else None)
    return replace(part, file_data=uri, file_url=None, filename=named)
