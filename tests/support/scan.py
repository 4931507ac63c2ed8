"""Measures what a piece of work costs as its input grows: processor time, and memory at its peak.

Time is that of the calling thread's own processor, the best of several runs, with the collector off: other work on the
machine disturbs it little. A result that looks too steep is measured again before it counts.

    cost = measure(lambda: parse(body))               Cost(seconds=…, peak=…)
    assert_linear("include", body_of, parse)          runs parse(body_of(n)) at n, 2n and 4n
"""

import gc
import time
import tracemalloc
from collections.abc import Callable, Sized
from typing import Any, Final, NamedTuple, TypeVar

STEEPEST: Final = 8.0
"""How many times the work at n may be at 4n. Linear work is 4, and caches that overflow add to it; squared is 16."""
SHORTEST: Final = 0.001
"""Seconds below which a time says nothing: shorter ones are taken for this."""
TRIES: Final = 4
"""Measurements before a cost is believed to be too steep."""

Input = TypeVar("Input", bound=Sized)


class Cost(NamedTuple):
    """What a piece of work costs."""

    seconds: float
    """Processor time, the best of several runs."""
    peak: int
    """Bytes of memory at the worst moment, beyond what was there before."""


def seconds_of(work: Callable[[], Any], *, runs: int = 3) -> float:
    """Processor seconds of the best run."""
    best = float("inf")
    collects = gc.isenabled()
    for _ in range(runs):
        gc.disable()
        began = time.thread_time()
        try:
            result = work()
        finally:
            seconds = time.thread_time() - began
            if collects:
                gc.enable()
        best = min(best, seconds)
        del result
    return best


def peak_of(work: Callable[[], Any]) -> int:
    """Bytes at the worst moment, the result's included. Python's own allocations, which slows them down."""
    gc.collect(1)  # what was made long ago is none of its memory, and takes long to look at
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        result = work()
        _, peak = tracemalloc.get_traced_memory()
        del result
    finally:
        tracemalloc.stop()
    return peak - before


def measure(work: Callable[[], Any], *, runs: int = 3) -> Cost:
    """Both."""
    return Cost(seconds_of(work, runs=runs), peak_of(work))


def steepness(
    make: Callable[[int], Input], work: Callable[[Input], Any], n: int, *, shortest: float = SHORTEST, runs: int = 3
) -> float:
    """How many times the work at n takes at 4n. The one at 2n must lie below the same line.

    With fewer runs of the long ones it is found sooner, and can only be higher.
    """
    given = make(n)
    first = seconds_of(lambda: work(given))
    longer = [make(n * factor) for factor in (2, 4)]
    second, third = (seconds_of(lambda given=given: work(given), runs=runs) for given in longer)  # type: ignore[misc]
    base = max(first, shortest)
    return max(third / base, (second / base) ** 2)


def assert_linear(
    name: str,
    make: Callable[[int], Input],
    work: Callable[[Input], Any],
    n: int,
    *,
    steepest: float = STEEPEST,
) -> None:
    """Fails where the time at 4n is more than `steepest` times that at n, whenever it is measured."""
    found: list[float] = []
    for number in range(TRIES):
        found.append(steepness(make, work, n, runs=3 if number else 1))
        if found[-1] <= steepest:
            return
    seen = ", ".join(f"{each:.1f}" for each in found)
    raise AssertionError(f"{name}: 4 times the input takes {seen} times as long (at most {steepest:g} is linear)")
