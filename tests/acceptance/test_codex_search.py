"""The Codex CLI searches the web through this server, with a model that knows only functions."""

import json

import pytest

from app.settings import Model, Search, Secret, Server, Settings, Upstream
from tests.support.codex import Codex
from tests.support.script import call_turn, text_turn
from tests.support.search_server import SearchServer
from tests.support.servers import ChatUpstream
from tests.support.serving import serving
from tests.support.web_site import Site, page

pytestmark = pytest.mark.xdist_group("node")


def test_it_searches_and_opens_a_page(codex: Codex) -> None:
    with (
        Site({"/cats": page(b"<title>Cats</title><p>They sleep.", kind="text/html")}) as site,
        SearchServer() as server,
    ):
        opened = f"{site.url}/cats"
        steps = [
            call_turn("web__run", json.dumps({"search_query": [{"q": "cats", "recency": 7}]})),
            call_turn("web__run", json.dumps({"open": [{"ref_id": opened}], "time": [{"utc_offset": "+00:00"}]})),
            text_turn("They sleep."),
        ]
        with ChatUpstream(*steps) as upstream:
            settings = Settings(
                search=Search(backend="searxng", base_url=server.url),
                server=Server(allow_private_urls=True),
                upstreams={"scripted": Upstream(via="chat", base_url=upstream.url, api_key=Secret("sk-scripted"))},
                models={"coder": Model(upstream="scripted", context_window=64_000)},
            )
            with serving(settings) as url:
                codex.set_up(url, "coder", provider="supports_standalone_web_search = true")
                config = (codex.folder / "config.toml").read_text()
                config = f'web_search = "live"\n{config}\n[features]\nstandalone_web_search = true\n'
                (codex.folder / "config.toml").write_text(config)
                ran = codex.run("What do cats do?")
    assert (ran.code, ran.said, ran.errors) == (0, ["They sleep."], [])
    assert [asked.fields for asked in server.asked] == [{"q": "cats", "format": "json", "time_range": "week"}]
    outputs = [message["content"] for message in upstream.asks[-1].body["messages"] if message["role"] == "tool"]
    assert 'Results for "cats":\n1. First page\n   https://example.com/one' in outputs[0]
    assert f'Page "Cats" ({opened}), 1 lines.' in outputs[1]
    assert "L0: They sleep.\n\nThe time at UTC+00:00 is " in outputs[1]


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
