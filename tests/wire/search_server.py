"""Servers that search: each refuses what the real one would refuse. `with SearchServer("brave") as server: …`."""

import json
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

from tests.wire.ports import give_back, listening

KEY: Final = "sk-search"
RESULTS: Final = [
    {"url": "https://example.com/one", "title": "First <b>page</b>", "text": "One &amp; more."},
    {"url": "https://example.org/two", "title": "Second page", "text": "Two."},
]


class Asked(NamedTuple):
    """A request that the server got."""

    path: str
    fields: dict[str, Any]
    """Of the query, or of the JSON body."""
    headers: dict[str, str]
    """With small letters."""


class Answered(NamedTuple):
    """What it answers."""

    status: int
    body: bytes
    headers: dict[str, str]


def _renamed(snippet: str) -> list[dict[str, str]]:
    return [{"url": each["url"], "title": each["title"], snippet: each["text"]} for each in RESULTS]


def _searxng(asked: Asked) -> tuple[int, Any]:
    if asked.fields.get("format") != "json":
        return 403, None
    fits = asked.path == "/search" and set(asked.fields) <= {"q", "format", "time_range"} and asked.fields["q"]
    fits = fits and asked.fields.get("time_range", "day") in {"day", "week", "month", "year"}
    return (200, {"query": asked.fields["q"], "results": _renamed("content")}) if fits else (400, None)


def _brave(asked: Asked) -> tuple[int, Any]:
    if asked.headers.get("x-subscription-token") != KEY:
        return 401, None
    fields = asked.fields
    fits = asked.path == "/res/v1/web/search" and 1 <= int(fields["count"]) <= 20 and 1 <= len(fields["q"]) <= 400
    fits = fits and fields.get("freshness", "pd") in {"pd", "pw", "pm", "py"}
    return (200, {"type": "search", "web": {"results": _renamed("description")}}) if fits else (422, None)


def _exa(asked: Asked) -> tuple[int, Any]:
    if asked.headers.get("x-api-key") != KEY:
        return 401, None
    fields = asked.fields
    known = {"query", "numResults", "includeDomains", "excludeDomains", "startPublishedDate", "contents"}
    fits = (
        asked.path == "/search"
        and set(fields) <= known
        and type(fields["numResults"]) is int
        and _is_day(fields, "startPublishedDate")
    )
    return (200, {"requestId": "r", "results": _renamed("text")}) if fits else (400, None)


def _tavily(asked: Asked) -> tuple[int, Any]:
    if asked.headers.get("authorization") != f"Bearer {KEY}":
        return 401, None
    fields = asked.fields
    known = {"query", "max_results", "include_domains", "exclude_domains", "start_date"}
    fits = (
        asked.path == "/search"
        and set(fields) <= known
        and 0 <= fields["max_results"] <= 20
        and _is_day(fields, "start_date")
    )
    return (200, {"query": fields["query"], "results": _renamed("content")}) if fits else (400, None)


def _any(asked: Asked) -> tuple[int, Any]:
    if asked.headers.get("x-key") != KEY or asked.path != "/api/find" or not asked.fields.get("words"):
        return 400, None
    items = [{"link": each["url"], "name": each["title"], "summary": each["text"]} for each in RESULTS]
    return 200, {"data": {"items": items}}


def _is_day(fields: dict[str, Any], name: str) -> bool:
    return name not in fields or re.fullmatch(r"\d{4}-\d\d-\d\d", fields[name]) is not None


KINDS: Final[dict[str, Callable[[Asked], tuple[int, Any]]]] = {
    "searxng": _searxng,
    "brave": _brave,
    "exa": _exa,
    "tavily": _tavily,
    "url": _any,
}


class SearchServer:
    """Answers as this kind of server does, or always with `answer`; a function decides for each request."""

    def __init__(
        self, kind: str = "searxng", answer: Answered | Callable[[Asked], Answered | None] | None = None
    ) -> None:
        self.asked: list[Asked] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                fields = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
                self._answer(fields)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                assert self.headers["content-type"] == "application/json"
                self._answer(json.loads(body))

            def _answer(self, fields: dict[str, Any]) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                owner.asked.append(Asked(urlsplit(self.path).path, fields, headers))
                given = answer(owner.asked[-1]) if callable(answer) else answer
                if given is None:
                    status, data = KINDS[kind](owner.asked[-1])
                    body, more = json.dumps(data).encode(), {"content-type": "application/json"}
                else:
                    status, body, more = given
                self.send_response(status)
                for name, value in {"content-length": str(len(body)), "connection": "close", **more}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        with listening() as taken:
            self._port: int = taken.getsockname()[1]
        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        give_back(self._port)
