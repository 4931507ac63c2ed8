"""Upstreams that are not asked over HTTP by this server itself: their chunks, which may be followed."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from .causes import of_problem
from .port import UpstreamBroke, UpstreamRefused
from .taps import AnswerTap, tapped

Json = dict[str, Any]


def tapped_chunks(ask: Json, chunks: AsyncGenerator[Json]) -> AsyncGenerator[Json]:
    """The same chunks, of which those are told that follow the ask of this task."""
    taps = tapped(ask)
    return _told(taps, chunks) if taps else chunks


async def _told(taps: Sequence[AnswerTap], chunks: AsyncGenerator[Json]) -> AsyncGenerator[Json]:
    try:
        async with aclosing(chunks):
            async for chunk in chunks:
                for tap in taps:
                    tap.chunk(chunk)
                yield chunk
    except UpstreamRefused as error:
        wait = {} if error.wait is None else {"wait": error.wait}
        outage = {} if error.outage is None else {"outage": error.outage}
        cause = {} if error.cause == of_problem(error.problem) else {"cause": error.cause._asdict()}
        more = {"elsewhere": error.elsewhere, "timed_out": error.timed_out}
        for tap in taps:
            tap.refused(error.problem, {**wait, **outage, **more, **cause})
        raise
    except UpstreamBroke as error:
        for tap in taps:
            tap.refused(error.problem, {})
        raise
    except BaseException:
        for tap in taps:
            tap.closed()
        raise
