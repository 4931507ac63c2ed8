"""Which upstream a first configuration has: from an answer (a number, a name, an address), its server is looked at."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from ..providers.lookup import BY_NAME, provider_of
from ..providers.provider import Provider
from ..settings import did_you_mean
from ..settings.base_urls import base_of, complete_url
from ..upstreams.local_servers import FoundServer
from ..upstreams.model_list import ListedModel
from ..upstreams.survey import Survey, list_models, survey
from .new_configuration import ChosenUpstream
from .questions import WrongAnswerError

WITHIN: Final = 5
"""Seconds that looking at a server may take."""
DEMO: Final = ChosenUpstream("demo", "demo")
_LARGEST_PORT: Final = 65_535
_OTHER_NAMES: Final = {
    "claude": "anthropic",
    "google": "gemini",
    "kimi": "moonshot",
    "llama": "llama_cpp",
    "llamacpp": "llama_cpp",
    "lmstudio": "lm_studio",
    "together": "together_ai",
    "fireworks": "fireworks_ai",
}
_NAME_OF_TABLE: Final = "server"
"""Of an upstream whose server is not known."""


def provider_named(answer: str) -> Provider | None:
    """The provider of this name, however it is written: `LM Studio`, `llama.cpp`, `deepseek`."""
    word = answer.strip().lower()
    for name in (word, word.replace(" ", "_").replace("-", "_").replace(".", "_"), _OTHER_NAMES.get(word, "")):
        if name in BY_NAME:
            return BY_NAME[name]
    return None


def address_of(answer: str) -> str:
    """The address that was meant: `http://gpu:8000`, `localhost:11434`, `11434`. Raises `WrongAnswerError`."""
    text = answer.strip().rstrip("/")
    if text.isdecimal():
        if not 0 < int(text[:6]) <= _LARGEST_PORT:
            raise WrongAnswerError(f"{text[:20]} is no port")
        return f"http://127.0.0.1:{text}/v1"
    if "://" not in text:
        text = complete_url(text)
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise WrongAnswerError("that is no address") from error
    if not is_address or any(letter.isspace() or not letter.isprintable() for letter in text):
        raise WrongAnswerError("that is no address")
    if "@" in parts.netloc:
        raise WrongAnswerError("an address has no user and password in it: use a key")
    return base_of(text)[0] or text


def nearest(word: str, *others: str) -> str:
    """` (did you mean …?)` for a word that is like the name of a provider, or one of `others`."""
    return did_you_mean(word.strip(), [*BY_NAME, *_OTHER_NAMES, *others])


def needs_address(provider: Provider) -> bool:
    """Whether only the operator knows where this provider's server is."""
    via = provider.usual_via
    return via != "litellm" and provider.address_for(via) is None


def usual_key(provider: Provider) -> str:
    """Where the key of a provider usually is, as `env:NAME`; empty if it needs none."""
    if provider.key_variable:
        return f"env:{provider.key_variable}"
    if provider.speaks_chat or needs_address(provider) or provider.litellm.own_credentials:
        return ""
    return f"env:{provider.name.upper()}_API_KEY"


def from_survey(found: Survey, *, api_key: str = "", name: str = "") -> ChosenUpstream:
    """The upstream of a server that was looked at."""
    provider = (found.provider or "") if found.via in {"chat", "messages"} else ""
    own = provider_of(provider).address_for(found.via) if provider else None
    return ChosenUpstream(
        name or provider or _NAME_OF_TABLE,
        found.via,
        provider,
        "" if own == found.base_url else found.base_url,
        api_key,
        found.models,
        key_header=found.key_header if found.via == "messages" and not provider else "x-api-key",
    )


def is_of_messages(answer: str) -> bool:
    """Whether this is the address of one request of the Messages API, which says how its server is to be asked."""
    return answer.strip().rstrip("/").endswith("/v1/messages")


def from_address(
    base_url: str, api_key: str, environ: Mapping[str, str], *, by_messages: bool = False
) -> tuple[ChosenUpstream, Survey]:
    """The upstream at an address, and what is there. `by_messages`: it is to be asked by its Messages API."""
    found = asyncio.run(survey(base_url, _value_of(api_key, environ), within=WITHIN))
    if by_messages and "messages" not in found.lacks:
        found = found._replace(via="messages")
    return from_survey(found, api_key=api_key), found


def from_provider(
    provider: Provider, api_key: str, environ: Mapping[str, str], here: Sequence[FoundServer] = ()
) -> ChosenUpstream:
    """The upstream of a provider, at its own address, or at the one where its server was found on this machine."""
    for server in here:
        if server.found.provider == provider.name:
            return from_survey(server.found, api_key=api_key, name=provider.name)
    via = provider.usual_via
    name = provider.name
    models: tuple[ListedModel, ...] = ()
    key = _value_of(api_key, environ)
    if provider.base_url and via in {"chat", "responses"} and (key or not provider.key_variable):
        models = asyncio.run(list_models(provider.base_url, key, within=WITHIN))
    return ChosenUpstream(name, via, name, "", api_key, models)


def _value_of(api_key: str, environ: Mapping[str, str]) -> str | None:
    """The key itself, if it is known by now."""
    return environ.get(api_key.removeprefix("env:")) or None if api_key.startswith("env:") else None
