"""A server before a scripted upstream, for tests of its websocket."""

from collections.abc import Iterator
from typing import Any

from tests.wire.configuration import Model, Settings, Table, Upstream
from tests.wire.program import serving
from tests.wire.script import text_turn
from tests.wire.servers import ChatUpstream, ResponsesUpstream, Script

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


class WebsocketServer:
    """Both, for many tests."""

    def __init__(self, url: str, upstream: ChatUpstream) -> None:
        self.url = url
        self.upstream = upstream

    def set_scripts(self, *scripts: Script) -> None:
        """What the upstream says from now on, ask by ask."""
        self.upstream.scripts = scripts
        self.upstream.asks.clear()

    def messages(self) -> list[tuple[str, str]]:
        """Role and content of each message of the last ask."""
        return [(entry["role"], entry["content"]) for entry in self.upstream.asks[-1].body["messages"]]


def served() -> Iterator[WebsocketServer]:
    """A fixture: the upstream answers one, two, three, unless a test changes it."""
    upstream = ChatUpstream(text_turn("one"), text_turn("two"), text_turn("three"))
    with upstream, serving(settings_of(upstream)) as url:
        yield WebsocketServer(url, upstream)
