"""Test model servers: `python -m tests.servers.run [--server NAME …] [--lane NAME …] [--behaviour NAME …]`.

Without a choice of lanes or behaviours it writes the tables of these servers in docs/servers.md. It ends with 1 when a
cell is broken.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import httpx
from openai import OpenAIError

from tests.conformance.install import ROOT
from tests.servers.behaviours import BEHAVIOURS
from tests.servers.bench import Bench
from tests.servers.install import NotThereError, install, write_models
from tests.servers.lanes import LANES, SERVERS, Lane, settings_of
from tests.servers.launch import started
from tests.servers.page import Found, page
from tests.servers.said import RefusedError
from tests.support.serving import serving

PAGE: Final = ROOT / "docs" / "servers.md"
PATIENCE: Final = 120
"""Seconds that a server may be silent."""


def check(bench: Bench, slug: str) -> list[str]:
    """What is wrong with a behaviour over a lane. Where the lane cannot have it, that must be so."""
    note = bench.lane.notes.get(slug)
    if note is not None and not note.tried:
        return []
    try:
        found = BEHAVIOURS[slug].check(bench)
    except (AssertionError, RefusedError, ValueError, KeyError, httpx.HTTPError, OpenAIError) as error:
        found = [f"{type(error).__name__}: {error}"]
    if note is not None and not note.able:
        return [] if found else [f"it works, but the page says: {note.text}"]
    return found


def drive(lanes: Sequence[Lane], wanted: Sequence[str]) -> Found:
    """Run one server, and test it over its lanes."""
    found: dict[str, dict[str, list[str]]] = {lane.slug: {} for lane in lanes}
    with tempfile.TemporaryDirectory(prefix="servers-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with (
            started(lanes[0].server, folder) as server_url,
            serving(settings_of(lanes, server_url)) as url,
            httpx.Client(timeout=PATIENCE) as client,
        ):
            for lane in lanes:
                for slug in wanted:
                    begun = time.monotonic()
                    faults = check(Bench(lane, url, server_url, client, folder), slug)
                    found[lane.slug][slug] = faults
                    took = f"{time.monotonic() - begun:5.1f} s"
                    sys.stdout.write(f"{'✗' if faults else '✓'} {took} {lane.slug}: {slug} {faults or ''}\n")
                    sys.stdout.flush()
    return found


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="test model servers")
    parser.add_argument("--server", action="append", choices=list(SERVERS), default=[])
    parser.add_argument("--lane", action="append", default=[])
    parser.add_argument("--behaviour", action="append", choices=list(BEHAVIOURS), default=[])
    arguments = parser.parse_args()
    write_models()
    found: dict[str, Found] = {}
    for name in arguments.server or SERVERS:
        sys.stdout.write(f"{name}\n")
        try:
            install(SERVERS[name].environment)
        except NotThereError as error:
            sys.stdout.write(f"skipped: {error}\n")
            continue
        lanes = [lane for lane in LANES[name] if not arguments.lane or lane.slug in arguments.lane]
        found[name] = drive(lanes, arguments.behaviour or list(BEHAVIOURS))
    if not arguments.lane and not arguments.behaviour:
        PAGE.write_text(page(found, PAGE.read_text() if PAGE.is_file() else ""))
        sys.stdout.write(f"written: {PAGE.relative_to(ROOT)}\n")
    return int(any(faults for lanes in found.values() for cells in lanes.values() for faults in cells.values()))


if __name__ == "__main__":
    sys.exit(main())
