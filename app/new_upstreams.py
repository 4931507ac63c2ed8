"""Makes the client of each configured upstream."""

import asyncio
import sys
from typing import Any, Final, assert_never

from .http_client.keep import KEEP, Keep
from .settings import Settings, Upstream
from .upstreams.messages_address import messages_address
from .upstreams.port import AnyUpstream

GRACE: Final = 5
"""Seconds by which a timeout of the HTTP client is longer than ours, which has the better message."""


def new_upstreams(settings: Settings) -> dict[str, AnyUpstream]:
    """Makes all upstreams."""
    keep = Keep(settings.server.upstream_idle_connections, settings.server.upstream_idle)
    return {name: upstream_of(upstream, keep) for name, upstream in settings.upstreams.items()}


def upstream_of(upstream: Upstream, keep: Keep = KEEP) -> AnyUpstream:
    """Make the upstream that is configured. The caller closes it."""
    api_key = None if upstream.api_key is None else upstream.api_key.reveal()
    connection: dict[str, Any] = {
        "api_key": api_key,
        "connect": upstream.connect_timeout,
        "timeout": max(upstream.timeout, upstream.first_payload_timeout or 0) + GRACE,
        "keep": keep,
    }
    address = upstream.base_url or ""
    match upstream.via:
        case "demo":
            from .upstreams.demo import Demo  # noqa: PLC0415 — few use it

            return Demo()
        case "chat":
            from .upstreams.http_chat import HttpChat  # noqa: PLC0415 — its library takes 0.15 s and 7 MB, only where it is used

            return HttpChat(address, compat=upstream, **connection)
        case "messages":
            from .upstreams.http_messages import HttpMessages  # noqa: PLC0415 — as above

            return HttpMessages(
                messages_address(address),
                key_header=upstream.key_header,
                betas=upstream.betas,
                **connection,
            )
        case "responses":
            from .upstreams.native_responses import NativeResponses  # noqa: PLC0415 — as above

            return NativeResponses(address, **connection)
        case "litellm":
            from .upstreams.litellm_chat import LitellmChat  # noqa: PLC0415 — as above

            return LitellmChat(upstream.provider, base_url=upstream.base_url, **connection)
        case other:
            assert_never(other)


def warming_litellm(settings: Settings) -> "asyncio.Task[None] | None":
    """The task that loads litellm in the background, if an upstream is behind it."""
    behind = [each for each in settings.upstreams.values() if each.via == "litellm"]
    if not behind:
        return None
    from .upstreams.litellm_ask import sends_as_is  # noqa: PLC0415 — as above
    from .upstreams.litellm_chat import warm  # noqa: PLC0415 — as above

    translates = not all(sends_as_is(each.provider, each.base_url) for each in behind)
    return asyncio.create_task(asyncio.to_thread(warm, translates=translates))


async def close_litellm() -> None:
    """Closes litellm's connections, if any configuration has used it."""
    if f"{__package__}.upstreams.litellm_chat" in sys.modules:
        from .upstreams.litellm_chat import close_connections  # noqa: PLC0415 — it is there

        await close_connections()
