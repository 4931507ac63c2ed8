"""Replaces the URLs of images and files in a request by their data."""

import asyncio
from binascii import b2a_base64
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit

from ..off_loop import off_loop
from ..protocol.problems import refuse
from ..protocol.request.create_response import CreateResponse
from ..protocol.request.input_items import InputItem
from ..protocol.request.input_parts import InputFilePart, InputImagePart, InputPart
from ..providers.capabilities import ANYTHING, Capabilities
from .fetcher import Budget, Fetched, Fetcher, Wanted
from .url_policy import CONTENT, is_data_uri

MOST: Final = 64
"""Different URLs of one request that are fetched."""
AT_ONCE: Final = 4
"""Fetches of one request at the same time."""
PIECE: Final = 256 * 1024
"""A third of the bytes that are encoded as base64 in one step, during which the event loop waits."""


_Address: TypeAlias = tuple[str, Wanted]


class _UrlPart(NamedTuple):
    """A part that is given by URL, and its position in the request."""

    item: int
    position: int
    """The index of its item in the `input` of the request."""
    key: str
    part: int
    wanted: Wanted
    url: str

    @property
    def path(self) -> str:
        name = "image_url" if self.wanted == "image" else "file_url"
        return f"input[{self.position}].{self.key}[{self.part}].{name}"


class Attachments:
    """Fetches URLs for upstreams that do not. `fetches_image` selects the images, `fetches_file` the files."""

    def __init__(
        self,
        fetcher: Fetcher,
        *,
        fetches_image: Callable[[str], bool],
        fetches_file: Callable[[str], bool],
        most_bytes: int,
    ) -> None:
        self._fetcher = fetcher
        self._fetches_image = fetches_image
        self._fetches_file = fetches_file
        self._most_bytes = most_bytes

    async def resolved(self, request: CreateResponse, can: Capabilities = ANYTHING, owner: str = "") -> CreateResponse:
        """The same request with the data of every attachment that the model can read; others are not fetched.

        `owner` is the caller.

        Raises `ProblemError` with the path of a part that cannot be fetched.
        """
        parts = list(self._url_parts(request.items, request.positions or range(len(request.items)), can))
        if not parts:
            return request
        wanted: dict[_Address, list[str]] = {}
        for part in parts:
            wanted.setdefault((part.url, part.wanted), []).append(part.path)
        if len(wanted) > MOST:
            message = (
                f"'input' contains {len(wanted)} URLs to fetch; at most {MOST} are allowed. Send the data instead."
            )
            raise refuse("invalid_value", message, "input")
        uris = await self._fetch_all(wanted, owner)
        items = list(request.items)
        for part in parts:
            items[part.item] = _with_data(items[part.item], part, uris[part.url, part.wanted])
        size = request.size + sum(len(uris[part.url, part.wanted]) for part in parts)
        return request.model_copy(update={"input": items, "size": size})

    def _url_parts(self, items: list[InputItem], positions: Sequence[int], can: Capabilities) -> Iterator[_UrlPart]:
        for index, (item, position) in enumerate(zip(items, positions, strict=True)):
            held = vars(item)
            for key in CONTENT:
                content = held.get(key)
                if type(content) is not list:
                    continue
                for number, part in enumerate(content):
                    if isinstance(part, InputImagePart) and part.image_url and not is_data_uri(part.image_url):
                        if can.vision is not False and self._fetches_image(part.image_url):
                            yield _UrlPart(index, position, key, number, "image", part.image_url)
                    elif not isinstance(part, InputFilePart) or can.files is False:
                        continue
                    elif part.file_url and not part.file_data and self._fetches_file(part.file_url):
                        yield _UrlPart(index, position, key, number, "file", part.file_url)

    async def _fetch_all(self, wanted: dict[_Address, list[str]], owner: str) -> dict[_Address, str]:
        """A data URI for each URL. `wanted` has the paths of the parts that use it."""
        budget = Budget(self._most_bytes)
        slots = asyncio.Semaphore(AT_ONCE)

        async def one(url: str, kind: Wanted, paths: list[str]) -> str:
            async with slots:
                fetched = await self._fetcher.fetch(url, paths[0], kind, budget, owner, times=len(paths))
                return await off_loop(len(fetched.data), data_uri, fetched)

        tasks = [asyncio.ensure_future(one(url, kind, paths)) for (url, kind), paths in wanted.items()]
        try:
            return dict(zip(wanted, await asyncio.gather(*tasks), strict=True))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def data_uri(fetched: Fetched) -> str:
    """The data URI of this file."""
    step = 3 * PIECE
    pieces = (b2a_base64(fetched.data[at : at + step], newline=False) for at in range(0, len(fetched.data), step))
    return "".join((f"data:{fetched.kind};base64,", *(piece.decode() for piece in pieces)))


def _with_data(item: InputItem, url_part: _UrlPart, uri: str) -> InputItem:
    """The item, in which the URL of this part is replaced by a data URI."""
    content: list[InputPart] = list(getattr(item, url_part.key))
    part = content[url_part.part]
    if isinstance(part, InputFilePart):
        name = part.filename or _name_in(url_part.url)
        content[url_part.part] = part.model_copy(update={"file_data": uri, "file_url": None, "filename": name})
    else:
        content[url_part.part] = part.model_copy(update={"image_url": uri})
    return item.model_copy(update={url_part.key: content})


def _name_in(url: str) -> str | None:
    """The name of the file in its URL."""
    name = unquote(urlsplit(url).path.rpartition("/")[2])
    return name if name.isprintable() and name else None
