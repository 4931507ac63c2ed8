"""Runs all measurements and writes docs/performance.md.

`python -m bench [--rounds 3] [--only NAME …] [--work NAME …] [--no-write]`, or `python -m bench --quick`, which
measures in a minute what most goals are about, prints which of them are reached, and writes nothing.
"""

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from bench.all_cores import workers
from bench.goals import CHAT, COPY, DEMO, MESSAGES, RELAY
from bench.growth import QUICK_SIZES, SIZES, Growth, figures, grown
from bench.measure import Results, million, rounds, starts, upstream
from bench.peers import ROOT
from bench.profile import Profiles, profiles
from bench.report import goals, write
from bench.targets import TARGETS, Target
from bench.workloads import MILLION, WAITING, WORKLOADS

GROWTH = "growth"
WORKERS = "workers"
GROWING = {CHAT, RELAY}
QUICK = {"small", "many, paced", "codex"}
QUICK_TARGETS = {COPY, CHAT, MESSAGES, RELAY, "llm-rosetta"}
QUICK_STARTS = {COPY, CHAT, DEMO}


def main() -> int:
    """Runs everything, or only the chosen targets and workloads."""
    apart = {WAITING.name: WAITING, MILLION.name: MILLION, GROWTH: None, WORKERS: None, "profile": None}
    names = [work.name for work in WORKLOADS] + list(apart)
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[], help="programs", choices=[each.name for each in TARGETS])
    parser.add_argument("--work", nargs="*", default=names, help="workloads", choices=names)
    parser.add_argument("--no-write", action="store_true")
    parser.add_argument("--quick", action="store_true", help="one minute: some goals, one round, without litellm")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no server keeps running and disturbs the next run
    targets = [target for target in TARGETS if target.at_hand and (not chosen.only or target.name in chosen.only)]
    if chosen.quick:
        return quick(targets)
    measured = [target for target in targets if not target.starts_only]
    works = [work for work in WORKLOADS if work.name in chosen.work]
    began = time.perf_counter()
    results: Results = {}
    seen: Profiles = {}
    growths: dict[str, Growth] = {}
    with tempfile.TemporaryDirectory() as scratch, upstream(Path(scratch)):
        folder = Path(scratch)
        if WAITING.name in chosen.work:
            results |= starts(targets, folder)
        if works:
            results |= rounds(measured, works, chosen.rounds, folder)
        if MILLION.name in chosen.work:
            results |= million(measured, folder)
        if GROWTH in chosen.work:
            growths = {each.name: grown(each, folder, SIZES) for each in measured if each.name in GROWING}
            results |= growth_results(growths)
        if WORKERS in chosen.work:
            results[WORKERS] = workers(folder, chosen.rounds)
        if "profile" in chosen.work:
            seen = profiles(folder)
    if not chosen.no_write:
        missing = [target.name for target in TARGETS if not target.at_hand]
        minutes = (time.perf_counter() - began) / 60
        write(results, seen, ROOT / "docs", missing=missing, minutes=minutes, grown=growths)
    return 0


def quick(targets: list[Target]) -> int:
    """Measures what most goals are about, once."""
    with tempfile.TemporaryDirectory() as scratch, upstream(Path(scratch)):
        folder = Path(scratch)
        results = starts([each for each in targets if each.name in QUICK_STARTS], folder)
        measured = [each for each in targets if each.name in QUICK_TARGETS]
        results |= rounds(measured, [work for work in WORKLOADS if work.name in QUICK], 1, folder)
        growths = {each.name: grown(each, folder, QUICK_SIZES) for each in targets if each.name == CHAT}
        results |= growth_results(growths)
    print("\n".join(goals(results)))
    return 0


def growth_results(growths: Mapping[str, Growth]) -> Results:
    """What the goals are about."""
    return {GROWTH: {name: figures(growth) for name, growth in growths.items()}}


if __name__ == "__main__":
    sys.exit(main())
