"""Builds the catalogue of models from the settings, and what fetches and searches."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from .catalogue import Catalogue, Entry
from .codex_catalog import ModelCard
from .dialects.chat.chat_options import ChatOptions
from .dialects.messages.messages_options import MessagesOptions
from .dialects.responses.relay_options import RelayOptions
from .new_turns import load_dialect
from .options import HINTS
from .prices import FindPrice, ModelPrice, PriceList, configured_price
from .protocol.request.create_response import CreateResponse
from .protocol.seals import Sealers
from .providers.capabilities import Capabilities
from .providers.claude_models import claude_model
from .providers.lookup import provider_of
from .searching.backends import BACKENDS, SearchPlace
from .settings import Model, Settings, Upstream
from .upstreams.breaker import Breaker
from .upstreams.causes import shown_address
from .upstreams.clocks import Clocks
from .upstreams.listed_models import ListedModels
from .upstreams.messages_address import messages_address
from .upstreams.port import AnyUpstream

if TYPE_CHECKING:
    from .fetching.fetcher import Fetcher
    from .searching.search_client import SearchClient

FETCHED_FOR: Final = frozenset({"chat", "litellm", "messages"})
"""Ways to ask an upstream in which it does not always fetch images and files."""
MESSAGES_HINTS: Final = frozenset({"safety_identifier", "service_tier", "user"})
"""Hints that the Messages API takes."""


def fetcher_of(settings: Settings) -> "Fetcher | None":
    """Fetches images and files for upstreams that do not fetch them; None if there are none."""
    needed = any(upstream.via in FETCHED_FOR for upstream in settings.upstreams.values())
    if settings.server.fetch_urls == "never" or not needed:
        return None
    from .fetching.fetcher import Fetcher  # noqa: PLC0415 — its library costs 0.15 s, and the demo needs none

    return Fetcher(timeout=settings.server.fetch_timeout, allow_private=settings.server.allow_private_urls)


def search_client_of(settings: Settings) -> "SearchClient | None":
    """The connection to the server that searches; None where there is none."""
    search = settings.search
    if search.backend == "none":
        return None
    from .searching.search_client import SearchClient  # noqa: PLC0415 — as above

    key = None if search.api_key is None else search.api_key.reveal()
    place = SearchPlace(search.base_url, key)
    return SearchClient(BACKENDS[search.backend], place, search.timeout)


def build_catalogue(
    settings: Settings,
    upstreams: Mapping[str, AnyUpstream],
    sealers: Sealers | None = None,
    fetcher: "Fetcher | None" = None,
    lists: Mapping[str, ListedModels] = MappingProxyType({}),
) -> Catalogue:
    """Make an entry for every model of the settings, with its upstreams in order."""
    breakers = {name: _breaker(name, settings) for name in settings.upstreams}

    def entry(model: Model, name: str, others: tuple[Entry, ...] = ()) -> Entry:
        configured = settings.upstreams[name]
        upstream_model = model.names.get(name, model.name)
        options = _options(model, configured, settings)
        load_dialect(options)
        return Entry(
            upstream_name=name,
            address=_shown_address(configured),
            upstream=upstreams[name],
            model=upstream_model,
            options=options,
            breaker=breakers[name],
            clocks=_clocks(configured, settings),
            card=ModelCard(
                model,
                images=_takes_images(model, configured, upstream_model),
                known_efforts=partial(_known_efforts, configured, upstream_model),
            ),
            passthrough=configured.auth == "passthrough",
            others=others,
            sealers=sealers,
            resolved=_resolver(settings, configured, fetcher),
            price=_price_of(model, configured),
        )

    def entries(model: Model) -> Entry:
        others = tuple(entry(model, other) for other in model.upstreams[1:])
        return entry(model, model.upstream, others)

    return Catalogue({name: entries(model) for name, model in settings.models.items()}, lists)


def lists_of(settings: Settings) -> dict[str, ListedModels]:
    """The lists of models of all upstreams whose address is known, by the upstreams' names."""
    lists = {}
    for name, upstream in settings.upstreams.items():
        key = None if upstream.api_key is None else upstream.api_key.reveal()
        address = upstream.base_url
        if address is None and (key is not None or upstream.auth == "passthrough"):
            address = provider_of(upstream.provider).base_url
        if address is not None and upstream.via == "messages":
            lists[name] = ListedModels(messages_address(address), key, key_header=upstream.key_header)
        elif address is not None:
            lists[name] = ListedModels(address, key)
    return lists


PRICES: Final = PriceList()
"""litellm's prices: its list does not depend on the settings."""


def _price_of(model: Model, upstream: Upstream) -> FindPrice:
    """The configured price of a model; without one, what litellm lists."""
    if model.input_price is not None and model.output_price is not None:
        price = configured_price(model.input_price, model.cached_input_price, model.output_price)
        return lambda _: price

    def listed(name: str) -> ModelPrice | None:
        provider, known = upstream.provider, name
        if provider is None and upstream.via == "litellm" and "/" in name:
            provider, _, known = name.partition("/")
        return None if provider is None else PRICES.find(provider, known)

    return listed


def _shown_address(upstream: Upstream) -> str:
    secret = None if upstream.api_key is None else upstream.api_key.reveal()
    return shown_address(upstream.base_url, secret) if upstream.base_url else ""


def _breaker(name: str, settings: Settings) -> Breaker:
    configured = settings.upstreams[name]
    return Breaker(
        name,
        retries=configured.retries,
        failures=configured.breaker_failures,
        pause=configured.breaker_pause,
        several_callers=configured.auth == "passthrough" or len({key.name for key in settings.keys}) > 1,
    )


