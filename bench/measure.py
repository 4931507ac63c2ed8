"""Measures one workload with one program, and runs the two halves of a run."""

import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from bench.process import OTHER_CORE, SERVER_CORE, Measured, pinned
from bench.targets import UPSTREAM_PORT, Target
from bench.workloads import MILLION, WAITING, Workload

Figures = dict[str, float]
Results = dict[str, dict[str, Figures]]
"""workload -> target -> figure -> its value."""

OF_BRIDGES = 2
"""Rounds in which other bridges are measured."""
WARM_UP = 5
"""Requests before the clock runs, without any pauses."""


@contextmanager
def upstream(folder: Path, port: int = UPSTREAM_PORT, core: str = OTHER_CORE) -> Iterator[None]:
    """Starts a scripted upstream. The usual one is that of all programs."""
    command = [sys.executable, "-m", "bench.upstream", str(port)]
    with Measured(command, core=core, log=folder / f"upstream-{port}.log") as server:
        server.ready(f"http://127.0.0.1:{port}/")
        yield


def starts(targets: list[Target], folder: Path) -> Results:
    """Measures each freshly started program: time to the first answer, memory, and memory of waiting streams."""
    results: Results = {"start": {}, "waiting": {}}
    for target in targets:
        try:
            with started(target, folder) as (server, answered):
                quiet = server.quiet()
                told = {"answered": answered, "quiet": quiet, "rss": server.rss()}
                if not target.starts_only:
                    warm_up(target, WAITING)
                    seen = once(target, WAITING, server, watched=True)
                    results["waiting"][target.name] = seen
                    told["peak"] = server.peak()
                results["start"][target.name] = told
        except RuntimeError as error:
            _complain(target, error, folder)
    return results


def rounds(targets: list[Target], works: list[Workload], count: int, folder: Path) -> Results:
    """Measures every workload with every target, in several rounds; returns the medians.

    Other bridges are slower, and need fewer rounds: a ratio to a disturbed floor looks too good.
    """
    figures: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    with ExitStack() as stack:
        running: dict[str, Measured] = {}
        for target in targets:
            try:
                running[target.name], _ = stack.enter_context(started(target, folder))
            except RuntimeError as error:
                _complain(target, error, folder)
        for server in running.values():
            server.quiet()
        there = [target for target in targets if target.name in running]
        for number in range(count):
            for work in works:
                for target in there:
                    if target.is_bridge and number >= OF_BRIDGES:
                        continue
                    warm_up(target, work)
                    for figure, value in once(target, work, running[target.name]).items():
                        figures[work.name, target.name, figure].append(value)
    results: Results = defaultdict(lambda: defaultdict(dict))
    for (work_name, target_name, figure), values in figures.items():
        results[work_name][target_name][figure] = median(values)
    return results


def million(targets: list[Target], folder: Path) -> Results:
    """Measures our own lanes with a million chunks."""
    results: Results = {MILLION.name: {}}
    for target in targets:
        if target.name.startswith("AM Proxy"):
            with started(target, folder) as (server, _):
                server.quiet()
                once(target, MILLION._replace(requests=MILLION.requests // 5), server)  # until the heap no longer grows
                results[MILLION.name][target.name] = once(target, MILLION, server, watched=True)
    return results


@contextmanager
def started(target: Target, folder: Path, core: str = SERVER_CORE) -> Iterator[tuple[Measured, float]]:
    """A program, and the seconds until its first answer. Raises `RuntimeError` if it does not answer."""
    with Measured(target.command(folder), core=core, env=target.env, log=folder / f"{target.port}.log") as server:
        yield server, server.ready(f"http://127.0.0.1:{target.port}/health/live")


def asked(target: Target, work: Workload) -> int:
    """The number of requests."""
    return work.fewer if work.name in target.asked_less else work.requests


def job(target: Target, work: Workload, *, unpaced: bool = False) -> dict[str, object]:
    """The job for the load generator; `unpaced` for a warm-up."""
    path, body = target.ask(work.unpaced if unpaced else work.model, work.stream, work.request)
    return {
        "host": "127.0.0.1",
        "port": target.port,
        "path": path,
        "body": body,
        "requests": WARM_UP if unpaced else asked(target, work),
        "concurrency": 1 if unpaced else work.concurrency,
        "stream": work.stream,
    }


def once(target: Target, work: Workload, server: Measured, *, watched: bool = False) -> Figures:
    """Measures one workload with one target; returns nothing if it fails. `watched`: memory too."""
    requests = asked(target, work)
    rss, before = server.rss(), server.cpu()
    load = begin_load(job(target, work))
    most = rss
    while load.poll() is None:
        time.sleep(0.1)
        if watched:
            most = max(most, server.rss())
    assert load.stdout is not None
    seen = json.loads(load.stdout.read() or "{}")
    if not seen or seen["faults"]:
        print(f"{target.name}, {work.name}: {seen.get('faults') or 'the load died'}", file=sys.stderr)
        return {}
    used = server.cpu() - before
    firsts = seen["firsts"]
    told = {
        "ms_per_request": used / requests * 1e3,
        "us_per_chunk": used / (requests * work.chunks) * 1e6,
        "chunks_per_second": requests * work.chunks / seen["seconds"],
        "first_p50_ms": firsts[len(firsts) // 2] * 1e3,
        "first_p99_ms": firsts[int(len(firsts) * 0.99)] * 1e3,
    }
    if watched:
        told["kb_per_stream"] = max(most - rss, 0) * 1024 / min(work.concurrency, requests)
        told["grown_mb"] = server.rss() - rss
    print(
        f"{work.name:16} {target.name:20} " + " ".join(f"{key}={value:.1f}" for key, value in told.items()), flush=True
    )
    return told


def begin_load(told: dict[str, object], core: str = OTHER_CORE) -> subprocess.Popen[str]:
    """Starts the load generator with this job."""
    command = pinned(core, [sys.executable, "-m", "bench.load"])
    load = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert load.stdin is not None
    load.stdin.write(json.dumps(told))
    load.stdin.close()
    return load


def warm_up(target: Target, work: Workload) -> None:
    """Runs the same requests without pauses, one at a time, before the measurement."""
    with begin_load(job(target, work, unpaced=True)) as load:
        load.wait()


def _complain(target: Target, error: Exception, folder: Path) -> None:
    print(f"{target.name}: {error}\n{(folder / f'{target.port}.log').read_text()[-1500:]}", file=sys.stderr)
