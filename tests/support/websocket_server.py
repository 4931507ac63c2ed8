"""A server before a scripted upstream, for tests of its websocket."""

from typing import Any, Literal

from app.settings import Model, Server, Settings, Upstream
from tests.wire.servers import ChatUpstream, ResponsesUpstream, Script


def settings_of(upstream: ChatUpstream | ResponsesUpstream, **server: Any) -> Settings:
    """A server before this upstream, which has a model of any name."""
    via: Literal["responses", "chat"] = "responses" if isinstance(upstream, ResponsesUpstream) else "chat"
    return Settings(
        server=Server(**server),
        upstreams={"scripted": Upstream(via=via, base_url=upstream.url)},
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
