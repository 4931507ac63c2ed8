"""Model names -> routes: an upstream, its dialect, and what is known of the model there."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from .dialects.chat.server import CHAT
from .dialects.messages.server import MESSAGES
from .dialects.record import Dialect
from .dialects.responses.server import RESPONSES
from .prompt.nouns import Model
from .providers.claude import BUDGETS, OTHERS, claude_of
from .providers.table import ANTHROPIC, provider_of
from .settings.load import Settings
from .settings.tables import UNKNOWN_KEY, Caller, Can, ModelSettings, UpstreamSettings
from .types.problems import refuse
from .upstreams.demo import Demo
from .upstreams.http import HttpUpstream
from .upstreams.litellm import LitellmUpstream
from .upstreams.litellm_body import LITELLM
from .upstreams.model_list import ListedModel
from .upstreams.port import Upstream

_ANY = "*"
_DIALECTS: dict[str, Dialect] = {
    "chat": CHAT, "demo": CHAT, "litellm": LITELLM, "messages": MESSAGES, "responses": RESPONSES,
}  # fmt: skip
"""By `via`."""
_SHOWN = 200
"""Characters of a name in a message."""
_OWN_KEY = (
    "This model needs your own key for its upstream: send it as `Authorization: Bearer <key>`. "
    "A key of this server is not sent there."
)


class Route(NamedTuple):
    """A way to answer: a model behind an upstream."""

    name: str
    """Of the upstream."""
    upstream: Upstream
    dialect: Dialect
    model: Model
    takes_own_key: bool
    """Whether this upstream is asked with the caller's own key."""
    key: str | None = None
    """That key."""
    headers: Mapping[str, str] = {}
    """For each ask of the turn."""


class Catalog:
    """The models of a configuration."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        most = settings.server.max_answer_bytes
        self._upstreams = {name: _upstream(table, most) for name, table in settings.upstreams.items()}
        self.breakers = {name: upstream.breaker for name, upstream in self._upstreams.items()}
        self._routes = {name: list(self._ways(name, model)) for name, model in settings.models.items()}

    def routes(self, name: str, caller: Caller) -> Sequence[Route]:
        """The ways to ask the model of this name, in order. Raises `ProblemError`."""
        self.look_up(name, caller)
        routes = self._of(name)
        if routes[0].takes_own_key and caller.own is None:
            raise refuse("invalid_api_key", _OWN_KEY)
        return [_named(route, name, caller) for route in routes if _may_ask(route, caller)]

    def look_up(self, name: str, caller: Caller) -> ModelSettings:
        """The settings of this model. Raises `ProblemError`, always the same, if the caller may not use it."""
        settings = self._settings.models.get(name) or self._settings.models.get(_ANY)
        if settings is not None and self._is_for(caller, name):
            return settings
        if caller.is_guest:
            raise refuse("invalid_api_key", UNKNOWN_KEY)
        names = self.names(caller)
        near = names if len(names) == 1 else get_close_matches(name[:_SHOWN], names, 1)
        hint = f"Did you mean `{near[0]}`?" if near else "GET /v1/models lists those that do."
        other = ", or your key may not use it" if caller.models else ""
        raise refuse("model_not_found", f"The model `{name[:_SHOWN]}` does not exist here{other}. {hint}", "model")

    def names(self, caller: Caller) -> list[str]:
        """The names of models that this caller may use."""
        return [name for name in self._routes if name != _ANY and self._is_for(caller, name)]

    async def listed(self, caller: Caller) -> dict[str, ModelSettings]:
        """The models that this caller may use: the configured ones, then those that the upstream of `*` lists."""
        models = {name: self._settings.models[name] for name in self.names(caller)}
        others = self._settings.models.get(_ANY)
        if others is None or others.name is not None:  # every name leads to the same model
            return models
        for route in self._routes[_ANY][:1]:
            listed = await route.upstream.models(caller.own) if _may_ask(route, caller) else []
            known = {model.name: model for model in listed}
            for name, own in models.items():
                if own.asked[:1] == others.asked[:1] and (model := known.get(own.name or name)) is not None:
                    models[name] = with_facts(own, model)
            for name, model in known.items():
                if name not in self._routes and caller.may_use(name):
                    models[name] = with_facts(others, model)
        return models

    async def close(self) -> None:
        """Close every connection to an upstream."""
        for upstream in self._upstreams.values():
            await upstream.close()

    def _of(self, name: str) -> list[Route]:
        return self._routes.get(name) or self._routes[_ANY]

    def _is_for(self, caller: Caller, name: str) -> bool:
        return caller.may_use(name) and (not caller.is_guest or self._of(name)[0].takes_own_key)

    def _ways(self, name: str, model: ModelSettings) -> Iterator[Route]:
        """The ways to ask a model: by its upstreams, and by those of other models that it names."""
        for asked in model.asked:
            if asked in self._upstreams:
                yield self._way(name, model, asked)
            else:
                other = self._settings.models[asked]
                yield from [self._way(asked, other, way) for way in other.asked if way in self._upstreams]

    def _way(self, name: str, model: ModelSettings, upstream: str) -> Route:
        table = self._settings.upstreams[upstream]
        provider = provider_of(table.provider)
        there = model.called(upstream, name)
        can = Can(**{**provider.can, **model.can.model_dump(exclude_none=True)})
        told = _adapted(Model(name, there, model, table, provider, can, self._settings.server, _origin(table)))
        return Route(upstream, self._upstreams[upstream], _DIALECTS[table.via], told, table.auth == "passthrough")


def _upstream(table: UpstreamSettings, most: int) -> Upstream:
    if table.via == "litellm":
        return LitellmUpstream(table, most)
    return Demo(0) if table.via == "demo" else HttpUpstream(table, _DIALECTS[table.via], most)


def _adapted(model: Model) -> Model:
    """The model as the API takes it by which it is asked."""
    if model.upstream.via != "messages":
        return model
    claude, provider = claude_of(model.upstream_name), provider_of(model.upstream.provider)
    efforts = claude.efforts if claude else ()
    return model._replace(
        provider=provider._replace(call_ids="plain40", efforts=efforts),
        can=Can(**{**(claude.can if claude else OTHERS), **model.settings.can.model_dump(exclude_none=True)}),
        thinking_tokens={} if claude is None or claude.adaptive else BUDGETS,
        declares_past_tools=True,
        signed_reasoning=True,
        takes_file_urls=provider is ANTHROPIC,
    )


def _origin(table: UpstreamSettings) -> str:
    """What identifies an upstream in seals: litellm's by its provider, any other by its address."""
    provider = table.provider if table.via == "litellm" else None
    return " ".join([word for word in (table.via, provider, table.base_url) if word])


def _may_ask(route: Route, caller: Caller) -> bool:
    return caller.own is not None if route.takes_own_key else not caller.is_guest


def _named(route: Route, name: str, caller: Caller) -> Route:
    """The route for this caller, and for this name, where it is that of any other name."""
    model = route.model
    if model.name == _ANY:
        there = name if model.upstream_name == _ANY else model.upstream_name
        model = _adapted(model._replace(name=name, upstream_name=there))
    return route._replace(model=model, key=caller.own if route.takes_own_key else None)


def with_facts(settings: ModelSettings, model: ListedModel) -> ModelSettings:
    """The settings with what the model's server says of it, where they say nothing."""
    window, vision = settings.context_window or model.context_window, settings.can.vision
    can = settings.can.model_copy(update={"vision": model.takes_images if vision is None else vision})
    return settings.model_copy(update={"context_window": window, "can": can})
