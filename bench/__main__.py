"""Runs all measurements and writes docs/performance.md.

`python -m bench [--rounds 2] [--only NAME …] [--work NAME …] [--no-write]`
"""

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path

from bench.measure import Results, million, rounds, starts, upstream
from bench.peers import ROOT
from bench.profile import Profiles, profiles
from bench.report import write
from bench.targets import TARGETS
from bench.workloads import MILLION, WAITING, WORKLOADS


def main() -> int:
    """Runs everything, or only the chosen targets and workloads."""
    apart = {WAITING.name: WAITING, MILLION.name: MILLION, "profile": None}
    names = [work.name for work in WORKLOADS] + list(apart)
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=[], help="programs", choices=[each.name for each in TARGETS])
    parser.add_argument("--work", nargs="*", default=names, help="workloads", choices=names)
    parser.add_argument("--no-write", action="store_true")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that no server keeps running and disturbs the next run
    targets = [target for target in TARGETS if target.at_hand and (not chosen.only or target.name in chosen.only)]
    measured = [target for target in targets if not target.starts_only]
    works = [work for work in WORKLOADS if work.name in chosen.work]
    began = time.perf_counter()
    results: Results = {}
    seen: Profiles = {}
    with tempfile.TemporaryDirectory() as scratch, upstream(Path(scratch)):
        folder = Path(scratch)
        if WAITING.name in chosen.work:
            results |= starts(targets, folder)
        if works:
            results |= rounds(measured, works, chosen.rounds, folder)
        if MILLION.name in chosen.work:
            results |= million(measured, folder)
        if "profile" in chosen.work:
            seen = profiles(folder)
    if not chosen.no_write:
        missing = [target.name for target in TARGETS if not target.at_hand]
        write(results, seen, ROOT / "docs", missing=missing, minutes=(time.perf_counter() - began) / 60)
    return 0


if __name__ == "__main__":
    sys.exit(main())
