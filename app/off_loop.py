"""Runs long work in threads instead of on the event loop, where every other turn would wait for it.

There are two threads for it, and no caller uses both, so the long work of one caller never waits for all the work of
another. Only one thread runs Python code at a time, so a single caller loses nothing.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Final, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from .fair_slots import FairSlots

SHORT: Final = 64 * 1024
"""Bytes of input up to which the work is done at once: a thread would cost more."""
WORKERS: Final = 2
"""Threads for such work, separate from asyncio's own: long bodies delay only long bodies."""

OWNER: Final[ContextVar[str]] = ContextVar("am_proxy_long_work_owner", default="")
"""The caller whose work it is: `Key.owner`. Set when a turn is admitted."""

Params = ParamSpec("Params")
Result = TypeVar("Result")

_workers: Final = ThreadPoolExecutor(WORKERS, thread_name_prefix="am-proxy-long-work")
_slots: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, FairSlots]] = WeakKeyDictionary()
"""The slots of each event loop. A server has one loop."""


async def off_loop(size: int, work: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs) -> Result:
    """The result of this work on an input of `size` bytes: run here if that is short, otherwise in a thread.

    A thread gives way to the event loop between two steps of Python. So the work may be long, but no single call of a
    library written in C may. A caller that is cancelled waits for the thread, which cannot be stopped.
    """
    if size <= SHORT:
        return work(*args, **kwargs)
    bound = partial(copy_context().run, work, *args, **kwargs)
    loop = asyncio.get_running_loop()
    async with _slots.setdefault(loop, FairSlots(WORKERS)).of(OWNER.get()):
        running = loop.run_in_executor(_workers, bound)
        try:
            return await asyncio.shield(running)
        finally:
            if not running.done():
                await asyncio.wait({running})  # its slot is free when its thread is
                running.exception()  # otherwise asyncio would log its error as never retrieved
            del running  # its error's traceback would hold this frame, and the input of the work
