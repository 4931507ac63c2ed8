"""Finds out what is behind an address: which server, which models, and which `via` suits it. Nothing is generated.

What is sent
------------
1. `GET /models`, and `GET /v1/models` where the first is no list of models and the address has no version.
2. `POST /chat/completions` and `POST /responses` with an empty body. No model can be run by that: a server that has
   the path refuses the body (400, 422, …), another one says 404, 405 or 501. LM Studio says 200 and "Unexpected
   endpoint". Where the key is refused, nothing is known about the path. A server that has neither is asked for
   `POST /messages` in the same way. Its key may be wanted in another header, so that is tried where one is refused.
3. What the server itself has to say about its models: Ollama's `/api/version`, `/api/ps` and `/api/show` (for at most
   `MOST_SHOWN` models), llama.cpp's `/props`, LM Studio's `/api/v0/models`. Providers whose address is known are not
   asked for these.

The API key goes with each of these requests, because all go to the same host and port. Redirects are not followed. All
of it together may take the time that the caller allows; what is known by then is the result.
"""

import asyncio
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from ..options import KeyHeader, Via
from ..providers.lookup import PROVIDERS, provider_of
from ..providers.provider import Provider
from .messages_address import messages_address, messages_provider
from .model_list import (
    Json,
    ListedModel,
    json_of,
    loaded_windows,
    model_entries,
    models_of,
    with_llama_facts,
    with_ollama_facts,
)
from .short_question import KEY_REFUSED, REDIRECTS, SAYS_NOTHING, Reply, reply_of

__all__ = ["ListedModel", "Survey", "candidates", "list_models", "server_at", "suits", "survey"]

MOST_SHOWN: Final = 40
"""Models of an Ollama whose details are asked for."""
_AT_ONCE: Final = 4
_VERSIONED: Final = re.compile(r"/v\d[a-z0-9]*(/openai)?$")
_AT_THE_END: Final = re.compile(r"/(v\d+|api(/v\d+)?)$")
"""What comes after the address of a server that has several APIs (Ollama, LM Studio)."""
_OWNERS: Final = {
    "am-proxy": "am-proxy",
    "llamacpp": "llama.cpp",
    "organization_owner": "lmstudio",
    "sglang": "sglang",
    "vllm": "vllm",
}
"""Servers by the word with which they own every model of their list."""
_AS_PROVIDERS: Final = {"llama.cpp": "llama_cpp", "lmstudio": "lm_studio"}
"""Servers whose `provider` has another name."""
_KNOWN: Final = {
    host: provider
    for provider in PROVIDERS
    if (host := urlsplit(provider.base_url or "").hostname) and host != "127.0.0.1"
}
"""Providers by the hosts of their own addresses."""


class Survey(NamedTuple):
    """What is behind an address."""

    base_url: str
    """The address that answered, which may be the given one with `/v1`."""
    server: str
    """`ollama`, `vllm`, `llama.cpp`, `lmstudio`, `sglang`, `am-proxy`, or the provider whose address it is; empty if
    unknown."""
    models: tuple[ListedModel, ...]
    """Its models for chat, if it lists any."""
    via: Via
    """How to ask it: `chat`, unless it has only `responses` or `messages`, or is a provider with a better way."""
    problem: str
    """Why nothing is known, as a sentence without secrets; empty if the server answered as a model server does."""
    lacks: frozenset[Via] = frozenset()
    """Ways to ask for which it certainly has no path."""
    key_header: KeyHeader = "x-api-key"
    """The header with the key for its Messages API."""

    @property
    def provider(self) -> str | None:
        """The `provider` of a configuration that knows this server and how it differs, if there is one."""
        name = _AS_PROVIDERS.get(self.server, self.server)
        known = provider_of(name)
        speaks = known.speaks_messages if self.via == "messages" else known.speaks_chat
        return name if name and speaks else None


