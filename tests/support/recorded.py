"""A server that records, and the recordings that it has made."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from app.recordings.folders import folders_in
from app.recordings.reading import read
from app.recordings.recording import Recording
from app.settings import Model, Server, Settings, Upstream
from tests.support.serving import serving


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
    return [read(each) for each in folders_in(folder)]
