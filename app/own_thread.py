"""Runs a blocking call without a time limit in a thread of its own.

Names are looked up this way: the system may take a minute for one, and cannot be stopped. In a pool such calls would
delay the pool's other work. The caller limits how many run at once. The process does not wait for them at its end.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import TypeVar

Result = TypeVar("Result")


async def in_own_thread(work: Callable[[], Result], at_end: Callable[[], None] = lambda: None) -> Result:
    """The result of this work. Raises what it raises, and `OSError` where the system has no thread left.

    `at_end` is called on the event loop when the thread ends, also where the result is no longer awaited.
    """
    loop = asyncio.get_running_loop()
    future: Future[Result] = Future()
    future.set_running_or_notify_cancel()  # from here on it cannot be cancelled, only no longer awaited

    def run() -> None:
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 — it is raised where the result is awaited
            end = partial(future.set_exception, error)
        else:
            end = partial(future.set_result, result)
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(at_end)
            end()

    try:
        Thread(target=run, daemon=True, name="am-proxy-own").start()
    except RuntimeError as error:
        at_end()
        raise OSError from error
    return await asyncio.wrap_future(future)
