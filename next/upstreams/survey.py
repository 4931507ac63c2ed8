"""What is behind an address: which server, which models, and how it is asked. No answer is generated.

Paths are looked for by POSTs without a body: a server that has the path refuses that. The key goes with each question,
because all go to the same server.
"""

import asyncio
import re
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp

from ..providers.provider import Provider
from ..providers.table import PROVIDERS
from ..types.json import Json, decode, encode
from ..types.problems import Problem
from .errors import Ask, too_slow
from .http import session, text_of
from .model_list import ListedModel, member, models_of
from .port import UpstreamError

PATHS = {"chat": "/chat/completions", "responses": "/responses", "messages": "/v1/messages"}
"""By `via`."""
_MOST = 2 * 1024 * 1024
"""Bytes of an answer that are read."""
_MOST_SHOWN = 40
"""Models of an Ollama whose details are asked for."""
_VERSIONED = re.compile(r"/v\d[a-z0-9]*(/openai)?$")
_AT_THE_END = re.compile(r"/(v\d+|api(/v\d+)?)$")
"""What comes after the address of a server that has several APIs (Ollama, LM Studio)."""
_OWNERS = {
    "library": "ollama",
    "llamacpp": "llama_cpp",
    "organization_owner": "lm_studio",
    "sglang": "sglang",
    "vllm": "vllm",
}
"""Providers by the word with which their servers own the models of their lists."""
_NUM_CTX = re.compile(r"^num_ctx[ \t]+(\d{1,9})$", re.MULTILINE)
_NO_API = Problem(code="not_found", message="It has neither /chat/completions nor /responses nor /v1/messages.")


class Survey(NamedTuple):
    """What was found."""

    base_url: str
    """The address that answered, which may be the given one with `/v1`."""
    via: str
    """How it is asked: by chat completions, unless it has another API only."""
    provider: str | None
    """Which server this is, if it is a known one."""
    models: tuple[ListedModel, ...] = ()
    lacks: frozenset[str] = frozenset()
    """Each `via` for which it certainly has no path."""
    error: UpstreamError | None = None
    """Why it cannot be asked."""


class _Reply(NamedTuple):
    status: int
    text: str

    @property
    def is_there(self) -> bool | None:
        """Whether the server has this path; None if that cannot be told."""
        if self.status in {401, 403, 502, 503, 504}:
            return None
        if self.status in {404, 405, 410, 501} or 300 <= self.status < 400:
            return False
        page = self.status < 400 and self.text.lstrip().startswith("<")
        return not page and "Unexpected endpoint" not in self.text  # LM Studio says so with status 200

    @property
    def value(self) -> Any:
        """Its JSON; None if it is none."""
        return decode(self.text) if self.status == 200 else None


async def survey(base_url: str, key: str, *, within: float, messages: bool = False) -> Survey:
    """Look at this address, for at most so many seconds. `messages`: it is asked by the Messages API. Never raises."""
    known = _known(base_url)
    by_messages = messages or (known is not None and base_url == known.messages_url) or _via(known) == "messages"
    server = _Server(base_url, key, "x-api-key" if by_messages else "authorization")
    via = "messages" if by_messages else _via(known)
    found = Survey(base_url, via, known.name if known else None)
    try:
        async with asyncio.timeout(within), server.session:
            return await (_by_messages if by_messages else _look)(server, found)
    except TimeoutError:
        return found._replace(error=too_slow("did not answer", within, base_url))
    except UpstreamError as error:
        return found._replace(error=error)


async def loaded_window(base_url: str, key: str, model: str, *, within: float) -> int | None:
    """The context of a model of an Ollama, which decides about it when it loads the model: it is loaded here."""
    server = _Server(base_url, key, "authorization")
    try:
        async with asyncio.timeout(within), server.session:
            await server.ask(f"{_root(base_url)}/api/generate", encode({"model": model, "stream": False}))
            return (await _loaded(server)).get(model)
    except (TimeoutError, UpstreamError):
        return None


class _Server:
    """One server that is asked short questions."""

    def __init__(self, base_url: str, key: str, header: str) -> None:
        headers = {header: f"Bearer {key}" if header == "authorization" else key} if key else {}
        self.asked = Ask("", key, base_url)
        self.root = _root(base_url)
        self.session = session(5, {**headers, "content-type": "application/json", "anthropic-version": "2023-06-01"})

    async def ask(self, url: str, body: bytes | None = None) -> _Reply:
        """The answer to a POST of this body, or to a GET. Raises `UpstreamError`."""
        method = "GET" if body is None else "POST"
        try:
            async with self.session.request(method, url, data=body, allow_redirects=False) as response:
                return _Reply(response.status, await text_of(response, _MOST))
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self.asked.unreached(error) from None

    def refused(self, *replies: _Reply) -> UpstreamError | None:
        """The error of these answers, if they do not even say whether there is an API."""
        reply = next((reply for reply in replies if reply.is_there is None), None)
        return self.asked.refused(reply.status, reply.text, {}) if reply else None


