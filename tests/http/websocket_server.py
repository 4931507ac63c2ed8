"""A server before a scripted upstream, for tests of its connections."""

from typing import Any

from tests.wire.configuration import Model, Settings, Table, Upstream
from tests.wire.servers import ChatUpstream

GOING_AWAY = 1001


def settings_of(upstream: ChatUpstream, keys: list[Table] | None = None, **server: Any) -> str:
    """A server before this upstream, which has a model of any name and may fail as often as it likes."""
    return Settings(
        server=server,
        keys=keys,
        upstreams={"scripted": Upstream(via="chat", base_url=upstream.url, breaker_failures=0)},
        models={"*": Model(upstream="scripted")},
    )
