"""What is wrong after a soak, and the page about it."""

import os
import platform
import time
from typing import Final, NamedTuple

from tests.chaos.scenarios import FAULTS
from tests.chaos.soak_clients import LANES, WEBSOCKETS, Tally

SETTLED: Final = 0.25
"""Of the time: what the server takes until then it may keep."""
MEGABYTE: Final = 1024 * 1024
GROWTH: Final = 24 * MEGABYTE
"""For each worker."""
MORE_DESCRIPTORS: Final = 8


class Plan(NamedTuple):
    """How the soak is run."""

    minutes: float
    streams: int
    workers: int


def verdict(tally: Tally) -> list[str]:
    """What is wrong with it."""
    settled = [sample for sample in tally.samples if sample[0] >= tally.samples[-1][0] * SETTLED][:3]
    grown = tally.samples[-2][1] - min(sample[1] for sample in settled)
    more = tally.samples[-1][2] - tally.samples[0][2]
    found = tally.wrong[:20]
    if tally.started != sum(tally.outcomes.values()) or tally.at_once:
        found.append(f"{tally.started} streams were started, and {sum(tally.outcomes.values())} ended")
    if grown > GROWTH:
        found.append(f"memory grew by {grown / MEGABYTE:.0f} MB after it had settled")
    if more > MORE_DESCRIPTORS:
        found.append(f"{more} descriptors are left open")
    return found


def report(tally: Tally, plan: Plan, found: list[str]) -> str:
    """The page."""
    kinds = sorted({outcome for _, outcome in tally.outcomes})
    names = [name for lane in LANES for name in (lane, f"{lane}, websocket")]
    rows = [f"| {name} | " + " | ".join(str(tally.outcomes[name, kind]) for kind in kinds) + " |" for name in names]
    every = max(len(tally.samples) // 10, 1)
    shown = [*tally.samples[:-1:every], tally.samples[-1]]
    samples = [f"| {seconds:.0f} | {memory / MEGABYTE:.0f} | {files} |" for seconds, memory, files in shown]
    faults = ", ".join(f"{fault} {share} %" for fault, share in FAULTS.items())
    lines = [
        "# Reliability",
        "",
        "<!-- Written by `make soak`. Do not edit. -->",
        "",
        f"The last run: {plan.minutes:g} minutes, {plan.streams} clients at once,",
        f"{sum(tally.outcomes.values())} streams ({tally.deltas} events in streams read to the end), on",
        f"{time.strftime('%Y-%m-%d', time.gmtime())},",
        f"CPython {platform.python_version()} on {platform.system()}, {os.cpu_count()} cores.",
        f"The server is the real command with `workers = {plan.workers}`.",
        "Upstreams and clients share another process, on loopback. One",
        f"client in {WEBSOCKETS} uses a websocket, the others HTTP.",
        "",
        f"The upstreams' faults, chosen at random: {faults}. One client in ten hangs up after a few events.",
        f"A worker was killed {len(tally.killed)} times, and replaced each time.",
        "",
        "A stream that completes must contain exactly what its upstream sent. A stream that fails must have had",
        "a fault, and contain the beginning of that text. The events of every stream must be in a valid order.",
        "A stream may end without a last event only if a worker was killed while it ran, or shortly before it began.",
        "It is not checked that it was the worker of this stream.",
        "",
        f"**{'Every stream is accounted for, and no resources are left over.' if not found else 'The run failed.'}**",
        *[f"- {one}" for one in found],
        "",
        "| `via` | " + " | ".join(kinds) + " |",
        "| --- |" + " --- |" * len(kinds),
        *rows,
        "",
        "The memory and file descriptors of all the server's processes. The last row is measured after all streams and",
        "upstreams end.",
        "",
        "| seconds | MB | descriptors |",
        "| --- | --- | --- |",
        *samples,
        "",
        "The tests in `tests/chaos/` cover single faults, in every run of the test suite.",
        "",
    ]
    return "\n".join(lines)
