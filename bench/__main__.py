"""Runs everything, interleaved, and writes docs/performance.md.

`python -m bench [--rounds 3] [--only NAME …] [--work NAME …] [--no-write]`
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from bench.process import OTHER_CORE, Measured, pinned
from bench.report import write
from bench.targets import ROOT, TARGETS, UPSTREAM_PORT, Target
from bench.workloads import WORKLOADS, Workload

WARM_UP = 5
"""Requests before the clock runs, without any pauses."""

Results = dict[str, dict[str, dict[str, float]]]
"""workload -> target -> figure -> median over the rounds."""


def main() -> int:
    """The whole run."""
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[], help="names of targets")
    parser.add_argument("--work", nargs="*", default=[], help="names of workloads")
    parser.add_argument("--no-write", action="store_true")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and no server stays behind to be measured next time
    targets = [target for target in TARGETS if target.at_hand and (not chosen.only or target.name in chosen.only)]
    works = [work for work in WORKLOADS if not chosen.work or work.name in chosen.work]
    results = measure(targets, works, chosen.rounds)
    if not chosen.no_write:
        write(results, ROOT / "docs", [target.name for target in TARGETS if not target.at_hand])
    return 0


def measure(targets: list[Target], works: list[Workload], rounds: int) -> Results:
    """Every workload at every target, target after target, round after round."""
    figures: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        folder = Path(scratch)
        command = [sys.executable, "-m", "bench.upstream", str(UPSTREAM_PORT)]
        upstream = stack.enter_context(Measured(command, core=OTHER_CORE, log=folder / "upstream.log"))
        upstream.ready(f"http://127.0.0.1:{UPSTREAM_PORT}/")
        running = {}
        for target in targets:
            log = folder / f"{target.port}.log"
            server = stack.enter_context(Measured(target.command(folder), env=target.env, log=log))
            try:
                seconds = server.ready(f"http://127.0.0.1:{target.port}/health/live")
            except RuntimeError as error:
                print(f"{target.name}: {error}\n{log.read_text()[-1500:]}", file=sys.stderr)
                continue
            figures["start", target.name, "seconds"].append(seconds)
            running[target.name] = server
            time.sleep(3)
            figures["start", target.name, "rss"].append(server.rss())
        for _ in range(rounds):
            for work in works:
                for target in [each for each in targets if each.name in running and asked_of(each, work)]:
                    for figure, value in once(target, work, running[target.name]).items():
                        figures[work.name, target.name, figure].append(value)
        for name, server in running.items():
            figures["start", name, "peak"].append(server.peak())
    results: Results = defaultdict(lambda: defaultdict(dict))
    for (work_name, target_name, figure), values in figures.items():
        results[work_name][target_name][figure] = median(values)
    return results


def asked_of(target: Target, work: Workload) -> bool:
    """Some workloads would take others many minutes."""
    return not work.ours_only or target.name.startswith("AM Proxy")


def once(target: Target, work: Workload, server: Measured) -> dict[str, float]:
    """One workload at one target."""
    path, body = target.ask(work.model, work.stream, work.request)
    job = {
        "host": "127.0.0.1",
        "port": target.port,
        "path": path,
        "body": body,
        "requests": work.requests,
        "concurrency": work.concurrency,
        "stream": work.stream,
    }
    _load(
        {**job, "body": target.ask(work.unpaced, work.stream, work.request)[1], "requests": WARM_UP, "concurrency": 1}
    )
    rss, before = server.rss(), server.cpu()
    load = subprocess.Popen(
        pinned(OTHER_CORE, [sys.executable, "-m", "bench.load"]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert load.stdin is not None
    load.stdin.write(json.dumps(job))
    load.stdin.close()
    most = rss
    while load.poll() is None:
        time.sleep(0.1)
        if work.memory:
            most = max(most, server.rss())
    assert load.stdout is not None
    seen = json.loads(load.stdout.read() or "{}")
    if not seen or seen["faults"]:
        print(f"{target.name}, {work.name}: {seen.get('faults') or 'the load died'}", file=sys.stderr)
        return {}
    used = server.cpu() - before
    firsts = seen["firsts"]
    told = {
        "ms_per_request": used / work.requests * 1e3,
        "us_per_chunk": used / (work.requests * work.chunks) * 1e6,
        "chunks_per_second": work.requests * work.chunks / seen["seconds"],
        "first_p50_ms": firsts[len(firsts) // 2] * 1e3,
        "first_p99_ms": firsts[int(len(firsts) * 0.99)] * 1e3,
    }
    if work.memory:
        told["kb_per_stream"] = max(most - rss, 0) * 1024 / work.concurrency
        told["grown_mb"] = server.rss() - rss
    print(
        f"{work.name:16} {target.name:20} " + " ".join(f"{key}={value:.1f}" for key, value in told.items()), flush=True
    )
    return told


def _load(job: dict[str, object]) -> None:
    subprocess.run(
        pinned(OTHER_CORE, [sys.executable, "-m", "bench.load"]),
        input=json.dumps(job),
        text=True,
        check=False,
        capture_output=True,
    )


if __name__ == "__main__":
    sys.exit(main())
