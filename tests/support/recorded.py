"""A server that records, and the recordings that it has made."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import httpx
import msgspec

from app.recordings.recording import (
    ABOUT,
    EVENTS,
    REQUEST,
    About,
    Arrival,
    ClientEvent,
    Exchange,
    Recording,
    ask_name,
    upstream_name,
)
from app.settings import Model, Server, Settings, Upstream
from tests.support.serving import serving

Line = TypeVar("Line", Arrival, ClientEvent)


def with_folder(settings: Settings, folder: Path, **server: Any) -> Settings:
    """The same settings, which record."""
    return replace(settings, server=settings.server.model_copy(update={"record": str(folder), **server}))


def one_upstream(url: str, via: Any = "chat", **upstream: Any) -> Settings:
    """One model on one upstream."""
    table = Upstream(via=via, base_url=url, **upstream)
    return Settings(server=Server(), upstreams={"u": table}, models={"m": Model(upstream="u")})


@contextmanager
def recording(settings: Settings, folder: Path, **server: Any) -> Iterator[str]:
    """The address of the server. Its recordings are complete after the block."""
    with serving(with_folder(settings, folder, **server)) as url:
        yield url


def recorded(settings: Settings, folder: Path, *bodies: dict[str, Any], **server: Any) -> list[Recording]:
    """The recordings of these requests."""
    with recording(settings, folder, **server) as url:
        for body in bodies:
            httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi", "stream": True} | body, timeout=30)
    return recordings_in(folder)


def recordings_in(folder: Path) -> list[Recording]:
    """The recordings in this folder, in the order in which their turns ended."""
    return [read(each) for each in sorted(folder.iterdir())]


def read(folder: Path) -> Recording:
    """The recording in this folder."""

    def value(name: str) -> Any:
        return json.loads((folder / name).read_text())

    def lines(name: str, kind: type[Line]) -> list[Line]:
        return [msgspec.convert(json.loads(line), kind) for line in (folder / name).read_text().split("\n")[:-1]]

    about = msgspec.convert(value(ABOUT), About)
    exchanges = [
        Exchange(upstream, value(ask_name(number)), lines(upstream_name(number), Arrival))
        for number, upstream in enumerate(about.upstreams, 1)
    ]
    request = value(REQUEST) if about.request_is_kept else None
    return Recording(about, request, exchanges, lines(EVENTS, ClientEvent))
