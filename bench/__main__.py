"""Measures AM Proxy beside a byte copy and other bridges, and prints tables of ratios, as Markdown.

`python -m bench [--rounds 5] [--only PROGRAM …] [--work WORKLOAD …]`. A figure is the median of the rounds; a ratio
compares programs of one run. It needs the machine for itself.
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
from bench.programs import PROGRAMS, UPSTREAM_PORT, Program
from bench.workloads import PACED, WAITING, WORKLOADS, Workload

FLOOR, DEFAULT, OFF = "byte copy (aiohttp)", "AM Proxy", "AM Proxy, watch = 0"
PEERS = ("llm-rosetta", "LiteLLM proxy")
WARM_UP = 5
Figures = dict[tuple[str, str], list[float]]
"""Workload and program -> one value of each round."""


def main() -> None:
    """Measure, and print."""
    names, works = [each.name for each in PROGRAMS], [work.name for work in (*WORKLOADS, WAITING)]
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=names, choices=names)
    parser.add_argument("--work", nargs="*", default=works, choices=works)
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no server keeps running and disturbs the next run
    there = [each for each in PROGRAMS if each.name in chosen.only and each.installed]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        upstream = [sys.executable, "-m", "bench.upstream", str(UPSTREAM_PORT)]
        with Measured(upstream, folder / "upstream.log", OTHER_CORE) as server:
            server.ready(f"http://127.0.0.1:{UPSTREAM_PORT}/")
            started = [began(program, folder, waits=WAITING.name in chosen.work) for program in there]
            figures = rounds(there, [work for work in WORKLOADS if work.name in chosen.work], chosen.rounds, folder)
    print("\n".join([*start_table(started), *tables(figures)]))


def began(program: Program, folder: Path, waits: bool) -> tuple[str, float, float, float]:
    """A program's name, seconds from its start to its first answer, MB at rest, and kB of a waiting stream."""
    with started(program, folder) as server:
        first = server.ready(f"http://127.0.0.1:{program.port}/health/live")
        load(program, WAITING, warm_up=True)
        server.quiet()
        rss = most = server.rss()
        if waits:
            requests = WAITING.requests // program.fewer
            with begun(program, WAITING) as running:
                while running.poll() is None:
                    time.sleep(0.1)
                    most = max(most, server.rss())
            return program.name, first, rss, (most - rss) * 1024 / requests
    return program.name, first, rss, 0.0


def rounds(programs: list[Program], works: list[Workload], count: int, folder: Path) -> Figures:
    """All workloads with all programs in turn, several times."""
    figures: Figures = defaultdict(list)
    with ExitStack() as stack:
        running = {each.name: stack.enter_context(started(each, folder)) for each in programs}
        for program in programs:
            running[program.name].ready(f"http://127.0.0.1:{program.port}/health/live")
            running[program.name].quiet()
        for _ in range(count):
            for work in works:
                for program in programs:
                    load(program, work, warm_up=True)
                    before = running[program.name].cpu()
                    requests = load(program, work)
                    used = running[program.name].cpu() - before
                    if requests:
                        value = used / requests / (work.chunks if work is PACED else 1) * 1e6
                        figures[work.name, program.name].append(value)
                        print(f"{work.name:8} {program.name:22} {value:10.1f} {work.unit}", file=sys.stderr)
    return figures


def started(program: Program, folder: Path) -> Measured:
    """The program, being started."""
    return Measured(program.command(program, folder), folder / f"{program.port}.log", env=program.env)


def begun(program: Program, work: Workload, warm_up: bool = False) -> subprocess.Popen[str]:
    """The load generator with its job; a warm-up has a few requests, one after the other, without pauses."""
    model = f"b-{work.chunks}-0" if warm_up else work.model
    body = {"model": model, "stream": work.stream, "store": False, **work.asked}
    job: dict[str, object] = {"url": f"http://127.0.0.1:{program.port}{program.path}", "body": body}
    job["requests"] = WARM_UP if warm_up else work.requests // program.fewer
    job["concurrency"] = 1 if warm_up else work.concurrency
    command = pinned(OTHER_CORE, [sys.executable, "-m", "bench.load"])
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin
    process.stdin.write(json.dumps(job))
    process.stdin.close()
    return process


def load(program: Program, work: Workload, warm_up: bool = False) -> int:
    """How many requests were answered; none, if one of them was not."""
    with begun(program, work, warm_up) as process:
        assert process.stdout
        faults = json.loads(process.stdout.read() or '["the load died"]')
    if faults:
        print(f"{program.name}, {work.name}: {faults}", file=sys.stderr)
        return 0
    return WARM_UP if warm_up else work.requests // program.fewer


def start_table(rows: list[tuple[str, float, float, float]]) -> list[str]:
    """How each program starts, and what its waiting streams take."""
    head = ["| | first answer, s | MB at rest | kB a waiting stream |", "| --- | --- | --- | --- |"]
    return [*head, *(f"| {name} | {first:.2f} | {rss:.0f} | {kb:.1f} |" for name, first, rss, kb in rows), ""]


def tables(figures: Figures) -> list[str]:
    """One table for each workload, with the ratios that the aims are about."""
    lines = []
    for work in WORKLOADS:
        told = {name: median(values) for (of, name), values in figures.items() if of == work.name}
        if not told:
            continue
        lines += [f"**{work.name}**: {work.about}", "", f"| | {work.unit} | ÷ byte copy |", "| --- | --- | --- |"]
        floor = told.get(FLOOR)
        lines += [f"| {name} | {value:.0f} | {value / floor if floor else 0:.2f} |" for name, value in told.items()]
        lines.append("")
        best = min((told[peer] for peer in PEERS if peer in told), default=None)
        if best and DEFAULT in told:
            lines.append(f"AM Proxy ÷ best other bridge: {told[DEFAULT] / best:.2f} (aim {work.aim:.2f})")
        pairs = list(zip(figures[work.name, DEFAULT], figures[work.name, OFF], strict=False))
        if pairs:
            lines.append(f"AM Proxy as it starts ÷ with watch = 0: {median(a / b for a, b in pairs):.2f} (aim 1.15)")
        lines.append("")
    return lines


if __name__ == "__main__":
    main()
