"""Any model that litellm can reach, asked as a chat-completions server. The only importer of litellm.

litellm takes more than a second to import and hundreds of megabytes, so it is imported when first needed, in a thread.
"""

import asyncio
import contextlib
import gc
import os
import threading
import warnings
from collections.abc import AsyncGenerator, Iterator
from functools import cache, partial
from importlib import import_module
from typing import Any, Final

from ..http_client.keep import KEEP, Keep
from ..off_loop import SHORT, off_loop
from ..protocol.problems import Problem
from ..providers.capabilities import ANYTHING, Capabilities
from ..providers.lookup import provider_of
from ..providers.openai import OPENAI
from ..providers.provider import AskFacts
from . import litellm_errors
from .faults import ReportedError, is_error
from .litellm_as_is import MODELS_REMEMBERED, AsIsRequests, known_request
from .litellm_ask import SETTINGS, Json, arguments, holds_many, key_for, sends_as_is
from .litellm_can import capabilities, stops_thinking
from .litellm_chunks import PlainAnswer, chunks_of, close
from .litellm_client import lighten
from .litellm_connect import HANDLER, connect_within, in_time, limit
from .litellm_facts import asks_for_a_response, info_of, settings_of
from .litellm_lookups import remember_models
from .litellm_memory import spare_memory
from .litellm_prices import omit_prices
from .litellm_transport import TRANSPORT, note_requests, restrain
from .port import TRACE, Counted, UpstreamBroke, UpstreamRefused
from .tapped_chunks import tapped_chunks

_ENVIRONMENT: Final = {
    "LITELLM_OFFLINE_MODE": "true",  # from 1.109 on: nothing is downloaded at import or on a call
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # the same for 1.106
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_MODE": "PRODUCTION",  # otherwise importing it reads a .env file
    "LITELLM_LOG": "CRITICAL",  # its log lines quote the upstream's answers; ours do not
    "USE_LITELLM_PROXY": "False",  # otherwise every request goes to a litellm proxy
    "AIOHTTP_CONNECTOR_LIMIT": "1000000",  # a turn that waits for a connection waits for another turn
    "AIOHTTP_CONNECTOR_LIMIT_PER_HOST": "0",
    "REPEATED_STREAMING_CHUNK_LIMIT": "1000000000",  # a table full of the same cell is not a fault
}

CONNECT: Final = 5
"""Seconds for finding and reaching a server, unless configured otherwise."""

_STATELESS: Final = {"store": False, "include": ["reasoning.encrypted_content"]}
"""Sent if litellm asks for a response: nothing is stored there, and reasoning comes back encrypted."""

_one_at_a_time = threading.Lock()
_loaded: list[Any] = []


def load() -> Any:
    """Import litellm, once. Blocks for a second or two: call it in a thread."""
    with _one_at_a_time:
        if not _loaded:
            os.environ.update(_ENVIRONMENT)
            # its types are more than pydantic supports
            warnings.filterwarnings("ignore", message="Items? '.*' on TypedDict class")
            warnings.filterwarnings("ignore", message="Pydantic serializer warnings")
            # a call that is cancelled on its way from a thread, which is harmless
            warnings.filterwarnings("ignore", message="coroutine 'BaseLLMHTTPHandler", category=RuntimeWarning)
            with _collector_paused():
                litellm: Any = import_module("litellm")
                handlers = import_module(HANDLER)
                limit(handlers)
                lighten(handlers)
                restrain(import_module(TRANSPORT))
                omit_prices(litellm)
                spare_memory(litellm)
                remember_models(litellm)
            litellm.suppress_debug_info = True
            litellm.disable_hf_tokenizer_download = True
            litellm.telemetry = False
            _loaded.append(litellm)
        return _loaded[0]


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause the garbage collector, and exclude from it what was loaded: each walk through it takes 0.2 s.

    Nothing is collected first, since that would be such a walk: importing leaves no garbage.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collects:
            gc.enable()


