"""Model names -> routes: an upstream, its dialect, and what is known of the model there."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from .dialects.chat.server import CHAT
from .dialects.record import Dialect
from .prompt.history import CallIds
from .prompt.model import Model
from .settings.load import DEMO, Settings
from .settings.tables import KeySettings, ModelSettings, UpstreamSettings
from .types.problems import ProblemError, refuse
from .upstreams.demo import Demo
from .upstreams.http import HttpUpstream
from .upstreams.port import Upstream

_CALL_IDS: Final[dict[str, CallIds]] = {"mistral": "alphanumeric9", "openai": "plain40", "azure": "plain40"}
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

    @property
    def timeout(self) -> float:
        """Longest silence, in seconds."""
        return self.model.upstream.timeout

    @property
    def turn_timeout(self) -> float | None:
        """Longest turn, in seconds."""
        return self.model.upstream.turn_timeout

    @property
    def retries(self) -> int:
        """How often it is asked again."""
        return self.model.upstream.retries


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
        upstreams = settings.upstreams or ((settings.upstream,) if settings.upstream else ())
        routes = [route for upstream in upstreams for route in self._through(upstream, name, settings)]
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
        table = UpstreamSettings() if upstream == DEMO else self._settings.upstreams.get(upstream)
        if table is None:
            other = self._settings.models[upstream]
            return [
                route
                for way in other.upstreams or ((other.upstream,) if other.upstream else ())
                if way in self._settings.upstreams
                for route in self._through(way, upstream, other)
            ]
        there = settings.names.get(upstream) or settings.name or name
        ids = _CALL_IDS.get(table.provider or "", "keep")
        model = Model(name, there, settings, table, ids)
        return [Route(upstream, self._upstream(upstream, table), CHAT, model, None)]

    def _upstream(self, name: str, table: UpstreamSettings) -> Upstream:
        if name not in self._upstreams:
            if name == DEMO:
                self._upstreams[name] = Demo()
            elif (table.via or "chat") == "chat" and table.base_url:
                most = self._settings.server.max_answer_bytes
                self._upstreams[name] = HttpUpstream(table, CHAT, most)
            else:
                raise refuse("upstream_error", f"This edition cannot ask the upstream '{name}' yet.")
        return self._upstreams[name]


def _unknown(name: str) -> ProblemError:
    message = f"The model `{name[:100]}` does not exist here. GET /v1/models lists those that do."
    return refuse("model_not_found", message, "model")