async def _look(server: _Server, found: Survey) -> Survey:
    for address in _candidates(found.base_url):
        asked = [server.ask(f"{address}{PATHS[via]}", b"") for via in ("chat", "responses")]
        listed, chat, responses = await asyncio.gather(server.ask(f"{address}/models"), *asked)
        if not (chat.is_there is responses.is_there is False):
            break
    else:
        listed = await server.ask(f"{server.root}/v1/models")
        by_messages = await server.ask(f"{server.root}{PATHS['messages']}", b"")
        if by_messages.is_there is False:
            return found._replace(error=server.asked.failed(_NO_API))
        models, lacks = tuple(models_of(listed.text)), frozenset({"chat", "responses"})
        return found._replace(via="messages", models=models, lacks=lacks, error=server.refused(by_messages))
    via = found.via
    if chat.is_there is False or (responses.is_there is False and via == "responses"):
        via = "responses" if chat.is_there is False else "chat"
    lacks = frozenset(via for via, reply in (("chat", chat), ("responses", responses)) if reply.is_there is False)
    found = found._replace(base_url=address, via=via, lacks=lacks)
    if error := server.refused(chat if via == "chat" else responses):
        return found._replace(error=error)
    return await _with_facts(server, found._replace(models=tuple(models_of(listed.text))), listed)


async def _by_messages(server: _Server, found: Survey) -> Survey:
    root = found.base_url.removesuffix("/v1")
    listed = await server.ask(f"{root}/v1/models")
    reply = await server.ask(f"{root}/v1/messages", b"")
    return found._replace(models=tuple(models_of(listed.text)), error=server.refused(reply))


async def _with_facts(server: _Server, found: Survey, listed: _Reply) -> Survey:
    """The same, with what a server of this kind says of its models elsewhere."""
    if found.provider is not None:
        return found
    owners = {str(entry.get("owned_by")) for entry in _objects(member(listed.value, "data"))}
    provider = next((_OWNERS[owner] for owner in owners if owner in _OWNERS), None)
    models = found.models
    if provider is None and any(model.context_window for model in models):
        return found
    if provider is None and member((await server.ask(f"{server.root}/api/version")).value, "version"):
        provider = "ollama"
    if provider == "llama_cpp" and len(models) == 1:  # with several it starts one when it is asked for it
        props = (await server.ask(f"{server.root}/props")).value
        window = member(props, "default_generation_settings", "n_ctx") or models[0].context_window
        models = (models[0]._replace(context_window=window, takes_images=member(props, "modalities", "vision")),)
    elif provider in {None, "lm_studio"}:
        reply = await server.ask(f"{server.root}/api/v0/models")
        if any("max_context_length" in entry for entry in _objects(member(reply.value, "data"))):
            provider, models = "lm_studio", tuple(models_of(reply.text))
    elif provider == "ollama":
        windows = await _loaded(server)
        shown = await asyncio.gather(*[_shown(server, model, windows) for model in models[:_MOST_SHOWN]])
        models = (*[model for model in shown if model is not None], *models[_MOST_SHOWN:])
    return found._replace(provider=provider, models=models)


async def _loaded(server: _Server) -> dict[str, int]:
    """The windows of the models that an Ollama has loaded."""
    running = (await server.ask(f"{server.root}/api/ps")).value
    windows = {str(entry.get("name")): entry.get("context_length") for entry in _objects(member(running, "models"))}
    return {name: window for name, window in windows.items() if isinstance(window, int) and window > 0}


async def _shown(server: _Server, model: ListedModel, loaded: dict[str, int]) -> ListedModel | None:
    """The model with what an Ollama says of it; None if it is not for chat."""
    said = (await server.ask(f"{server.root}/api/show", encode({"model": model.name}))).value
    known = member(said, "capabilities")
    if not isinstance(known, list):
        return model
    chosen = _NUM_CTX.search(str(member(said, "parameters")))
    info = member(said, "model_info") or {}
    most = next((value for key, value in info.items() if key.endswith(".context_length")), None)
    window = loaded.get(model.name) or (int(chosen[1]) if chosen else most)
    told = model._replace(context_window=window, takes_images="vision" in known, calls_tools="tools" in known)
    return told if "completion" in known else None


def _known(base_url: str) -> Provider | None:
    """The provider whose own address this is."""
    parts = urlsplit(base_url)
    for provider in PROVIDERS:
        own = urlsplit(provider.base_url or "")
        if parts.hostname == own.hostname != "127.0.0.1":
            return provider
    return None


def _via(known: Provider | None) -> str:
    """How a provider is asked. Its own address has an API that is asked directly."""
    return "chat" if known is None or known.via == "litellm" else known.via


def _candidates(base_url: str) -> list[str]:
    """The addresses that may be meant: the given one first."""
    return [base_url] if _VERSIONED.search(base_url) else [base_url, f"{_root(base_url)}/v1"]


def _root(base_url: str) -> str:
    return _AT_THE_END.sub("", base_url)


def _objects(value: Any) -> list[Json]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