def warm(*, translates: bool = True) -> None:
    """Import litellm and make requests that are not sent, so that the first real one is fast. For a thread at start.

    `translates`: there are upstreams for which litellm translates, or uses OpenAI's SDK.
    """
    litellm = load()
    ask = {"model": "am-upstream", "messages": [{"role": "user", "content": "."}], "stream": True}

    async def mock_call() -> None:
        stream = await litellm.acompletion(**ask, custom_llm_provider=OPENAI.name, api_key="no-key", mock_response=".")
        await stream.aclose()  # reading it would load a tokenizer

    with _collector_paused():
        known_request(litellm, arguments(None, ask, base_url="http://localhost") | {"timeout": 1.0})
        if translates:
            import_module("openai.resources.chat")  # a thousand modules that the SDK would import on its first call
            with contextlib.suppress(Exception):  # it is only a mock call
                asyncio.run(mock_call())


@cache
def providers() -> frozenset[str]:
    """Every provider prefix that litellm knows. Imports it."""
    return frozenset(str(getattr(provider, "value", provider)) for provider in load().provider_list)


async def close_connections() -> None:
    """Close what litellm's pool keeps open on this event loop, at its end: it may not close otherwise."""
    if not _loaded:
        return
    litellm = _loaded[0]
    here = asyncio.get_running_loop()
    pool = litellm.in_memory_llm_clients_cache.cache_dict
    for key in [key for key, client in pool.items() if _loop_of(client) is here]:
        with contextlib.suppress(Exception):  # not every client can be closed, and all must be tried
            await pool.pop(key).close()
    if _loop_of(litellm.module_level_aclient) is here:  # it is not in the pool
        await litellm.module_level_aclient.client._transport.aclose()  # noqa: SLF001 — the rest of it can be used again


def _loop_of(client: Any) -> Any | None:
    """The event loop that holds this client's connections. There are two kinds: litellm's own and the OpenAI SDK's."""
    http = getattr(client, "_client", None) or getattr(client, "client", None)
    session = getattr(getattr(http, "_transport", None), "client", None)
    return getattr(session, "_loop", None)


def _unknown(provider: str) -> Problem:
    """An unknown provider is the operator's mistake, not the client's: not a 4xx."""
    message = f"This server's configuration names the provider '{provider}', which litellm does not know."
    return Problem(code="upstream_error", message=message)


