"""The configuration of a server with one model, whose server is scripted."""

from typing import Any

from tests.wire.configuration import Model, Settings, Table, Upstream
from tests.wire.servers import ResponsesUpstream, ScriptedUpstream


def one_model(upstream: ScriptedUpstream, *, keys: list[Table] | None = None, **more: Any) -> str:
    """The model is `m`; `more` is said of its upstream."""
    there = {"via": "responses" if isinstance(upstream, ResponsesUpstream) else "chat", "base_url": upstream.url}
    return Settings(upstreams={"there": Upstream(**there | more)}, models={"m": Model(upstream="there")}, keys=keys)
