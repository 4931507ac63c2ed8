"""Upstreams that are not asked over HTTP by this server itself, recorded: their asks and chunks."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from .answer_tap import TAP
from .causes import of_problem
from .demo import Demo
from .litellm_chat import LitellmChat
from .port import UpstreamBroke, UpstreamRefused

Json = dict[str, Any]


class TappedLitellm(LitellmChat):
    """An upstream behind litellm that is recorded."""

    def open(self, ask: Json, key: str | None = None) -> AsyncGenerator[Json]:
        """As `LitellmChat.open`."""
        return tapped(ask, super().open(ask, key))


class TappedDemo(Demo):
    """The embedded model, recorded."""

    def open(self, ask: Json, key: str | None = None) -> AsyncGenerator[Json]:
        """As `Demo.open`."""
        return tapped(ask, super().open(ask, key))


async def tapped(ask: Json, chunks: AsyncGenerator[Json]) -> AsyncGenerator[Json]:
    """The same chunks, of which the `TAP` of this task is told."""
    start = TAP.get(None)
    tap = None if start is None else start(ask)
    del ask  # it may be large, and the answer may take long
    try:
        async with aclosing(chunks):
            async for chunk in chunks:
                if tap is not None:
                    tap.chunk(chunk)
                yield chunk
    except UpstreamRefused as error:
        if tap is not None:
            wait = {} if error.wait is None else {"wait": error.wait}
            outage = {} if error.outage is None else {"outage": error.outage}
            cause = {} if error.cause == of_problem(error.problem) else {"cause": error.cause._asdict()}
            more = {"elsewhere": error.elsewhere, "timed_out": error.timed_out}
            tap.refused(error.problem, {**wait, **outage, **more, **cause})
        raise
    except UpstreamBroke as error:
        if tap is not None:
            tap.refused(error.problem, {})
        raise
    except BaseException:
        if tap is not None:
            tap.closed()
        raise
