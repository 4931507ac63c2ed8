"""What the soak does to the server while its streams run: its workers are killed."""

import asyncio
import os
import random
import signal
import time
from pathlib import Path

from tests.chaos.soak_clients import Tally


def children(pid: int) -> list[int]:
    """The processes that this one has started: the workers, where there are several."""
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for each in found for child in each.read_text().split()]


def tree(pid: int) -> list[int]:
    """The process, and all below it."""
    return [pid, *(each for child in children(pid) for each in tree(child))]


def taken_by(pid: int) -> tuple[int, int]:
    """The memory and the descriptors of a process and all below it. What processes share is divided among them."""
    memory = files = 0
    for each in tree(pid):
        try:
            rollup = Path(f"/proc/{each}/smaps_rollup").read_text()
            files += len(list(Path(f"/proc/{each}/fd").iterdir()))
        except (FileNotFoundError, ProcessLookupError):
            continue  # it was killed a moment ago
        memory += next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")) * 1024
    return memory, files


async def watch(pid: int, began: float, tally: Tally) -> None:
    """Looks at the server every few seconds."""
    while True:
        tally.samples.append((time.monotonic() - began, *taken_by(pid)))
        await asyncio.sleep(2)


async def kill_workers(pid: int, pause: float, tally: Tally) -> None:
    """Kills one worker after each pause; the server must replace it."""
    chance = random.Random(1)  # noqa: S311 — chance that can be repeated
    while True:
        await asyncio.sleep(pause)
        workers = children(pid)
        victim = chance.choice(workers)
        os.kill(victim, signal.SIGKILL)
        tally.killed.append(time.monotonic())
        async with asyncio.timeout(20):
            while victim in children(pid) or len(children(pid)) < len(workers):  # noqa: ASYNC110 — nobody tells
                await asyncio.sleep(0.1)
