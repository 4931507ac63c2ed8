"""One contract for every provider, and the addresses of upstreams as people write them."""

from urllib.parse import urlsplit

import pytest
from pydantic import ValidationError

from app.providers.provider import HINTS, Provider
from app.providers.table import PROVIDERS, provider_of
from app.settings.load import load
from app.settings.tables import Can, UpstreamSettings
from app.settings.values import completed
from app.types.request import EFFORTS

ELSEWHERE = "https://elsewhere.example/v1"


@pytest.mark.parametrize("provider", PROVIDERS, ids=[each.name for each in PROVIDERS])
def test_a_provider_is_complete(provider: Provider) -> None:
    for name in (provider.name, *provider.aliases):
        assert provider_of(name) is provider
    assert UpstreamSettings.model_fields.keys() >= provider.settings.keys()
    assert set(provider.settings.get("hints", ())) <= set(HINTS)
    Can(**provider.can)
    assert set(provider.efforts) <= set(EFFORTS)
    elsewhere = UpstreamSettings.model_validate({"provider": provider.name, "base_url": ELSEWHERE})
    assert (elsewhere.base_url, elsewhere.api_key or None, elsewhere.via) == (ELSEWHERE, None, provider.via)
    for name, value in provider.settings.items():
        assert getattr(elsewhere, name) == value
    if provider.via != "litellm" and provider.base_url:
        own = load(None, {"provider": provider.name}, {provider.key_variable or "": "sk-own"}).upstreams["upstream"]
        is_here = urlsplit(provider.base_url).hostname == "127.0.0.1"
        assert (own.base_url, not own.api_key) == (provider.base_url, is_here)
        assert completed(provider.base_url) == provider.base_url
        assert is_here or provider.base_url.startswith("https://")


@pytest.mark.parametrize(
    ("given", "via", "base_url"),
    [
        ({"base_url": "http://127.0.0.1:8000"}, "chat", "http://127.0.0.1:8000/v1"),
        ({"base_url": "localhost:11434/"}, "chat", "http://localhost:11434/v1"),
        ({"base_url": "http://127.0.0.1:11434/api/chat"}, "chat", "http://127.0.0.1:11434/v1"),
        ({"base_url": "http://gpu.example/v1/chat/completions"}, "chat", "http://gpu.example/v1"),
        ({"base_url": "http://gpu.example/v1/responses"}, "responses", "http://gpu.example/v1"),
        ({"base_url": "http://gpu.example/v1/messages/"}, "messages", "http://gpu.example/v1"),
        ({"base_url": "api.groq.com"}, "chat", "https://api.groq.com/openai/v1"),
        ({"base_url": "http://h:9/v1", "provider": "openai"}, "responses", "http://h:9/v1"),
        ({"base_url": "http://h:9/v1", "provider": "openai", "via": "chat"}, "chat", "http://h:9/v1"),
        ({"base_url": "https://user:word@h/v1"}, "must not hold a user name", None),
        ({"provider": "llama_cpp"}, "needs a base_url", None),
        ({}, "needs a provider or a base_url", None),
        ({"base_url": "http://h", "auth": "passthrough", "api_key": "k"}, "takes either api_key or auth", None),
    ],
)
def test_an_upstream_is_asked_as_what_is_given_says(given: dict[str, str], via: str, base_url: str | None) -> None:
    if base_url is None:
        with pytest.raises(ValidationError, match=via):
            UpstreamSettings.model_validate(given)
    else:
        upstream = UpstreamSettings.model_validate(given)
        assert (upstream.via, upstream.base_url) == (via, base_url)
