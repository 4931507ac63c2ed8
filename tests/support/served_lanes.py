"""A server of ours before a scripted one, for each way to ask a model."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from app.settings import Model, Settings, Upstream
from tests.support.servers import ScriptedUpstream
from tests.support.serving import serving
from tests.support.summary_lanes import CHAT, SUMMARY_LANES, SummaryLane

NATIVE: Final = "native"
LANES: Final[dict[str, SummaryLane]] = {
    **SUMMARY_LANES,
    "litellm": CHAT._replace(upstream={"via": "litellm", "provider": "openai"}),
    NATIVE: CHAT,
}
"""The native Responses server is another AM Proxy, which asks a chat server."""


@contextmanager
def served(name: str, upstream: ScriptedUpstream) -> Iterator[str]:
    """A server of ours before this one."""
    with serving(LANES[name].settings(upstream.url, 64_000)) as url:
        if name != NATIVE:
            yield url
            return
        relay = Upstream(via="responses", base_url=f"{url}/v1")
        model = Model(upstream="behind", context_window=64_000)
        with serving(Settings(upstreams={"behind": relay}, models={"m": model})) as before:
            yield before
