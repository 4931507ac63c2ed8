"""Shows where the server's CPU time goes, by room and by function, by looking at it 250 times in a second of CPU time.

`python -m bench.profile OUT serve --config …` runs the server itself, and writes what it saw to OUT when it ends.
A profiler that follows every call would make small functions look several times as expensive as they are.
"""

import json
import re
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from bench.measure import asked, once, started, warm_up
from bench.targets import PROFILED, Target
from bench.workloads import WORKLOADS, Workload

TOP = 12
"""Functions that are named."""
EVERY = 0.001
"""Seconds of CPU time between two looks; systems look 250 times in a second at most, most of them."""
TIMES = {"small": 8, "many, paced": 2, "codex": 12}
"""The profiled workloads, and how many times as many requests they have here: a few thousand looks are needed."""
ROOMS = (
    (r"/app/(\w+)(?:/|\.py)", "AM Proxy: {}"),
    (r"/site-packages/(fastapi|starlette)/", "starlette, fastapi"),
    (r"/site-packages/(uvicorn|aiohttp|litellm|pydantic|prometheus_client|opentelemetry)/", "{}"),
    (r"/site-packages/(\w+)/", "other packages"),
    (r"/(asyncio|logging)/", "{}"),
    (r"/lib/python3", "standard library"),
)
"""Where a file belongs; the first that fits."""


class Row(NamedTuple):
    """A room or a function, its share of the time, and its microseconds for each unit of work."""

    name: str
    share: float
    us: float


class Profile(NamedTuple):
    """The profile of one workload."""

    about: str
    rooms: list[Row]
    functions: list[Row]


Profiles = dict[str, list[Profile]]
"""lane -> profiles."""


def profiles(folder: Path) -> Profiles:
    """Profiles the chat lane and the relay with a small request, the paced and the Codex-like workload."""
    works = [work for work in WORKLOADS if work.name in TIMES]
    return {target.name: [profiled(target, work, folder) for work in works] for target in PROFILED}


def profiled(target: Target, work: Workload, folder: Path) -> Profile:
    """Profiles one workload."""
    work = work._replace(requests=work.requests * TIMES[work.name])
    out = folder / "profile.out"
    command = target.command(folder)
    watched = target._replace(command=lambda _: [sys.executable, "-m", "bench.profile", str(out), *command[3:]])
    with started(watched, folder) as (server, _):
        server.quiet()
        warm_up(watched, work)
        server.process.send_signal(signal.SIGUSR1)
        once(watched, work, server)
    return read(out, work, asked(target, work))


def read(out: Path, work: Workload, requests: int) -> Profile:
    """Reads the file that the server wrote."""
    seen = json.loads(out.read_text())
    rooms: Counter[str] = Counter()
    functions: Counter[str] = Counter()
    for file, name, count in seen["functions"]:
        room = _room(file)
        rooms[room] += count
        functions[f"{name}, {room}"] += count
    units, word = (requests * work.chunks, "chunk") if work.chunks > TOP else (requests, "request")
    us = seen["seconds"] / units * 1e6
    about = f"{work.about} ({us:.0f} µs a {word}, {rooms.total()} looks)"
    return Profile(about, _rows(rooms, us), _rows(functions, us)[:TOP])


def _rows(counts: Counter[str], us: float) -> list[Row]:
    total = counts.total()
    rows = [Row(name, count / total, count / total * us) for name, count in counts.most_common()]
    return [row for row in rows if row.share > 0.005]  # noqa: PLR2004 — half a percent


def _room(file: str) -> str:
    for pattern, room in ROOMS:
        if found := re.search(pattern, file):
            return room.format(found[1] if found.groups() else "")
    return "other packages"


def main() -> None:
    """Runs the server, and looks at it from the signal on, so that its start is not included."""
    out, *arguments = sys.argv[1:]
    from app.__main__ import main as serve  # noqa: PLC0415 — only where the server itself runs

    sys.argv = ["am-proxy", *arguments]
    seen: Counter[tuple[str, str]] = Counter()
    began = 0.0

    def look(_signal: int, frame: FrameType | None) -> None:
        if frame is not None:
            seen[frame.f_code.co_filename, frame.f_code.co_name] += 1

    def begin(*_: object) -> None:
        nonlocal began
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)

    signal.signal(signal.SIGPROF, look)
    signal.signal(signal.SIGUSR1, begin)
    try:
        serve()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        found = [(file, name, count) for (file, name), count in seen.items()]
        Path(out).write_text(json.dumps({"seconds": time.process_time() - began, "functions": found}))


if __name__ == "__main__":
    main()
