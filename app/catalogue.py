"""Public model name -> route. A name is used as it is."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from .codex_catalog import ModelCard
from .compaction.endpoint import OWN_SUMMARY
from .dialects.chat.chat_options import ChatOptions
from .dialects.messages.messages_options import MessagesOptions
from .dialects.responses.relay_options import RelayOptions
from .prices import FindPrice, ModelPrice, no_price
from .protocol.problems import UNKNOWN_KEY, refuse
from .protocol.request.create_response import CreateResponse
from .protocol.seals import Sealer, Sealers
from .providers.capabilities import Capabilities
from .settings import Key, Secret
from .similar_names import similar
from .upstreams.breaker import Breaker
from .upstreams.callers_key import callers_problem, with_callers_errors
from .upstreams.clocks import Clocks
from .upstreams.listed_models import Admit, ListedModels
from .upstreams.model_list import ListedModel
from .upstreams.port import Addressed, AnyUpstream, Counted, Counting, Shaping, UpstreamRefused

__all__ = ["ANY", "Catalogue", "Counted", "Entry", "Route"]

ANY = "*"


CALLERS_KEY_WANTED: Final = (
    "This model needs your own key for its upstream: send it as `Authorization: Bearer <key>`. "
    "A key of this server is not sent there."
)


class Entry(NamedTuple):
    """One line of the table: which upstream serves a model, under which name, and with which options."""

    upstream_name: str
    address: str
    """The address of the upstream, as it may be shown; empty if it is not known."""
    upstream: AnyUpstream
    model: str | None
    """The model's name upstream; None means the public name."""
    options: ChatOptions | MessagesOptions | RelayOptions
    breaker: Breaker
    """The circuit breaker: the same for all models that this upstream serves."""
    clocks: Clocks
    """How long the upstream may take."""
    card: ModelCard
    passthrough: bool
    """Whether this upstream is sent the caller's own key."""
    others: tuple["Entry", ...]
    """Which upstreams are asked when this one fails, in this order."""
    sealers: Sealers | None
    """Make sealers of the content that clients carry; None if nothing is sealed."""
    resolved: Callable[[CreateResponse, Capabilities, str], Awaitable[CreateResponse]] | None
    """Fetches what a request holds as URLs, if this upstream does not; the last parameter is the owner."""
    price: FindPrice = no_price
    """What the tokens of a model cost here, by its name here."""


class Route(NamedTuple):
    """The upstream of one turn, with what belongs to its caller."""

    model: str
    entry: Entry
    key: Secret | None = None
    """The caller's own key, for an upstream that wants it."""
    others: tuple["Route", ...] = ()
    """The routes to try when this one fails."""
    sealer: Sealer | None = None
    """Seals and opens the content that the caller carries; None if nothing is sealed."""
    owner: str = ""
    """The caller, as the breaker distinguishes callers. All with a key of their own are one: keys can be invented."""
    fetched_for: str = ""
    """The owner whose share of the slots for fetching is used."""
    address: str = ""
    """Which other address of the upstream is asked; empty for that of responses."""
    refused_tokens: int | None = None
    """The estimated tokens of an ask that the upstream refused as too long."""

    @property
    def price(self) -> ModelPrice | None:
        """What the tokens of this model cost, if that is known."""
        return self.entry.price(self.entry.model or self.model)

    @property
    def most_tokens(self) -> int | None:
        """The estimated tokens that an ask may have, with room for the answer; None if that is not known."""
        if self.refused_tokens is not None:
            return self.refused_tokens // 2
        window = self.entry.card.model.context_window
        return None if window is None else window * 3 // 4

    def ways(self, request: CreateResponse) -> list["Route"]:
        """The routes to try for this request, in this order. None if no upstream is to be asked."""
        routes = [self, *self.others]
        if request.prewarms:  # any other upstream would write a whole answer
            return [route for route in routes if _may_prewarm(route.entry.options)]
        if not request.generate:
            return []
        if not request.summary_only:
            return routes
        return [each for route in routes for each in _summary_routes(route)]

    def without_fetching(self) -> "Route":
        """The same route, which fetches nothing."""
        return self._replace(entry=self.entry._replace(resolved=None))

    async def counted(self, ask: dict[str, Any]) -> Counted | None:
        """The tokens of this ask, counted by the upstream; None if it cannot count. Raises `UpstreamRefused`."""
        upstream = self.entry.upstream
        if not isinstance(upstream, Counting):
            return None
        try:
            return await upstream.count(ask, None if self.key is None else self.key.reveal())
        except UpstreamRefused as error:
            if self.key is not None:
                error.problem = callers_problem(error.problem)
            raise

    def posted(self, ask: dict[str, Any]) -> dict[str, Any]:
        """The body that the upstream's server gets for this ask, as far as it is not made by a library."""
        upstream = self.entry.upstream
        return upstream.posted(ask) if isinstance(upstream, Shaping) else ask

    def open(self, ask: dict[str, Any]) -> AsyncGenerator[dict[str, Any]]:
        """The upstream's payloads."""
        upstream = self.entry.upstream
        if self.address and isinstance(upstream, Addressed):
            upstream = upstream.at(self.address)
        if self.key is None:
            return upstream.open(ask)
        return with_callers_errors(upstream.open(ask, self.key.reveal()))


