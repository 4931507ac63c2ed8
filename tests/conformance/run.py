"""Drive the real clients: `python -m tests.conformance.run [--via LANE …] [--client NAME …] [--cell NAME …]`.

Without a choice of clients or cells it drives all of them through everything, one after another, and writes the tables
of these lanes in docs/conformance.md. It ends with 1 when a cell is broken.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from tests.conformance.cells import CELLS, faults
from tests.conformance.checks import Asked
from tests.conformance.clients import CLIENTS, Bench, chosen, surroundings
from tests.conformance.install import ROOT, fetch_npm, fetch_pypi
from tests.conformance.lanes import LANES, Lane
from tests.conformance.matrix import Faults, page
from tests.conformance.scripted_model import ScriptedModels, scripted_models
from tests.wire.configuration import Model

PAGE: Final = ROOT / "docs" / "conformance.md"
SILENT: Final = "silence"


def cells_of(lane: Lane, name: str, wanted: Sequence[str]) -> list[str]:
    """What there is to try with a client."""
    notes = {cell: lane.note(name, CLIENTS[name], cell) for cell in wanted}
    return [cell for cell, note in notes.items() if note is None or note.tried]


def run_cells(scripted: ScriptedModels, name: str, cells: Sequence[str], folder: Path) -> dict[str, list[str]]:
    """Drive one client through cells; what is wrong with each."""
    client, lane = CLIENTS[name], scripted.lane
    models = {cell: lane.model(name, cell) for cell in cells}
    for cell, model in models.items():
        scripted.set_scripts(model, CELLS[cell].play(client.tools))
    launch = ("--upstream", scripted.asked_at, *lane.launch)
    result = client.drive(Bench(scripted.url, folder, surroundings(folder), launch), models) if models else {}
    found: dict[str, list[str]] = {}
    for cell, model in models.items():
        asked = Asked(scripted.asks[model], scripted.times[model], lane.read)
        found[cell] = faults(lane.cell(name, client, cell), result[cell], asked, client.tools)
        found[cell] += scripted.upstream.refused[model]
        sys.stdout.write(f"{'✗' if found[cell] else '✓'} {name}: {CELLS[cell].title} {found[cell] or ''}\n")
        sys.stdout.flush()
    return found


def drive(lane: Lane, names: Sequence[str], wanted: Sequence[str], folder: Path) -> Faults:
    """One client after another; only the silence is heard by all of them at once, because it takes a minute."""
    clients = chosen(names)
    model = Model(upstream="scripted", context_window=64_000, reasoning_efforts=["low"])
    catalogued = {lane.model("codex", cell): model for cell in CELLS}
    found: dict[str, dict[str, list[str]]] = {}
    with scripted_models(lane, catalogued) as scripted:
        for name in clients:
            loud = [cell for cell in cells_of(lane, name, wanted) if cell != SILENT]
            found[name] = run_cells(scripted, name, loud, folder)
        if SILENT in wanted:
            with ThreadPoolExecutor(len(clients)) as pool:
                waiting = {name: pool.submit(run_cells, scripted, name, [SILENT], folder) for name in clients}
            for name, received in waiting.items():
                found[name] |= received.result()
    return found


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="drive the real clients")
    parser.add_argument("--via", action="append", choices=list(LANES), default=[])
    parser.add_argument("--client", action="append", choices=list(CLIENTS), default=[])
    parser.add_argument("--cell", action="append", choices=list(CELLS), default=[])
    arguments = parser.parse_args()
    fetch_npm()
    fetch_pypi()
    found: dict[str, Faults] = {}
    for via in arguments.via or LANES:
        sys.stdout.write(f"via {via}\n")
        with tempfile.TemporaryDirectory(prefix="conformance-", ignore_cleanup_errors=True) as folder:
            found[via] = drive(LANES[via], arguments.client, arguments.cell or list(CELLS), Path(folder))
    if not arguments.client and not arguments.cell:
        PAGE.write_text(page(found, PAGE.read_text()))
        sys.stdout.write(f"written: {PAGE.relative_to(ROOT)}\n")
    return int(any(faults for clients in found.values() for cells in clients.values() for faults in cells.values()))


if __name__ == "__main__":
    sys.exit(main())
