"""The Codex CLI searches the web through this server, with a model that knows only functions."""

import json

import pytest

from app.settings import Model, Search, Secret, Server, Settings, Upstream
from tests.support.codex import Codex
from tests.support.serving import serving
from tests.wire.script import call_turn, text_turn
from tests.wire.search_server import SearchServer
from tests.wire.servers import ChatUpstream
from tests.wire.web_site import Site, page

pytestmark = pytest.mark.xdist_group("node")


def test_its_hosted_search_is_run_here_for_a_model_with_that_setting(codex: Codex) -> None:
    """It offers `web_search` to every model, and shows its user each search."""
    with (
        Site({"/cats": page(b"<title>Cats</title><p>They sleep.", kind="text/html")}) as site,
        SearchServer() as server,
    ):
        address = f"{site.url}/cats"
        steps = [
            call_turn("web_search", '{"query": "cats"}'),
            call_turn("open_page", json.dumps({"url": address})),
            call_turn("open_page", json.dumps({"url": address, "find": "sleep"})),
            text_turn("They [sleep](https://example.com/one)."),
        ]
        with ChatUpstream(*steps) as upstream:
            settings = Settings(
                search=Search(backend="searxng", base_url=server.url),
                server=Server(allow_private_urls=True),
                upstreams={"scripted": Upstream(via="chat", base_url=upstream.url, api_key=Secret("sk-scripted"))},
                models={"coder": Model(upstream="scripted", context_window=64_000, search=True)},
            )
            with serving(settings) as url:
                codex.set_up(url, "coder")
                ran = codex.run(f"Read {address}")
    assert (ran.code, ran.said, ran.errors) == (0, ["They [sleep](https://example.com/one)."], [])
    assert [item["action"]["type"] for item in ran.items("web_search")] == ["search", "open_page", "find_in_page"]
    assert [asked.fields["q"] for asked in server.asked] == ["cats"]
    assert site.paths == ["/cats"]
    assert len(upstream.asks) == 4
