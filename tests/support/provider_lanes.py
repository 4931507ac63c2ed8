"""Every way to a provider that a configuration can name, and one server of ours before all of them."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final, NamedTuple

from app.settings import Model, Secret, Settings, Upstream
from tests.http.wires import lanes as over_http
from tests.support.providers import openai_is_here
from tests.support.serving import serving
from tests.wire.servers import KEY, ModelUpstream
from tests.wire.servers.functions_only import FUNCTION_SERVERS


class Lane(NamedTuple):
    """A wire format, and how it is configured."""

    wire: type[ModelUpstream]
    upstream: dict[str, Any]
    model: dict[str, Any]


LANES: Final = {name: Lane(*lane, {}) for name, lane in over_http.LANES.items()}

RELAYED: Final[dict[str, Lane]] = {
    f"{provider}, as responses": Lane(wire, {"via": "responses", "provider": provider}, {})
    for provider, wire in FUNCTION_SERVERS.items()
}
"""Lanes whose events are the server's own."""


class Wired(NamedTuple):
    """A server of ours, and what is behind it by the lane's name, which is the model's public name as well."""

    url: str
    wires: dict[str, ModelUpstream]


@contextmanager
def wired(lanes: Mapping[str, Lane] = LANES, **settings: Any) -> Iterator[Wired]:
    """All lanes at once. `wired.wires[lane].say(…)` scripts one.

    OpenAI is `localhost`: for other tests of the process, which know 127.0.0.1, it stays where it is.
    """
    with ExitStack() as stack:
        stack.enter_context(openai_is_here("localhost"))
        wires = {name: stack.enter_context(lane.wire().say()) for name, lane in lanes.items()}
        upstreams = {
            name: Upstream(
                base_url=wires[name].url.replace("127.0.0.1", "localhost"), api_key=Secret(KEY), **lane.upstream
            )
            for name, lane in lanes.items()
        }
        models = {name: Model(upstream=name, name=lane.wire.model, **lane.model) for name, lane in lanes.items()}
        yield Wired(stack.enter_context(serving(Settings(upstreams=upstreams, models=models, **settings))), wires)