class LitellmChat:
    """An upstream behind litellm. `provider` is litellm's prefix; none means any chat-completions server at `base_url`.

    A model's name is never interpreted beyond that provider, and the key goes nowhere but to it.
    """

    def __init__(
        self,
        provider: str | None = None,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        timeout: float = 300.0,  # a plain number is what every provider of litellm obeys
        connect: float = CONNECT,
        keep: Keep = KEEP,
    ) -> None:
        self._provider = provider
        self._known_as = provider_of(provider)
        self._api_key = api_key
        self._base_url = base_url
        self._timeout = timeout
        self._connect = connect
        self._keep = keep
        self._known: dict[str, Capabilities] = {}
        self.requests = AsIsRequests()

    async def capabilities(self, model: str) -> Capabilities:
        """What this model can do, as litellm knows it, without what litellm's translation loses."""
        if self._provider is None or sends_as_is(self._provider, self._base_url):
            return ANYTHING
        if model not in self._known:
            litellm = _loaded[0] if _loaded else await asyncio.to_thread(load)
            if len(self._known) >= MODELS_REMEMBERED:  # with a model `*`, clients may invent any number of names
                self._known.clear()
            info = info_of(litellm, self._provider, model)
            if other := self._known_as.litellm.facts_of:
                info = info_of(litellm, other, model) | info
            settings = settings_of(litellm, self._provider, model)
            self._known[model] = capabilities(self._provider, model, info, settings)
        return self._known[model]

    async def dropped(self, ask: Json) -> list[str]:
        """The settings of this request that litellm leaves out, because the provider does not know them."""
        if sends_as_is(self._provider, self._base_url):
            return []
        litellm = _loaded[0] if _loaded else await asyncio.to_thread(load)
        known = settings_of(litellm, self._provider, ask["model"])
        left = [key for key in ask if key in SETTINGS and key not in known] if known else []
        ignores = self._known_as.translation_of(str(ask["model"])).ignores_effort
        if ignores is not None and ignores(AskFacts(ask, stops_thinking=self._stops(litellm, ask))):
            left.append("reasoning_effort")
        return left

    async def count(self, ask: Json, key: str | None = None) -> Counted | None:  # noqa: ARG002 — no server is asked
        """The tokens of a request, counted with the tokenizer that litellm has for the model. Downloads nothing."""
        litellm = _loaded[0] if _loaded else await asyncio.to_thread(load)
        counting = partial(
            litellm.token_counter,
            model=str(ask["model"]),
            messages=ask["messages"],
            tools=ask.get("tools"),
            use_default_image_token_count=True,  # otherwise it downloads every image
        )
        try:
            # in a thread even for a short request: a tokenizer may have to be read first
            return Counted(int(await off_loop(SHORT + 1, counting)))
        except Exception:  # noqa: BLE001 — there are parts that it cannot count; the caller has an estimate
            return None

    def open(self, ask: Json, key: str | None = None) -> AsyncGenerator[Json]:
        """Ask, and yield chunks as an OpenAI server would send them. `UpstreamRefused` first, `UpstreamBroke` later."""
        return tapped_chunks(ask, self._chunks(ask, key))

    async def _chunks(self, ask: Json, key: str | None) -> AsyncGenerator[Json]:
        litellm = _loaded[0] if _loaded else await asyncio.to_thread(load)
        if self._provider is not None and self._provider not in providers():
            raise UpstreamRefused(_unknown(self._provider))
        model = str(ask["model"])
        most, stops = self._most_tokens(litellm, model), self._stops(litellm, ask)
        as_is = sends_as_is(self._provider, self._base_url)
        size = SHORT + 1 if not as_is and holds_many(ask) else 0
        kwargs = await off_loop(
            size, arguments, self._provider, ask, base_url=self._base_url, most_tokens=most, stops_thinking=stops
        )
        secret = key or self._api_key
        kwargs |= {"api_key": key_for(self._provider, secret, self._base_url), "timeout": self._timeout}
        if self._known_as.litellm.asks_responses and asks_for_a_response(litellm, kwargs):
            kwargs |= _STATELESS
        if headers := TRACE.get({}):
            kwargs["extra_headers"] = dict(headers)
        connect_within(self._connect, self._keep)
        begun = note_requests()
        started = False
        stream = None
        try:
            async with asyncio.timeout(self._timeout):
                stream = await self.requests.ask(litellm, kwargs) if as_is else None
                if stream is None:
                    stream = await litellm.acompletion(**kwargs)
            async with contextlib.aclosing(chunks_of(stream)) as chunks:
                # the transport limits the silence of a plain answer, which costs less than a limit for each chunk
                async for chunk in chunks if isinstance(stream, PlainAnswer) else in_time(chunks, self._timeout):
                    if is_error(chunk):
                        raise ReportedError(chunk)  # noqa: TRY301 — translated below, with all the others
                    started = True
                    yield chunk
        except Exception as error:  # noqa: BLE001 — any error of a hundred providers becomes a problem
            problem, cause = litellm_errors.failure(error, model=model, secret=secret, asked=bool(begun))
            # not `from error`: its text may hold the key, and a traceback would print it
            if started:
                raise UpstreamBroke(problem) from None
            raise UpstreamRefused(
                problem,
                cause=cause,
                wait=litellm_errors.wait_of(error),
                outage=litellm_errors.outage_of(error),
                elsewhere=litellm_errors.is_translation_fault(error, asked=bool(begun)),
                timed_out=litellm_errors.timed_out(error),
            ) from None
        finally:
            if stream is not None:
                await asyncio.shield(close(stream))

    async def close(self) -> None:
        """Nothing to close: litellm's connections are shared by all upstreams of this kind (`close_connections`)."""

    def _stops(self, litellm: Any, ask: Json) -> bool:
        """Whether this model is known to accept being asked not to think."""
        if ask.get("reasoning_effort") != "none":
            return False
        return stops_thinking(info_of(litellm, str(self._provider), str(ask["model"])), litellm.model_cost)

    def _most_tokens(self, litellm: Any, model: str) -> int | None:
        """The longest answer of this model in tokens, if it is needed and litellm knows it."""
        if not self._known_as.translation_of(model).needs_most_tokens:
            return None
        most = info_of(litellm, str(self._provider), model).get("max_output_tokens")
        return most if isinstance(most, int) else None
