"""A server before a scripted upstream, for tests of its websocket."""

from typing import Any

from tests.wire.configuration import Model, Settings, Table, Upstream
from tests.wire.servers import ChatUpstream, ResponsesUpstream

GOING_AWAY = 1001


def settings_of(upstream: ChatUpstream | ResponsesUpstream, keys: list[Table] | None = None, **server: Any) -> str:
    """A server before this upstream, which has a model of any name and may fail as often as it likes."""
    via = "responses" if isinstance(upstream, ResponsesUpstream) else "chat"
    return Settings(
        server=server,
        keys=keys,
        upstreams={"scripted": Upstream(via=via, base_url=upstream.url, breaker_failures=0)},
        models={"*": Model(upstream="scripted")},
    )
