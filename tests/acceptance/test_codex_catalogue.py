"""The Codex CLI with a catalogue that it reads from the server: what is configured for a model has its effect."""

import pytest

from app.settings import Model, Settings, Upstream
from tests.support.codex import Codex
from tests.support.script import text_turn
from tests.support.servers import ChatUpstream
from tests.support.serving import serving

pytestmark = pytest.mark.xdist_group("node")


@pytest.mark.parametrize("tool_search", [True, False])
def test_it_reads_the_catalogue_at_its_address_if_it_has_a_key(codex: Codex, *, tool_search: bool) -> None:
    model = Model(
        upstream="scripted",
        context_window=64_000,
        tool_search=tool_search,
        auto_compact_token_limit=20_000,
        default_reasoning_summary="concise",
        multi_agent_version="v2",
    )
    with ChatUpstream(text_turn("Hello.")) as upstream:
        there = Upstream(via="chat", base_url=upstream.url)
        with serving(Settings(upstreams={"scripted": there}, models={"coder": model})) as url:
            address = f'model_catalog_url = "{url}/v1/models"\nexperimental_bearer_token = "none"'
            codex.set_up(url, "coder", provider=address)
            config = codex.folder / "config.toml"
            config.write_text(config.read_text("utf-8").replace('model_catalog_json = "models.json"\n', ""), "utf-8")
            (codex.folder / "models.json").unlink()
            ran = codex.run("Say hello")
    assert (ran.code, ran.said, ran.errors) == (0, ["Hello."], [])
    names = [tool["function"]["name"] for tool in upstream.asks[0].body["tools"]]
    assert "apply_patch" in names, "the catalogue was read"
    assert ("tool_search" in names) is tool_search
