"""Work that takes long does not run on the event loop, where every other turn would wait for it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Final, ParamSpec, TypeVar

SHORT: Final = 64 * 1024
"""Bytes of input for which the work is done at once: a thread would cost more than it."""
WORKERS: Final = 2
"""Threads for such work, apart from asyncio's own, which look up names: long bodies delay long bodies only."""

Given = ParamSpec("Given")
Result = TypeVar("Result")

_workers: Final = ThreadPoolExecutor(WORKERS, thread_name_prefix="am-proxy-long-work")


async def off_loop(size: int, work: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs) -> Result:
    """The result of this work on an input of `size` bytes: done here if that is short, otherwise in a thread.

    A thread gives way to the event loop between two steps of Python. So the work may be long, but no single call of a
    library written in C may.
    """
    if size <= SHORT:
        return work(*args, **kwargs)
    bound = partial(copy_context().run, work, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_workers, bound)
