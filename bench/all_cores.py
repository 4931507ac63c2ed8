"""What workers add: requests and chunks on two cores beside those on one, and the memory that workers share.

The load generator and the upstream need processor time of the same two cores, so the server cannot have both for
itself. So one worker shares one core with as much of them as each of two workers has on its own core: an upstream, and
a load generator for each core. What two workers then do more than one is what the second core adds.

Requests a second say too little, because the programs take turns. So the processor time of the server is counted while
the cores are saturated: how many requests all workers answer in a second of it, times the cores that they would fill.
If one worker does more than the others, it is full first: so the cores are the whole time divided by that of the
busiest. Whatever workers cost each other (caches, memory, the shared port, an uneven share) makes that number smaller.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from bench.measure import Figures, begin_load, job, started, upstream, warm_up
from bench.process import Measured
from bench.targets import UPSTREAM_PORT, Target, ours
from bench.workloads import Workload

BOTH: Final = "0,1"
WORKS: Final = (
    Workload("small", "one short answer, not streamed, 32 at a time for each core", 1, 0, 1600, 32, stream=False),
    Workload("chunks", "16 streams of 2,000 chunks for each core, 4 at a time", 2000, 0, 16, 4),
)
"""What each core is asked."""
CORES: Final = {1: ("0",), 2: ("0", "1")}
"""Number of workers -> the cores that they share with an upstream, and with a load generator for each core."""
HOW: Final = (
    "The load generators and the upstream need the same cores: with one worker all programs run on one core, with two "
    "on both. So the first columns are what the workers would do with their cores for themselves: what they answered, "
    "divided by the processor time of the busiest worker while the cores were saturated. *Seen* is what came within a "
    "second of this run."
)
MEMORY: Final = (2, 4)
"""Numbers of workers, and of separate processes, whose memory is compared."""
PORT: Final = 9720


def with_workers(count: int, port: int, via: str = "chat", upstream_port: int = UPSTREAM_PORT) -> Target:
    """AM Proxy with so many workers."""
    address = f"http://127.0.0.1:{upstream_port}/v1"
    return ours(f"{count} workers, {via}, {port}", port, via, workers=count, upstream=address)


def all_cores(folder: Path, rounds: int) -> dict[str, Figures]:
    """For each workload: two workers beside one."""
    found: dict[tuple[str, int, str], list[float]] = defaultdict(list)
    with ExitStack() as stack:
        servers = {}
        for count, cores in CORES.items():
            stack.enter_context(upstream(folder, PORT + 20 + count, ",".join(cores)))
            target = with_workers(count, PORT + count, upstream_port=PORT + 20 + count)
            servers[count] = target, stack.enter_context(started(target, folder, ",".join(cores)))[0]
        for _, server in servers.values():
            server.quiet()
        for _ in range(rounds):
            for work in WORKS:
                for count, (target, server) in servers.items():
                    for name, value in measured(target, work, server, CORES[count]).items():
                        found[work.name, count, name].append(value)
    results = {}
    for work in WORKS:
        one, two = ({name: median(found[work.name, count, name]) for name in NAMES} for count in CORES)
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


def measured(target: Target, work: Workload, server: Measured, cores: tuple[str, ...]) -> Figures:
    """Requests, or chunks, in a second: of whole cores (see above), and as they came."""
    for _ in range(4):  # over new connections, so each worker is asked
        warm_up(target, work)
    before = server.cpus()
    loads = [begin_load(job(target, work) | {"evenly": True}, core) for core in cores]
    seen = [json.loads((load.stdout.read() if load.stdout is not None else "") or "{}") for load in loads]
    for load in loads:
        load.wait()
    if faults := [each.get("faults") or "the load died" for each in seen if not each or each["faults"]]:
        raise RuntimeError(f"{target.name}, {work.name}: {faults}")
    used = [after - before.get(pid, 0) for pid, after in server.cpus().items()]
    number = work.requests * work.chunks * len(cores)
    busiest, seconds = max(used), max(each["seconds"] for each in seen)
    told = {"whole": number / busiest, "busiest": busiest / sum(used), "wall": number / seconds}
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
