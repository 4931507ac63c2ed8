"""Model names -> routes: an upstream, its dialect, and what is known of the model there."""

from collections.abc import Sequence
from typing import NamedTuple

from .dialects.chat.server import CHAT
from .dialects.record import Dialect
from .prompt.nouns import CallIds, Model
from .settings.load import DEMO, Settings
from .settings.tables import KeySettings, ModelSettings, UpstreamSettings
from .types.problems import ProblemError, refuse
from .upstreams.demo import Demo
from .upstreams.http import HttpUpstream
from .upstreams.port import Upstream

_CALL_IDS: dict[str, CallIds] = {"mistral": "alphanumeric9", "openai": "plain40", "azure": "plain40"}
"""By provider."""


class Route(NamedTuple):
    """A way to answer: a model behind an upstream."""

    name: str
    """Of the upstream."""
    upstream: Upstream
    dialect: Dialect
    model: Model
    key: str | None
    """The key to ask with, where it is not the upstream's own."""


class Catalog:
    """The models of a configuration."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._upstreams: dict[str, Upstream] = {}
        self._models = settings.models or {"*": ModelSettings(upstream=DEMO)}

    def routes(self, name: str, key: KeySettings | None) -> Sequence[Route]:
        """The ways to ask the model of this name, in order."""
        settings = self._models.get(name) or self._models.get("*")
        allowed = key is None or not key.models or name in key.models
        if settings is None or not allowed:
            raise _unknown(name)
        routes = [route for upstream in settings.asked for route in self._through(upstream, name, settings)]
        if not routes:
            raise _unknown(name)
        return routes

    @property
    def names(self) -> list[str]:
        """The names of models that clients may use."""
        return [name for name in self._models if name != "*"]

    async def close(self) -> None:
        """Close every connection to an upstream."""
        for upstream in self._upstreams.values():
            await upstream.close()

    def _through(self, upstream: str, name: str, settings: ModelSettings) -> list[Route]:
        """The ways by this upstream; or by another model, if it is the name of one."""
        table = self._settings.upstreams.get(upstream)
        if table is None and upstream in self._settings.models:
            other = self._settings.models[upstream]
            ways = [way for way in other.asked if way in self._settings.upstreams]
            return [route for way in ways for route in self._through(way, upstream, other)]
        table = table or UpstreamSettings()  # the embedded model
        there = settings.names.get(upstream) or settings.name or name
        ids = _CALL_IDS.get(table.provider or "", "keep")
        model = Model(name, there, settings, table, ids)
        return [Route(upstream, self._upstream(upstream, table), CHAT, model, None)]

    def _upstream(self, name: str, table: UpstreamSettings) -> Upstream:
        if name not in self._upstreams:
            if name not in self._settings.upstreams:
                self._upstreams[name] = Demo()
            elif (table.via or "chat") == "chat" and table.base_url:
                self._upstreams[name] = HttpUpstream(table, CHAT, self._settings.server.max_answer_bytes)
            else:
                raise refuse("upstream_error", f"This edition cannot ask the upstream '{name}' yet.")
        return self._upstreams[name]


def _unknown(name: str) -> ProblemError:
    message = f"The model `{name[:100]}` does not exist here. GET /v1/models lists those that do."
    return refuse("model_not_found", message, "model")
