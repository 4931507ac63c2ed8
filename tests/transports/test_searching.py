"""POST /v1/alpha/search: its other path, its time limit, its counters, and commands that it does not have."""

from typing import Final

import httpx
import pytest

from app.settings import Search, Settings
from tests.support.metrics import samples
from tests.support.search_requests import CATS, OUTPUT, Json, ask, output, searching
from tests.support.serving import serving
from tests.wire.search_server import SearchServer
from tests.wire.web_site import Site, page


def test_the_path_without_a_version() -> None:
    with SearchServer() as server, searching(server) as url:
        assert httpx.post(f"{url}/alpha/search", json={"commands": CATS}).json()["output"] == OUTPUT


def test_a_server_that_is_not_there_or_does_not_answer() -> None:
    with SearchServer() as server:
        pass
    with searching(server) as url:
        assert output(ask(url, CATS)) == 'The search for "cats" failed: the search server could not be reached.'
    with Site({"/search?q=cats&format=json": page(b"{}", pause=3)}) as site:
        search = Search(backend="searxng", base_url=site.url, timeout=0.2)
        with serving(Settings(search=search)) as url:
            assert output(ask(url, CATS)) == 'The search for "cats" failed: the search server took too long.'


def test_outcomes_are_counted() -> None:
    def counts(url: str) -> Json:
        page = samples(httpx.get(f"{url}/metrics").text)
        start = "am_proxy_searches_total"
        return {name.removeprefix(start): count for name, count in page.items() if name.startswith(start)}

    with SearchServer() as server, searching(server) as url:
        ask(url, CATS)
        told = output(ask(url, {**CATS, "open": [{"ref_id": "x"}], "time": [{"utc_offset": "+00:00"}]}))
        assert told.endswith("\n\n`open` is not available on this server.")
        ask(url, CATS, settings={"filters": {"allowed_domains": ["nowhere.example"]}})
        assert counts(url) == {
            '{action="search",outcome="found"}': 2,
            '{action="search",outcome="nothing"}': 1,
        }
    with Site({"/search?q=cats&format=json": page(b"{}", pause=3)}) as site:
        search = Search(backend="searxng", base_url=site.url, timeout=0.2)
        with serving(Settings(search=search)) as url:
            ask(url, CATS)
            ask(url, {"search_query": [{"q": "dogs"}]})
            assert counts(url) == {'{action="search",outcome="timeout"}': 1, '{action="search",outcome="failed"}': 1}


INVALID: Final[list[tuple[Json, str, str]]] = [
    ({"commands": {"open": [{"ref_id": 5}]}}, "invalid_type", "commands.open[0].ref_id"),
    ({"commands": {"open": [{"ref_id": "", "lineno": -1}]}}, "invalid_value", "commands.open[0].lineno"),
]


@pytest.mark.parametrize(("body", "code", "param"), INVALID)
def test_an_invalid_request_is_refused_by_its_path(body: Json, code: str, param: str) -> None:
    with serving() as url:
        error = httpx.post(f"{url}/v1/alpha/search", json=body).json()["error"]
    assert (error["code"], error["param"]) == (code, param)
