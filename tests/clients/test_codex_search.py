"""The Codex CLI searches the web through this server, with a model that knows only functions."""

import json

from tests.support.codex import Codex
from tests.wire.configuration import Model, Search, Settings, Upstream
from tests.wire.program import serving
from tests.wire.script import call_turn, text_turn
from tests.wire.search_server import SearchServer
from tests.wire.servers import ChatUpstream


def test_it_searches(codex: Codex) -> None:
    query = {"search_query": [{"q": "cats", "recency": 7}]}
    steps = call_turn("web__run", json.dumps(query)), text_turn("They sleep.")
    with SearchServer() as server, ChatUpstream(*steps) as upstream:
        settings = Settings(
            search=Search(backend="searxng", base_url=server.url),
            upstreams={"scripted": Upstream(via="chat", base_url=upstream.url)},
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
    [output] = [message["content"] for message in upstream.asks[-1].body["messages"] if message["role"] == "tool"]
    assert 'Results for "cats":\n1. First page\n   https://example.com/one' in output
