"""The tables of a configuration: models, the whole file, and the resulting settings. Frozen; values are checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field, model_validator

from ..options import ModelOptions, RelayedTools, Table
from .search import Search
from .server import Key, KeyTable, Seal, Server
from .upstream import Upstream
from .values import Name, is_loopback


class _ModelSource(Table):
    """Which upstreams serve a model, and under which names."""

    upstream: Name
    """The table of `[upstreams]` that serves it."""
    upstreams: tuple[Name, ...] = ()
    """Several tables instead of one, tried in this order until one sends its first data."""
    name: Name | None = None
    """Its name at the upstream; by default the public name."""
    names: dict[Name, Name] = Field(default_factory=dict)
    """Its name at single upstreams, where it differs."""


class Model(ModelOptions, RelayedTools, _ModelSource):
    """A model under its public name."""

    @model_validator(mode="before")
    @classmethod
    def _first_of_several(cls, data: Any) -> Any:
        """With a list of upstreams, the first one is the upstream."""
        several = data.get("upstreams") if isinstance(data, dict) else None
        if not several:
            return data
        if "upstream" in data:
            message = "needs either upstream or upstreams, and not both"
            raise ValueError(message)
        return {**data, "upstream": several[0]} if isinstance(several, list | tuple) else data


class Tables(Table):
    """The whole file."""

    server: Server = Server()
    seal: Seal = Seal()
    search: Search = Search()
    keys: tuple[KeyTable, ...] = ()
    upstreams: dict[Name, Upstream] = Field(default_factory=dict)
    models: dict[Name, Model] = Field(default_factory=dict)


ROWS: Mapping[str, type[Server | Seal | Search | KeyTable | Upstream | Model]] = {
    "server": Server,
    "seal": Seal,
    "search": Search,
    "keys": KeyTable,
    "upstreams": Upstream,
    "models": Model,
}
"""The tables of the file: `[server]`, `[seal]` and `[search]` themselves, and each entry of the others."""
WATCHED = 1000
"""The turns that the inspector of a server keeps which only this machine can call, if the settings name no number."""
DEMO_UPSTREAMS: Mapping[str, Upstream] = {"demo": Upstream(via="demo")}
DEMO_MODELS: Mapping[str, Model] = {"demo": Model(upstream="demo")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of the server. `Settings()` is the server without any configuration: the embedded model."""

    server: Server = field(default_factory=Server)
    seal: Seal = field(default_factory=Seal)
    search: Search = field(default_factory=Search)
    keys: tuple[Key, ...] = ()
    upstreams: Mapping[str, Upstream] = field(default_factory=lambda: dict(DEMO_UPSTREAMS))
    models: Mapping[str, Model] = field(default_factory=lambda: dict(DEMO_MODELS))
    """By public name; `*` is any other name, passed on unchanged unless it has a `name` of its own."""
    file: str | None = None
    """The file that was read."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Where each value comes from, by its path: `{"server.port": "--port", "upstreams.x.api_key": "env:X_KEY"}`."""
    given_by: str = ""
    """The flag or variable with the address of the upstream named `upstream`: `--upstream` or `AM_UPSTREAM`; empty if
    there is none."""
    via_is_open: bool = False
    """Whether that upstream was given without a `via`, so that its server should be looked at."""
    notes: tuple[str, ...] = ()
    """Remarks on things that may be mistakes."""

    @property
    def serves_page(self) -> bool:
        """Whether the inspector is served: not if it is switched off, or if others could use it without a key."""
        return self.server.ui and (bool(self.keys) or is_loopback(self.server.host))

    @property
    def watched(self) -> int:
        """How many recent turns the inspector keeps."""
        if not self.serves_page:
            return 0
        if self.server.watch is None:
            return WATCHED if self.server.is_local else 0
        return self.server.watch
