"""Client, this server, one of its lanes, and a chat server that refuses what strict servers refuse."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Literal, NamedTuple

from app.settings import Model, Secret, Settings, Upstream
from tests.support.servers import Ask, ChatUpstream, Script, Step
from tests.support.serving import serving

SECRET = "sk-upstreams-own-0123456789abcdef"
"""The key this server sends; no client may ever see it."""


class ProxiedUpstream(NamedTuple):
    """A server, what is behind it, and what that says to each model's name."""

    url: str
    upstream: ChatUpstream
    scripts: dict[str, Script]

    def set_scripts(self, model: str, *scripts: Script) -> None:
        """Script a model: one script per ask, the last one again and again."""
        asks = iter(scripts)
        last: list[Script] = []

        def next_steps(ask: Ask) -> list[Step]:
            last[:] = [next(asks, last[0] if last else [])]
            script = last[0]
            return list(script(ask) if callable(script) else script)

        self.scripts[model] = next_steps

    def asks(self, model: str) -> list[Ask]:
        """What this model was asked."""
        return [ask for ask in self.upstream.asks if ask.body["model"] == model]


Lane = Literal["litellm", "chat", "responses"]


@contextmanager
def proxied_upstream(via: Lane = "litellm") -> Iterator[ProxiedUpstream]:
    """One server and one upstream, whose scripts are chosen by the model's name.

    `closed` goes to a port where nobody listens, `keyless` to the upstream without a key. The relay stands before a
    second server, which speaks to the upstream directly.
    """
    scripts: dict[str, Script] = {}

    def next_steps(ask: Ask) -> list[Step]:
        script = scripts[ask.body["model"]]
        return list(script(ask) if callable(script) else script)

    with ExitStack() as stack:
        unused = stack.enter_context(socket.socket())
        unused.bind(("127.0.0.1", 0))
        closed = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        upstream = stack.enter_context(ChatUpstream(next_steps))
        url = stack.enter_context(serving(_settings("chat" if via == "responses" else via, upstream.url, closed)))
        if via == "responses":
            url = stack.enter_context(serving(_settings(via, f"{url}/v1", closed)))
        yield ProxiedUpstream(url, upstream, scripts)


def _settings(via: Lane, local: str, closed: str) -> Settings:
    upstreams = {
        "local": Upstream(via=via, base_url=local, api_key=Secret(SECRET), retries=0, breaker_failures=0),
        "keyless": Upstream(via=via, base_url=local, retries=0, breaker_failures=0),
        "closed": Upstream(via=via, base_url=closed, api_key=Secret(SECRET), retries=0, breaker_failures=0),
    }
    if via == "responses":  # two marks are one too many for the grammar
        upstreams = {name: upstream.model_copy(update={"ids": "keep"}) for name, upstream in upstreams.items()}
    models = {
        "closed": Model(upstream="closed"),
        "keyless": Model(upstream="keyless"),
        "*": Model(upstream="local"),
    }
    return Settings(upstreams=upstreams, models=models)
