"""What workers add: requests and chunks on two cores beside those on one, and the memory that workers share.

The load generator and the upstream need processor time of the same two cores, so the server cannot have both for
itself, and requests a second say too little. So its processor time is counted, while both cores are saturated: how many
requests all workers answer in a second of it, times the cores that they would fill. If one worker does more than the
others, it is full first: so the cores are the whole time divided by that of the busiest. Whatever workers cost each
other (caches, memory, the shared port, an uneven share) makes that number smaller.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from bench.measure import Figures, begin_load, job, started, warm_up
from bench.process import OTHER_CORE, Measured
from bench.targets import Target, ours
from bench.workloads import Workload

BOTH: Final = "0,1"
WORKS: Final = (
    Workload("small", "one short answer, not streamed, 64 at a time", 1, 0, 3200, 64, stream=False),
    Workload("chunks", "32 streams of 2,000 chunks, 8 at a time", 2000, 0, 32, 8),
)
COUNTS: Final = (1, 2)
HOW: Final = (
    "The load generator and the upstream need the same two cores, so the first columns are what the workers would do "
    "with two cores for themselves: what they answered, divided by the processor time of the busiest worker while the "
    "cores were saturated. *Seen* is what came within a second of this run, with all programs on both cores."
)
MEMORY: Final = (2, 4)
"""Numbers of workers, and of separate processes, whose memory is compared."""
PORT: Final = 9720


def with_workers(count: int, port: int, via: str = "chat") -> Target:
    """AM Proxy with so many workers."""
    return ours(f"{count} workers, {via}, {port}", port, via, workers=count)


def all_cores(folder: Path, rounds: int) -> dict[str, Figures]:
    """For each workload: two workers beside one."""
    found: dict[tuple[str, int, str], list[float]] = defaultdict(list)
    with ExitStack() as stack:
        servers = {}
        for count in COUNTS:
            target = with_workers(count, PORT + count)
            core = "0" if count == 1 else BOTH
            servers[count] = target, stack.enter_context(started(target, folder, core))[0]
        for _, server in servers.values():
            server.quiet()
        for _ in range(rounds):
            for work in WORKS:
                for count, (target, server) in servers.items():
                    for name, value in measured(target, work, server).items():
                        found[work.name, count, name].append(value)
    results = {}
    for work in WORKS:
        one, two = ({name: median(found[work.name, count, name]) for name in NAMES} for count in COUNTS)
        results[work.name] = {
            "ratio": two["whole"] / one["whole"],
            "one": one["whole"],
            "two": two["whole"],
            "busiest": two["busiest"],
            "one_wall": one["wall"],
            "two_wall": two["wall"],
        }
    return results


NAMES: Final = ("whole", "busiest", "wall")


def measured(target: Target, work: Workload, server: Measured) -> Figures:
    """Requests, or chunks, in a second: of whole cores (see above), and as they came."""
    for _ in range(4):  # over new connections, so each worker is asked
        warm_up(target, work)
    before = server.cpus()
    with begin_load(job(target, work) | {"evenly": True}, OTHER_CORE if target.port == PORT + 1 else BOTH) as load:
        assert load.stdout is not None
        seen = json.loads(load.stdout.read() or "{}")
    if not seen or seen["faults"]:
        raise RuntimeError(f"{target.name}, {work.name}: {seen.get('faults') or 'the load died'}")
    used = [after - before.get(pid, 0) for pid, after in server.cpus().items()]
    number = work.requests * work.chunks
    busiest = max(used)
    told = {"whole": number / busiest, "busiest": busiest / sum(used), "wall": number / seen["seconds"]}
    print(
        f"{work.name:16} {target.name:26} " + " ".join(f"{key}={value:.2f}" for key, value in told.items()), flush=True
    )
    return told


def memory(folder: Path, via: str) -> dict[str, float]:
    """MB that workers, and as many separate processes, have for themselves, each page counted once."""
    found = {}
    work = WORKS[0]
    for count in MEMORY:
        together = with_workers(count, PORT + 10, via)
        with started(together, folder, BOTH) as (server, _):
            server.quiet()
            for _ in range(4 * count):
                warm_up(together, work)
            found[f"{count} workers"] = server.pss()
        apart = [with_workers(1, PORT + 10 + number, via) for number in range(count)]
        with separate(apart, folder) as servers:
            found[f"{count} processes"] = sum(each.pss() for each in servers)
    print(f"memory, {via}: {found}", flush=True)
    return found


@contextmanager
def separate(targets: list[Target], folder: Path) -> Iterator[list[Measured]]:
    """Separate processes that have answered some requests."""
    with ExitStack() as stack:
        servers = [stack.enter_context(started(target, folder, BOTH))[0] for target in targets]
        for target, server in zip(targets, servers, strict=True):
            server.quiet()
            for _ in range(4):
                warm_up(target, WORKS[0])
        yield servers


def workers(folder: Path, rounds: int) -> dict[str, Figures]:
    """All of it: the works by their names, and the memory of two lanes."""
    results = all_cores(folder, rounds)
    return results | {f"memory, {via}": memory(folder, via) for via in ("chat", "litellm")}


def tables_of_workers(results: Mapping[str, Figures]) -> list[str]:
    """The part of the report."""
    if not results:
        return []
    head = "| in a second | one worker | two workers | × | share of the busiest | seen: one | seen: two |"
    lines = ["### workers: two on two cores, compared with one on one core", "", head, "| --- " * 7 + "|"]
    for work in WORKS:
        told = results[work.name]
        lines.append(
            f"| {work.about} | {told['one']:.0f} | {told['two']:.0f} | {told['ratio']:.2f} | {told['busiest']:.0%} | "
            f"{told['one_wall']:.0f} | {told['two_wall']:.0f} |"
        )
    lines += ["", HOW, "", "| memory (PSS), MB | workers | separate processes |", "| --- " * 3 + "|"]
    for via in ("chat", "litellm"):
        told = results[f"memory, {via}"]
        lines += [
            f'| {count}, `via = "{via}"` | {told[f"{count} workers"]:.0f} | {told[f"{count} processes"]:.0f} |'
            for count in MEMORY
        ]
    return [*lines, ""]
