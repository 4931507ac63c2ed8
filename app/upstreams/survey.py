"""What is behind an address: which server, which models, and how it is asked. No answer is generated.

Paths are looked for by POSTs without a body: a server that has the path refuses that. The key goes with each question,
because all go to the same server.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import aiohttp

from ..providers.table import PROVIDERS
from ..types.json import decode, encode, objects
from ..types.problems import Problem
from .errors import Ask, too_slow
from .http import session, text_of, url_of, with_key
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
_KNOWN = {
    urlsplit(each.base_url).hostname: each for each in PROVIDERS if each.base_url and "127.0.0.1" not in each.base_url
}
"""Providers by the hosts of their own addresses."""
_NO_API = Problem("not_found", "It has neither /chat/completions nor /responses nor /v1/messages.")


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
    known = _KNOWN.get(urlsplit(base_url).hostname)
    by_messages = messages or (known is not None and (known.via == "messages" or base_url == known.messages_url))
    via = "messages" if by_messages else "responses" if known is not None and known.via == "responses" else "chat"
    found, seen = Survey(base_url, via, known.name if known else None), None
    try:
        async with asyncio.timeout(within):
            for ways in [("messages",)] if by_messages else [("chat", "responses"), ("messages",)]:
                server = _Server(base_url, key, "authorization" if "chat" in ways else "x-api-key")
                async with server.session:
                    if (seen := await _look(server, found, ways)) is not None:
                        return await _with_facts(server, seen)
            return found._replace(error=Ask("", key, base_url).failed(_NO_API))
    except TimeoutError:
        return seen or found._replace(error=too_slow("did not answer", within, base_url))
    except UpstreamError as error:
        return seen or found._replace(error=error)


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
        headers = {"content-type": "application/json", "anthropic-version": "2023-06-01", **with_key(header, key)}
        self.asked = Ask("", key, base_url)
        self.root = _root(base_url)
        self.session = session(base_url, 5, headers)

    async def ask(self, url: str, body: bytes | None = None) -> _Reply:
        """The answer to a POST of this body, or to a GET. Raises `UpstreamError`."""
        method = "GET" if body is None else "POST"
        try:
            async with self.session.request(method, url, data=body, allow_redirects=False) as response:
                return _Reply(response.status, await text_of(response, _MOST))
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self.asked.unreached(error) from None


async def _look(server: _Server, found: Survey, ways: Sequence[str]) -> Survey | None:
    """What is there, if it can be asked in one of these ways; None if it can not."""
    given = found.base_url
    for address in [given] if _VERSIONED.search(given) else [given, f"{_root(given)}/v1"]:
        asked = [server.ask(url_of(address, PATHS[via]), b"") for via in ways]
        replies = dict(zip(ways, await asyncio.gather(*asked), strict=True))
        lacks = frozenset(via for via, reply in replies.items() if reply.is_there is False)
        if len(lacks) < len(ways):
            break
    else:
        return None
    via = found.via if found.via in replies.keys() - lacks else next(via for via in ways if via not in lacks)
    found, reply = found._replace(base_url=address, via=via, lacks=lacks), replies[via]
    if reply.is_there is None:
        return found._replace(error=server.asked.refused(reply.status, reply.text, {}))
    listed = await server.ask(url_of(address, "/v1/models" if via == "messages" else "/models"))
    return found._replace(models=tuple(models_of(listed.text)))


async def _with_facts(server: _Server, found: Survey) -> Survey:
    """The same, with what a server of this kind says of its models elsewhere."""
    if found.provider is not None or found.error is not None:
        return found
    models = found.models
    provider = next((_OWNERS[model.owner] for model in models if model.owner in _OWNERS), None)
    if provider is None and any(model.context_window for model in models):
        return found
    if provider is None and member((await server.ask(f"{server.root}/api/version")).value, "version"):
        provider = "ollama"
    if provider == "llama_cpp" and len(models) == 1:  # with several it starts one when it is asked for it
        props = (await server.ask(f"{server.root}/props")).value
        window = _tokens(member(props, "default_generation_settings", "n_ctx")) or models[0].context_window
        sees = member(props, "modalities", "vision") is True
        models = (models[0]._replace(context_window=window, takes_images=sees),)
    elif provider in {None, "lm_studio"}:
        reply = await server.ask(f"{server.root}/api/v0/models")
        if any("max_context_length" in entry for entry in objects(member(reply.value, "data"))):
            provider, models = "lm_studio", tuple(models_of(reply.text))
    elif provider == "ollama":
        windows = await _loaded(server)
        shown = await asyncio.gather(*[_shown(server, model, windows) for model in models[:_MOST_SHOWN]])
        models = (*[model for model in shown if model is not None], *models[_MOST_SHOWN:])
    return found._replace(provider=provider, models=models)


async def _loaded(server: _Server) -> dict[str, int]:
    """The windows of the models that an Ollama has loaded."""
    running = (await server.ask(f"{server.root}/api/ps")).value
    windows = {
        str(entry.get("name")): _tokens(entry.get("context_length")) for entry in objects(member(running, "models"))
    }
    return {name: window for name, window in windows.items() if window}


async def _shown(server: _Server, model: ListedModel, loaded: dict[str, int]) -> ListedModel | None:
    """The model with what an Ollama says of it; None if it is not for chat."""
    said = (await server.ask(f"{server.root}/api/show", encode({"model": model.name}))).value
    can, info = member(said, "capabilities"), member(said, "model_info")
    if not isinstance(can, list) or not isinstance(info, dict):
        return model
    most = next((_tokens(value) for key, value in info.items() if key.endswith(".context_length")), None)
    told = ListedModel(model.name, loaded.get(model.name, most), "vision" in can, "tools" in can)
    return told if "completion" in can else None


def _tokens(value: Any) -> int | None:
    return value if type(value) is int and value > 0 else None


def _root(base_url: str) -> str:
    return _AT_THE_END.sub("", base_url)
