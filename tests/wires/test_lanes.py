"""What `docs/providers.md` says of a provider is what is proven here."""

import re
import tomllib
from operator import attrgetter
from typing import Any, Final

import pytest

from app.providers.lookup import PROVIDERS
from tests.support.provider_lanes import LANES
from tests.support.running import ROOT

DIRECT: Final = [lane for lane in LANES if lane.endswith(", directly")]
PAGE: Final = (ROOT / "docs" / "providers.md").read_text(encoding="utf-8")
TABLES: Final = [tomllib.loads(text) for text in re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)]
OF_NO_MATTER: Final = ("api_key", "base_url", "name", "upstream")


def sent_options(via: str, **wanted: Any) -> list[tuple[dict[str, Any], dict[str, Any]]]:
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


@pytest.mark.parametrize("lane", DIRECT)
def test_a_server_that_is_spoken_to_directly_is_configured_as_the_page_says(lane: str) -> None:
    _, upstream, model = LANES[lane]
    assert (upstream, model) in sent_options("chat", provider=upstream["provider"])


def test_the_page_names_every_provider_that_may_be_asked_directly() -> None:
    table = PAGE.partition("| `provider` | address | key |\n")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (`.*?`) \| (\S*?|`base_url` must be set) \| (\S*?) ?\|$", table, re.MULTILINE)
    assert rows == [
        (
            ", ".join(f"`{name}`" for name in (provider.name, *provider.aliases)),
            provider.base_url or "`base_url` must be set",
            f"`{provider.key_variable}`" if provider.key_variable else "",
        )
        for provider in sorted(PROVIDERS, key=attrgetter("name"))
        if provider.speaks_chat
    ]


def test_the_messages_lane_is_configured_as_the_page_says() -> None:
    _, upstream, model = LANES["anthropic, as messages"]
    assert (upstream, model) in sent_options("messages", provider="anthropic")


def test_the_page_names_every_provider_with_the_messages_api() -> None:
    rows = re.findall(r"^\| (`.*?`) \| (\S*?|`base_url` must be set) \| (\S*?) ?\| messages \|$", PAGE, re.MULTILINE)
    assert rows == [
        (
            ", ".join(f"`{name}`" for name in (provider.name, *provider.aliases)),
            provider.messages_url or "`base_url` must be set",
            f"`{provider.key_variable}`" if provider.key_variable else "",
        )
        for provider in sorted(PROVIDERS, key=attrgetter("name"))
        if provider.speaks_messages
    ]


@pytest.mark.parametrize("lane", ["cohere", "deepseek", "anthropic", "gemini", "mistral"])
def test_a_provider_behind_litellm_is_configured_as_the_page_says(lane: str) -> None:
    _, upstream, model = LANES[lane]
    assert ({"provider": upstream["provider"]}, model) in sent_options("litellm", provider=upstream["provider"])
