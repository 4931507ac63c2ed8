"""What `docs/providers.md` says of a provider is what is proven here."""

import re
import tomllib
from typing import Any, Final

import pytest

from tests.support.running import ROOT
from tests.wires.lanes import LANES

ADDRESSES: Final = {
    "openai, directly": "https://api.openai.com/v1",
    "deepseek, directly": "https://api.deepseek.com",
    "mistral, directly": "https://api.mistral.ai/v1",
    "ollama, directly": "http://127.0.0.1:11434/v1",
    "vllm, directly": "http://127.0.0.1:8000/v1",
    "openrouter, directly": "https://openrouter.ai/api/v1",
}
PAGE: Final = (ROOT / "docs" / "providers.md").read_text(encoding="utf-8")
TABLES: Final = [tomllib.loads(text) for text in re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)]
OF_NO_MATTER: Final = ("api_key", "base_url", "name", "upstream")


def told(via: str, **wanted: Any) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The upstream on this page that has all of this, and its model, without what is the reader's own."""
    return [
        (_settings(upstream), _settings(model))
        for tables in TABLES
        for name, upstream in tables["upstreams"].items()
        for model in tables["models"].values()
        if model["upstream"] == name and {"via": "litellm", **upstream}.items() >= {"via": via, **wanted}.items()
    ]


def _settings(table: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in OF_NO_MATTER}


@pytest.mark.parametrize(("lane", "address"), ADDRESSES.items(), ids=ADDRESSES)
def test_a_server_that_is_spoken_to_directly_is_configured_as_the_page_says(lane: str, address: str) -> None:
    _, upstream, model = LANES[lane]
    assert (upstream, model) in told("chat", base_url=address)


@pytest.mark.parametrize("lane", ["cohere", "deepseek", "anthropic", "gemini", "mistral"])
def test_a_provider_behind_litellm_is_configured_as_the_page_says(lane: str) -> None:
    _, upstream, model = LANES[lane]
    assert ({"provider": upstream["provider"]}, model) in told("litellm", provider=upstream["provider"])
