"""Profiles the server with cProfile, by room and by function.

`python -m bench.profile OUT serve --config …` runs the server itself, and writes its profile to OUT when it ends.
"""

import cProfile
import marshal
import pstats
import re
import signal
import sys
from pathlib import Path
from typing import NamedTuple

from bench.measure import asked, once, started, warm_up
from bench.targets import PROFILED, Target
from bench.workloads import WORKLOADS, Workload

TOP = 12
"""Functions that are named."""
ROOMS = (
    (r"/app/(\w+)(?:/|\.py)", "AM Proxy: {}"),
    (r"/site-packages/(fastapi|starlette)/", "starlette, fastapi"),
    (r"/site-packages/(uvicorn|aiohttp|litellm|pydantic|yarl|multidict|anyio|opentelemetry)/", "{}"),
    (r"/site-packages/(\w+)/", "other packages"),
    (r"/(asyncio)/", "asyncio"),
    (r"/lib/python3", "standard library"),
)
"""Where a file belongs; the first that fits."""


class Row(NamedTuple):
    """A room or a function, its share of the time, and how often it was called for each unit of work."""

    name: str
    share: float
    calls: float


class Profile(NamedTuple):
    """The profile of one workload."""

    about: str
    rooms: list[Row]
    functions: list[Row]


Profiles = dict[str, list[Profile]]
"""lane -> profiles."""


def profiles(folder: Path) -> Profiles:
    """Profiles the chat lane and the relay with the paced and the Codex-like workload."""
    works = [work for work in WORKLOADS if work.name in {"many, paced", "codex"}]
    return {target.name: [profiled(target, work, folder) for work in works] for target in PROFILED}


def profiled(target: Target, work: Workload, folder: Path) -> Profile:
    """Profiles one workload. cProfile makes small functions look too expensive: use the shares only as a hint."""
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
    stats = pstats.Stats(str(out)).stats  # type: ignore[attr-defined]  # pstats has always had it, typeshed has not
    rooms: dict[str, tuple[float, float]] = {}
    functions: dict[str, tuple[float, float]] = {}
    for (file, _line, name), (_primitive, calls, own, _cumulative, _callers) in stats.items():
        if "bench/profile" in file:
            continue
        if file == "~":
            room = "built in: " + ("JSON (msgspec)" if "msgspec" in name else "everything else")
        else:
            room = _room(file)
        for table, key in ((rooms, room), (functions, f"{name}, {room}")):
            time, count = table.get(key, (0.0, 0.0))
            table[key] = (time + own, count + calls)
    total = sum(time for time, _ in rooms.values())
    units = requests * work.chunks if work.chunks > TOP else requests
    word = "chunk" if work.chunks > TOP else "request"
    about = f"{work.about} ({total / units * 1e6:.0f} µs a {word} under the profiler)"
    return Profile(about, _rows(rooms, total, units), _rows(functions, total, units)[:TOP])


def _rows(table: dict[str, tuple[float, float]], total: float, units: int) -> list[Row]:
    rows = [Row(name, time / total, count / units) for name, (time, count) in table.items()]
    return sorted((row for row in rows if row.share > 0.005), key=lambda row: -row.share)  # noqa: PLR2004 — half a percent


def _room(file: str) -> str:
    for pattern, room in ROOMS:
        if found := re.search(pattern, file):
            return room.format(found[1] if found.groups() else "")
    return "built in: everything else"


def main() -> None:
    """Runs the server and profiles it from the signal on, so that its start is not included."""
    out, *arguments = sys.argv[1:]
    from app.__main__ import main as serve  # noqa: PLC0415 — only where the server itself runs

    sys.argv = ["am-proxy", *arguments]
    profile = cProfile.Profile()
    signal.signal(signal.SIGUSR1, lambda *_: profile.enable())
    try:
        serve()
    finally:
        profile.create_stats()
        with Path(out).open("wb") as file:
            marshal.dump(profile.stats, file)


if __name__ == "__main__":
    main()