class Catalogue:
    """Every model that is served."""

    def __init__(self, entries: Mapping[str, Entry], lists: Mapping[str, ListedModels] = MappingProxyType({})) -> None:
        """`lists`: what each upstream lists, by its name, where that can be asked."""
        self._entries = dict(entries)
        self._lists = lists

    @property
    def breakers(self) -> dict[str, Breaker]:
        """The circuit breaker of each upstream that serves a model."""
        entries = [each for entry in self._entries.values() for each in (entry, *entry.others)]
        return {entry.upstream_name: entry.breaker for entry in entries}

    @property
    def circuits(self) -> dict[str, bool]:
        """For each upstream that serves a model, whether its circuit breaker is open."""
        return {name: breaker.is_open for name, breaker in self.breakers.items()}

    def names_for(self, caller: Key) -> list[str]:
        """The public names that this caller may use, without the wildcard."""
        return [name for name in self._entries if name != ANY and self._is_for(caller, name)]

    async def cards_for(self, caller: Key, admit: Admit) -> dict[str, ModelCard]:
        """The public names that this caller may use, each with its description.

        First the configured ones, then those that the upstream of the wildcard lists. It is asked if `admit` lets it.
        """
        cards = {name: self._entries[name].card for name in self.names_for(caller)}
        entry = self._entries.get(ANY)
        if entry is None or entry.model is not None:  # every name leads to the same model there
            return cards
        listed = {model.name: model for model in await self._listed(entry, caller, admit)}
        for name in cards:
            own = self._entries[name]
            model = listed.get(own.model or name) if own.upstream_name == entry.upstream_name else None
            if model is not None:
                cards[name] = own.card.listed(model.context_window, model.takes_images)
        for name, model in listed.items():
            if name not in self._entries and caller.may_use(name):
                cards[name] = entry.card.listed(model.context_window, model.takes_images)
        return cards

    async def listed_names(self) -> list[str]:
        """What the upstream of the wildcard lists for the server's own key, as an operator may see it."""
        entry = self._entries.get(ANY)
        lists = None if entry is None or entry.passthrough else self._lists.get(entry.upstream_name)
        if entry is None or lists is None:
            return []
        if entry.model is not None:  # every name leads to the same model
            return [entry.model]
        return [model.name for model in await lists.models(lambda: lambda: None)]

    async def _listed(self, entry: Entry, caller: Key, admit: Admit) -> tuple[ListedModel, ...]:
        lists = self._lists.get(entry.upstream_name)
        if lists is None or (caller.is_guest and not entry.passthrough):
            return ()
        if not entry.passthrough:
            return await lists.models(admit)
        if caller.own is None:
            return ()
        return await lists.models(admit, owner=caller.owner, key=caller.own.reveal())

    def look_up(self, model: str, caller: Key) -> Entry:
        """The entry of a model. Raises `ProblemError`, always the same, if there is none that the caller may use."""
        if self._is_for(caller, model):
            return self._entries.get(model) or self._entries[ANY]
        if caller.is_guest:
            raise refuse("invalid_api_key", UNKNOWN_KEY)
        meant = similar(model, self.names_for(caller))
        hint = f" Did you mean `{meant}`?" if meant is not None else " GET /v1/models lists those that do."
        raise refuse("model_not_found", f"The model `{model[:200]}` does not exist here.{hint}", "model")

    def route_for(self, model: str, caller: Key) -> Route:
        """The route to a model. Raises `ProblemError` as `look_up` does, or if the caller's own key is missing."""
        entry = self.look_up(model, caller)
        if entry.passthrough and caller.own is None:
            raise refuse("invalid_api_key", CALLERS_KEY_WANTED)
        others = [other for other in entry.others if not other.passthrough or caller.own is not None]
        if caller.is_guest:
            others = [other for other in others if other.passthrough]
        route = _route(model, entry, caller)
        return route._replace(others=tuple(_route(model, other, caller) for other in others)) if others else route

    def _is_for(self, caller: Key, model: str) -> bool:
        entry = self._entries.get(model) or self._entries.get(ANY)
        return entry is not None and caller.may_use(model) and (entry.passthrough or not caller.is_guest)


def _may_prewarm(options: ChatOptions | MessagesOptions | RelayOptions) -> bool:
    """Whether the upstream may know `prewarm`: servers that know functions only ignore it, and write an answer."""
    return isinstance(options, RelayOptions) and not options.functions_only


def _summary_routes(route: Route) -> list[Route]:
    """The route to the upstream's own endpoint first, if it may have one."""
    own = route._replace(address=OWN_SUMMARY.path)
    return [own, route] if isinstance(route.entry.upstream, Addressed) else [route]


def _route(model: str, entry: Entry, caller: Key) -> Route:
    key = caller.own if entry.passthrough else None
    sealers = entry.sealers
    sealer = None if sealers is None else sealers.for_owner(caller.owner, alone=caller.own is not None)
    owner = caller.owner if caller.own is None else "guests"
    return Route(model, entry, key, sealer=sealer, owner=owner, fetched_for=caller.owner)
