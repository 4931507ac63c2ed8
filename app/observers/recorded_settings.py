"""The settings that a recording keeps, because the turn depends on them. Keys, addresses and names of people do not."""

from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlsplit

from ..options import ServerOptions
from ..settings import Settings, Upstream

_SERVER: Final = {
    *ServerOptions.model_fields,
    *("fetch_urls", "max_body_bytes", "max_items", "max_json_values", "max_parts", "max_tools", "strict"),
}
_NOT_KEPT: Final = {"api_key", "auth", "base_url"}
_ENDING: Final = ".invalid"
"""The domain of the addresses that stand for those of upstreams: it does not exist."""


def settings_for(settings: Settings, model: str) -> dict[str, Any]:
    """The settings that matter for turns with this model, without those that have their default values."""
    table = settings.models.get(model) or settings.models.get("*")
    if table is None:
        return {}
    kept = {
        "server": settings.server.model_dump(mode="json", include=_SERVER, exclude_defaults=True),
        "seal": settings.seal.model_dump(mode="json", include={"when"}, exclude_defaults=True),
        "model": table.model_dump(mode="json", exclude_defaults=True),
        "upstreams": {name: _upstream(settings.upstreams[name]) for name in table.upstreams or (table.upstream,)},
    }
    return {name: values for name, values in kept.items() if values}


def _upstream(upstream: Upstream) -> dict[str, Any]:
    """Of its address only the path is kept, by which some servers are told apart, and a hash."""
    kept = {"via": upstream.via, **upstream.model_dump(mode="json", exclude=_NOT_KEPT, exclude_defaults=True)}
    if upstream.base_url:
        kept["base_url"] = nowhere(upstream.base_url)
    return kept


def nowhere(address: str) -> str:
    """An address that stands for this one, and always for the same: it has a hash in place of the server's name."""
    parts = urlsplit(address)
    return f"http://{sha256(parts.netloc.encode()).hexdigest()[:12]}{_ENDING}{parts.path}"
