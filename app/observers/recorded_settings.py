"""The settings that a recording keeps, because the turn depends on them. Keys, addresses and names of people do not."""

from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlsplit

from ..options import ServerOptions
from ..protocol.problems import ProblemError
from ..protocol.seals import Sealers
from ..recordings.readable_seals import Open
from ..settings import Model, Seal, Server, Settings, Upstream

_SERVER: Final = {
    *ServerOptions.model_fields,
    *("fetch_urls", "max_body_bytes", "max_items", "max_json_values", "max_parts", "max_tools", "strict"),
}
_SEARCH: Final = {"backend", "max_pages", "max_searches", "results"}
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
        "search": settings.search.model_dump(mode="json", include=_SEARCH, exclude_defaults=True),
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
    if (parts.hostname or "").endswith(_ENDING):
        return address
    return f"http://{sha256(parts.netloc.encode()).hexdigest()[:12]}{_ENDING}{parts.path}"


def opened_with(sealers: Sealers | None, owner: str) -> Open:
    """Opens what was encrypted for this caller. The upstream that it is from is named as in recordings."""
    sealer = None if sealers is None else sealers.for_owner(owner, alone=owner.startswith("guest:"))

    def opened(kind: str, envelope: str) -> dict[str, Any] | None:
        try:
            content = None if sealer is None else sealer.open(kind, envelope, "")
        except ProblemError:  # it is too much; the request is refused as well
            return None
        if content is None or not isinstance(content.get("origin"), str):
            return content
        words = [nowhere(word) if "://" in word else word for word in content["origin"].split(" ")]
        return {**content, "origin": " ".join(words)}

    return opened


def settings_of(kept: dict[str, Any], model: str) -> Settings:
    """The settings with which a turn was recorded, for a replay. Raises `ValueError` if they are not understood.

    Nothing is downloaded, and nothing is refused because of what happened before.
    """
    server = {**kept.get("server", {}), "fetch_urls": "never"}
    upstreams = {name: recorded_upstream({**table, "breaker_failures": 0}) for name, table in kept["upstreams"].items()}
    table = Model.model_validate(_of_several(kept.get("model", {})))
    return Settings(
        server=Server.model_validate(server),
        seal=Seal.model_validate(kept.get("seal", {})),
        upstreams=upstreams,
        models={model: table},
    )


def recorded_upstream(upstream: dict[str, Any]) -> Upstream:
    """The upstream of a recording, whoever wrote it, with an address that does not exist. Raises `ValueError`."""
    kept = {name: value for name, value in upstream.items() if name not in _NOT_KEPT}
    if address := upstream.get("base_url"):
        kept["base_url"] = nowhere(str(address))
    if kept.get("via") == "replay":
        message = "an upstream that was recorded cannot have via = replay"
        raise ValueError(message)
    return Upstream.model_validate(kept)


def _of_several(model: dict[str, Any]) -> dict[str, Any]:
    """A model has either one upstream, or several, the first of which is written twice."""
    if not model.get("upstreams"):
        return model
    return {name: value for name, value in model.items() if name != "upstream"}
