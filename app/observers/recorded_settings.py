"""The settings that a recording keeps, because the turn depends on them. Keys, addresses and names of people do not."""

from typing import Any, Final
from urllib.parse import urlsplit

from ..options import ServerOptions
from ..settings import Settings, Upstream

_SERVER: Final = {
    *ServerOptions.model_fields,
    *("fetch_urls", "max_body_bytes", "max_items", "max_json_values", "max_parts", "max_tools", "strict"),
}
_SEARCH: Final = {"backend", "max_pages", "max_searches", "results"}
_NOT_KEPT: Final = {"api_key", "auth", "base_url"}
NOWHERE: Final = "http://upstream.invalid"
"""Stands for the address of every upstream."""


def settings_for(settings: Settings, model: str) -> dict[str, Any]:
    """The settings that matter for turns with this model, without those that have their default values."""
    table = settings.models.get(model) or settings.models.get("*")
    if table is None:
        return {}
    kept = {
        "server": settings.server.model_dump(mode="json", include=_SERVER, exclude_defaults=True),
        "seal": settings.seal.model_dump(mode="json", include={"when"}, exclude_defaults=True),
        "search": settings.search.model_dump(mode="json", include=_SEARCH, exclude_defaults=True),
        "model": table.model_dump(mode="json", exclude_defaults=True),
        "upstreams": {name: _upstream(settings.upstreams[name]) for name in table.upstreams or (table.upstream,)},
    }
    return {name: values for name, values in kept.items() if values}


def _upstream(upstream: Upstream) -> dict[str, Any]:
    """Of its address only the path is kept, by which some servers are told apart."""
    kept = {"via": upstream.via, **upstream.model_dump(mode="json", exclude=_NOT_KEPT, exclude_defaults=True)}
    if upstream.base_url:
        kept["base_url"] = NOWHERE + urlsplit(upstream.base_url).path
    return kept
