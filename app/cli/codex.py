"""Codex is set up by `-c` flags, which override its configuration for one run, or by a profile that its user saves.

Flags name a catalogue in a file, which all versions read; a profile names its address.
"""

import os
from pathlib import Path
from typing import Any, NamedTuple

from .check import toml

_SEARCH = {"features.standalone_web_search": True, "suppress_unstable_features_warning": True}
"""Its own search of the web, a feature under development: without the second one it would warn of the first."""


class Server(NamedTuple):
    """The server that Codex will use."""

    base_url: str
    model: str
    """The model to start with."""
    key_variable: str = ""
    """The variable with the key; empty if none is needed."""
    searches: bool = False
    """Whether it searches the web for Codex."""


def flags(server: Server, catalogue: Path) -> list[str]:
    """The words of the command line with which Codex uses this server, and the models of this file."""
    own = {"model_catalog_json": str(catalogue), "model_providers.am": _provider(server)}
    return [word for name, value in (_settings(server) | own).items() for word in ("-c", f"{name}={toml(value)}")]


def profile(server: Server) -> str:
    """A file with which Codex uses a server that runs all the time."""
    folder = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    key = {} if server.key_variable else {"experimental_bearer_token": "none"}  # it reads no catalogue without a key
    own = {"model_catalog_url": f"{server.base_url}/models", "supports_websockets": True}
    return "\n".join(
        [
            f"# Save this as {folder / 'am.config.toml'}",
            "# and start Codex (0.169 or newer) with: codex --profile am",
            "# while `am-proxy serve` runs, with the configuration and the flags that `launch` was given",
            *(f"{name} = {toml(value)}" for name, value in _settings(server).items()),
            "",
            "[model_providers.am]",
            *(f"{name} = {toml(value)}" for name, value in (_provider(server) | key | own).items()),
        ]
    )


def _settings(server: Server) -> dict[str, Any]:
    return {"model": server.model, "model_provider": "am", **(_SEARCH if server.searches else {})}


def _provider(server: Server) -> dict[str, Any]:
    key = {"env_key": server.key_variable} if server.key_variable else {}
    searches = {"supports_standalone_web_search": True} if server.searches else {}
    return {"name": "AM Proxy", "base_url": server.base_url, "wire_api": "responses", **key, **searches}
