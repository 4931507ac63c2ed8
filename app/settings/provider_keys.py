"""Completes upstreams with `via = "chat"` and a `provider`: their key, and where their settings come from."""

from typing import Any, Final

from app.providers.lookup import provider_of
from app.providers.provider import Provider
from app.settings.mistakes import Path
from app.settings.sources import Sources

_OTHERS: Final = frozenset({"api_key", "base_url"})
"""With one of these, the key in the environment is not used: it must not be sent to another address."""


def complete_upstreams(sources: Sources) -> None:
    """Give every such upstream the key that its provider's variable holds."""
    upstreams = sources.data.get("upstreams")
    for name, table in upstreams.items() if isinstance(upstreams, dict) else ():
        if isinstance(table, dict) and table.get("via") == "chat" and isinstance(table.get("provider"), str):
            _complete(sources, ("upstreams", name), table, provider_of(table["provider"]))


def _complete(sources: Sources, path: Path, table: dict[str, Any], provider: Provider) -> None:
    for setting in provider.settings.keys() - table.keys():
        sources.origins[*path, setting] = f'provider = "{provider.name}"'
    if provider.key_variable and not _OTHERS & table.keys() and table.get("auth", "key") == "key":
        table["api_key"] = sources.variable(provider.key_variable, (*path, "api_key"))
