"""Codex is set up by `-c` flags, which override its configuration for one run, or by a profile that its user saves.

Of the ways to tell Codex which models there are, only a catalogue in a file makes the menu of most versions show these
and no others.
"""

import os
import shlex
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
    settings = {**_settings(server, catalogue), "model_providers.am": _provider(server)}
    return [word for name, value in settings.items() for word in ("-c", f"{name}={toml(value)}")]


def profile(server: Server) -> str:
    """A file with which Codex uses a server that runs all the time."""
    folder = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    catalogue = folder / "am.models.json"
    key = f' -H "Authorization: Bearer ${server.key_variable}"' if server.key_variable else ""
    return "\n".join(
        [
            f"# Save this as {folder / 'am.config.toml'}",
            "# and start Codex with: codex --profile am",
            "# While AM Proxy runs, save the list of its models, and again when they change:",
            f"# curl -s{key} '{server.base_url}/models?client_version=0' > {shlex.quote(str(catalogue))}",
            *(f"{name} = {toml(value)}" for name, value in _settings(server, catalogue).items()),
            "",
            "[model_providers.am]",
            *(f"{name} = {toml(value)}" for name, value in _provider(server).items()),
        ]
    )


def _settings(server: Server, catalogue: Path) -> dict[str, Any]:
    own = {"model": server.model, "model_provider": "am", "model_catalog_json": str(catalogue)}
    return {**own, **(_SEARCH if server.searches else {})}


def _provider(server: Server) -> dict[str, Any]:
    key = {"env_key": server.key_variable} if server.key_variable else {}
    searches = {"supports_standalone_web_search": True} if server.searches else {}
    return {"name": "AM Proxy", "base_url": server.base_url, "wire_api": "responses", **key, **searches}