async def list_models(
    base_url: str, api_key: str | None, *, within: float, key_header: KeyHeader = "authorization"
) -> tuple[ListedModel, ...]:
    """The models for chat that `GET /models` lists: one request. Empty on any failure, and if there is no such list."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within):
            return models_of(
                model_entries((await reply_of(f"{base_url}/models", api_key, key_header=key_header)).body) or ()
            )
    return ()


async def survey(base_url: str, api_key: str | None, *, within: float = 3) -> Survey:
    """Look at this address. It never raises, and takes no longer than `within` seconds."""
    visit = _MessagesVisit(base_url, api_key) if messages_provider(base_url) else _Visit(base_url, api_key)
    try:
        async with asyncio.timeout(within):
            await visit.look()
    except TimeoutError:
        if not visit.answered:
            visit.problem = f"It did not answer within {within:g} seconds."
    return visit.survey()


def suits(
    chat: bool | None,  # noqa: FBT001 — one for each path
    responses: bool | None,  # noqa: FBT001 — as above
    base_url: str = "",
    *,
    messages: bool | None = None,
) -> Via:
    """The way to ask a server that has these paths, or has not (False), or of which that is unknown (None)."""
    known = _known(base_url)
    if messages and not chat and not responses:
        return "messages"
    if responses is not False and (chat is False or (known is not None and known.prefers_responses)):
        return "responses"
    return "chat"


class _Visit:
    """One look at one server."""

    def __init__(self, base_url: str, api_key: str | None) -> None:
        self.answered = False
        self.problem = ""
        self._key = api_key
        self._base_url = base_url
        self._addresses = candidates(base_url)
        self._listed_at = base_url
        self._server = server_at(base_url)
        self._models: dict[str, ListedModel] = {}
        self._chat: bool | None = None
        self._responses: bool | None = None
        self._messages: bool | None = None
        self._key_header: KeyHeader = "authorization"

    def survey(self) -> Survey:
        """What is known by now."""
        paths: dict[Via, bool | None] = {
            "chat": self._chat, "responses": self._responses, "messages": self._messages
        }  # fmt: skip
        return Survey(
            self._base_url,
            self._server,
            tuple(self._models.values()),
            suits(self._chat, self._responses, self._base_url, messages=self._messages),
            self.problem,
            frozenset(via for via, there in paths.items() if there is False),
            self._key_header if self._messages and self._key else "x-api-key",
        )

    async def look(self) -> None:
        """Ask for the list, then at the same time for the paths and for the facts about the models."""
        entries, address = None, self._base_url
        first = reply = await self._ask(f"{self._base_url}/models")
        for address in self._addresses:
            if address != self._base_url:
                reply = await self._ask(f"{address}/models")
            entries = model_entries(reply.body)
            if entries is not None or reply.status in SAYS_NOTHING:
                break
        if entries is None and reply.status in SAYS_NOTHING:
            self.problem = reply.trouble
            self._base_url = address if reply.status in KEY_REFUSED else self._base_url
            return
        self.answered = True
        if entries is not None:
            self._listed_at = self._base_url = address
        self._models = {model.name: model for model in models_of(entries or ())}
        async with asyncio.TaskGroup() as group:
            if entries:
                group.create_task(self._find_facts(entries))
            group.create_task(self._find_paths(first.trouble if first.status in REDIRECTS else ""))

    async def _find_paths(self, trouble: str) -> None:
        for address in self._addresses:
            asked = (self._ask(f"{address}/{path}", b"") for path in ("chat/completions", "responses"))
            chat, responses = await asyncio.gather(*asked)
            there = self._chat, self._responses = chat.is_there, responses.is_there
            if True in there or (address == self._listed_at and None in there):
                self._base_url = address
                return
        self._base_url = self._addresses[0]
        if not trouble:
            self._messages = (await self._ask(f"{messages_address(self._base_url)}/messages", b"")).is_there
        if not self._messages:
            self.problem = trouble or "It has neither /chat/completions nor /responses nor /v1/messages."

    async def _find_facts(self, entries: Sequence[Json]) -> None:
        owners = {str(entry.get("owned_by")) for entry in entries}
        self._server = self._server or next((_OWNERS[owner] for owner in owners if owner in _OWNERS), "")
        root = root_of(self._listed_at)
        match self._server:
            case "llama.cpp" if len(self._models) == 1:  # with several it starts one when it is asked for it
                props = (await self._ask(f"{root}/props")).body
                self._models = {name: with_llama_facts(model, props) for name, model in self._models.items()}
            case "lmstudio":
                self._read_lm_studio(await self._ask(f"{root}/api/v0/models"))
            case "" if not any(model.context_window for model in self._models.values()):
                asked = (self._ask(f"{root}/api/{path}") for path in ("version", "v0/models"))
                version, listed = await asyncio.gather(*asked)
                if isinstance(json_of(version.body).get("version"), str):
                    self._server = "ollama"
                    await self._read_ollama(root)
                else:
                    self._read_lm_studio(listed)

    def _read_lm_studio(self, reply: Reply) -> None:
        entries = model_entries(reply.body)
        if entries and any("max_context_length" in entry for entry in entries):
            self._server = "lmstudio"
            self._models = {model.name: model for model in models_of(entries)}

    async def _read_ollama(self, root: str) -> None:
        loaded = loaded_windows((await self._ask(f"{root}/api/ps")).body)
        free = asyncio.Semaphore(_AT_ONCE)

        async def read(model: ListedModel) -> None:
            async with free:
                reply = await self._ask(f"{root}/api/show", json.dumps({"model": model.name}).encode())
            found = with_ollama_facts(model, reply.body, loaded.get(model.name))
            if found is None:
                del self._models[model.name]
            else:
                self._models[model.name] = found

        await asyncio.gather(*map(read, list(self._models.values())[:MOST_SHOWN]))

    async def _ask(self, url: str, body: bytes | None = None) -> Reply:
        reply = await reply_of(url, self._key, body, key_header=self._key_header)
        if reply.status not in KEY_REFUSED or self._key is None:
            return reply
        other: KeyHeader = "authorization" if self._key_header == "x-api-key" else "x-api-key"
        again = await reply_of(url, self._key, body, key_header=other)
        if again.status in KEY_REFUSED:
            return reply
        self._key_header = other
        return again


class _MessagesVisit(_Visit):
    """One look at the Messages API of a known provider. Its other paths would be those of another address."""

    async def look(self) -> None:
        """Ask for the list, which some of these providers do not have."""
        known = messages_provider(self._base_url)
        self._server, self._messages = known.name if known else "", True
        self._chat = self._responses = False
        self._key_header = known.key_header if known else "x-api-key"
        reply = await self._ask(f"{messages_address(self._base_url)}/models")
        self.answered = True
        self._models = {model.name: model for model in models_of(model_entries(reply.body) or ())}
        self.problem = reply.trouble if reply.status in SAYS_NOTHING else ""


def server_at(base_url: str) -> str:
    """The provider whose address this is, known without asking; empty for any other address."""
    known = _known(base_url)
    return known.name if known else ""


def _known(base_url: str) -> Provider | None:
    """The provider whose address this is."""
    try:
        return _KNOWN.get(urlsplit(base_url).hostname or "")
    except ValueError:
        return None


def root_of(base_url: str) -> str:
    """The address of a server that has several APIs, without the path of one of them."""
    return _AT_THE_END.sub("", base_url)


def candidates(base_url: str) -> list[str]:
    """The addresses that may be meant: the given one first."""
    found = [base_url]
    if not _VERSIONED.search(base_url):
        found.append(f"{root_of(base_url)}/v1")
    return found
