"""What Codex asks of POST /v1/alpha/search, and the answer for a known query."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx

from app.settings import Search, Secret, Server, Settings
from tests.support.serving import serving
from tests.wire.search_server import KEY, SearchServer

Json = dict[str, Any]
CATS: Final = {"search_query": [{"q": "cats"}]}
OUTPUT: Final = """\
Results for "cats":
1. First page
   https://example.com/one
   One & more.
2. Second page
   https://example.org/two
   Two."""


@contextmanager
def searching(server: SearchServer, kind: str = "searxng", **settings: Any) -> Iterator[str]:
    """The address of AM Proxy before this server."""
    key = None if kind == "searxng" else Secret(KEY)
    search = Search(
        backend=kind,  # type: ignore[arg-type]
        base_url=server.url,
        api_key=key,
        timeout=settings.pop("timeout", 5),
    )
    with serving(Settings(search=search, server=Server(allow_private_urls=True, **settings))) as url:
        yield url


def ask(url: str, commands: Json, key: str = "", **more: Any) -> httpx.Response:
    """As Codex asks."""
    body = {"id": "session", "model": "demo", "input": [], "commands": commands, "max_output_tokens": 2500, **more}
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return httpx.post(f"{url}/v1/alpha/search", json=body, headers=headers, timeout=20)


def output(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    text: str = answer.json()["output"]
    return text