def _clocks(upstream: Upstream, settings: Settings) -> Clocks:
    return Clocks(
        keep_alive=settings.server.keep_alive,
        first_payload=upstream.first_payload_timeout or upstream.timeout,
        idle=upstream.timeout,
        turn=upstream.turn_timeout,
    )


def _resolver(
    settings: Settings, upstream: Upstream, fetcher: "Fetcher | None"
) -> Callable[[CreateResponse, Capabilities, str], Awaitable[CreateResponse]] | None:
    if fetcher is None or upstream.via not in FETCHED_FOR:
        return None
    from .fetching.attachments import Attachments  # noqa: PLC0415 — as in `fetcher_of`

    def fetches_image(url: str) -> bool:
        if upstream.via == "messages":
            return not upstream.takes_image_urls or not url.startswith("https://")
        if upstream.via == "chat":
            return not upstream.takes_image_urls
        from .upstreams.litellm_ask import would_fetch  # noqa: PLC0415 — as above

        return would_fetch(upstream.provider, upstream.base_url, url)

    def fetches_file(url: str) -> bool:
        return not (_by_claudes_maker(upstream) and url.startswith("https://") and urlsplit(url).path.endswith(".pdf"))

    most = settings.server.max_fetch_bytes
    return Attachments(fetcher, fetches_image=fetches_image, fetches_file=fetches_file, most_bytes=most).resolved


def _by_claudes_maker(upstream: Upstream) -> bool:
    """Whether the API of Claude's maker is asked, which fetches images and PDF files itself."""
    return upstream.via == "messages" and provider_of(upstream.provider).makes_claude


def _options(model: Model, upstream: Upstream, settings: Settings) -> ChatOptions | MessagesOptions | RelayOptions:
    known = provider_of(upstream.provider)
    if upstream.via == "responses":
        sent_as = upstream.tools if model.tools == "auto" else model.tools
        hosted = (model.hosted_tools, upstream.hosted_tools, known.responses.hosted_tools if upstream.provider else ())
        functions_only = known.responses.functions_only if sent_as == "auto" else sent_as == "functions"
        return RelayOptions(
            ids=upstream.ids,
            functions_only=functions_only,
            tools_unknown=sent_as == "auto" and not (functions_only or known.prefers_responses),
            hosted_tools=next((kinds for kinds in hosted if kinds is not None), None),
            named_tool_choice=upstream.named_tool_choice or known.named_tool_choice,
            efforts=model.reasoning_efforts or known.can.efforts,
            explicit_items=known.responses.explicit_items,
            server=settings.server,
            origin=_origin(upstream),
        )
    common: dict[str, Any] = {
        "model": model,
        "server": settings.server,
        "hints": _hints(upstream),
        "seal_always": settings.seal.when == "always",
        "origin": _origin(upstream),
        "one_maker": known.one_maker,
        "can": _can(model, upstream),
        "named_tool_choice": upstream.named_tool_choice or known.named_tool_choice,
    }
    if upstream.via == "messages":
        return MessagesOptions(
            call_ids="plain64" if model.call_ids == "auto" else model.call_ids,
            declare_past_tools=True,
            signed_reasoning=True,
            has_all_features=_by_claudes_maker(upstream),
            file_urls=_by_claudes_maker(upstream),
            **common,
        )
    return ChatOptions(
        call_ids=known.call_ids if model.call_ids == "auto" else model.call_ids,
        declare_past_tools=known.needs_tools,
        marks_claude=upstream.via == "litellm" and known.translation_of("claude").cached_to_marks,
        **common,
    )


def _can(model: Model, upstream: Upstream) -> Capabilities:
    """What the model can do, as configured, and as known of its provider where that is asked directly."""
    configured = Capabilities(**dict(model.can), efforts=model.reasoning_efforts or None)
    if upstream.via != "chat":
        return configured
    return configured.over(provider_of(upstream.provider).can)


def _takes_images(model: Model, upstream: Upstream, upstream_model: str | None) -> bool:
    """Whether the model takes images, as far as is known without litellm's model map, which takes seconds to load."""
    if upstream.via != "litellm" or model.can.vision is not None:
        return _can(model, upstream).vision is not False
    from .upstreams.litellm_can import lost_parts  # noqa: PLC0415 — only litellm's upstreams need it

    return "image_url" not in lost_parts(upstream.provider or "", upstream_model or "")


def _known_efforts(upstream: Upstream, upstream_model: str | None, name: str) -> tuple[str, ...]:
    """The efforts of a Claude that is asked by its own API, or by its maker's through litellm."""
    by_maker = upstream.via == "litellm" and provider_of(upstream.provider).makes_claude
    claude = claude_model(upstream_model or name) if by_maker or upstream.via == "messages" else None
    return claude.efforts if claude else ()


def _hints(upstream: Upstream) -> frozenset[str]:
    if upstream.hints is not None:
        return frozenset(upstream.hints)
    if upstream.via == "messages":
        return MESSAGES_HINTS
    return frozenset(HINTS) if provider_of(upstream.provider).takes_hints else frozenset()


def _origin(upstream: Upstream) -> str:
    """Identifies an upstream: the same in every process, and after a change of its key or name."""
    provider = upstream.provider if upstream.via == "litellm" else None  # any other is known by its address
    return " ".join(word for word in (upstream.via, provider, upstream.base_url) if word)
