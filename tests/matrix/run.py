"""Drives the real clients: `python -m tests.matrix.run [--lane LANE …] [--client NAME …] [--cell NAME …]`.

It prints what is wrong as it finds it, and a table for each lane, and ends with 1 when a cell is broken.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tests.matrix import words
from tests.matrix.cells import CELLS, WAIT, Cell
from tests.matrix.clients import CLIENTS, Client, task_of
from tests.matrix.upstreams import LANES, Body, Lane
from tests.wire.configuration import Model, Server, Settings, Upstream
from tests.wire.program import serving
from tests.wire.servers import Ask, Step

KEY = "sk-scripted"


class ScriptedModel:
    """The model behind a lane's server: it plays the answers of one cell after the other."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.upstream = lane.server(self.steps)
        self.upstream.may_violate = True
        self.begin([])

    def begin(self, answers: Sequence[list[Step]]) -> None:
        """What to play, the last one again and again."""
        self.answers, self.bodies, self.times = answers, list[Body](), list[float]()
        self.upstream.violations = []

    def steps(self, ask: Ask) -> list[Step]:
        """The next answer."""
        self.times.append(time.monotonic())
        self.bodies.append(self.lane.read(ask.body))
        return self.answers[min(len(self.bodies), len(self.answers)) - 1]


@contextmanager
def served(lane: Lane) -> Iterator[tuple[str, ScriptedModel]]:
    """The address of a server with its model on a scripted server of this lane. Each failure is left to the client."""
    model = ScriptedModel(lane)
    with ExitStack() as stack:
        base_url = stack.enter_context(model.upstream).url
        models = {lane.model: Model(upstream="scripted", context_window=64_000, reasoning_efforts=["low"])}
        vias = ["chat", lane.via] if lane.relayed else [lane.via]
        for via in vias:
            upstreams = {"scripted": Upstream(via=via, base_url=base_url, api_key=KEY, retries=0)}
            settings = Settings(server=Server(keep_alive=1), upstreams=upstreams, models=models)
            base_url = f"{stack.enter_context(serving(settings, fresh=True))}/v1"
        yield base_url, model


def ask_faults(cell: Cell, client: Client, bodies: Sequence[Body]) -> Iterator[str]:
    """What is wrong with what the model was asked: it must hold what was said before, to the letter."""
    for number, (body, answer) in enumerate(zip(bodies, cell.answers, strict=False)):
        past = cell.answers[:number]
        made = [key for each in past for key in each.calls]
        calls = {f"call_{key}": client.calls[key] for key in made}
        offered = {client.calls[key].name for key in answer.calls}
        wanted: dict[str, Any] = {
            "calls": {call_id: (call.name, json.loads(call.arguments)) for call_id, call in calls.items()},
            "schema": ("object", ["city", "degrees"]) if cell.schema else None,
            "pictures": [words.PICTURE] * (cell.picture + ("picture" in made)),
            "thinks": cell.thinks or body.thinks,
            "thoughts": [(each.thinks, f"call_{each.calls[0]}") for each in past if each.thinks],
        }
        for name, value in wanted.items():
            if (held := getattr(body, name)) != value:
                yield f"ask {number} has {name} {held}, not {value}"
        for call_id, call in calls.items():
            if call.gives not in body.outputs.get(call_id, ""):
                yield f"ask {number} does not hold what {call_id} gave: {body.outputs.get(call_id)}"
        if offered - set(body.tools) or ("search" in answer.calls and client.calls["found"].name in body.tools):
            yield f"ask {number} offers {body.tools}"


def faults(lane: str, client: Client, name: str, value: Mapping[str, Any], model: ScriptedModel) -> Iterator[str]:
    """What is wrong with a cell."""
    cell = CELLS[name]
    told = client.told.get(f"{lane}/{name}") or client.told.get(name, cell.told)
    held = {key: sorted(each) if key == "calls" else each for key, each in value.items() if each}
    if "parsed" in held:
        held.pop("text", None)
    if held != told:
        yield f"the client has {held}, not {told}"
    yield from model.upstream.violations
    if len(model.bodies) != len(cell.answers):
        yield f"the model was asked {len(model.bodies)} times, not {len(cell.answers)}"
    yield from ask_faults(cell, client, model.bodies)
    if cell.retries and len(model.times) > 1 and model.times[-1] - model.times[0] < WAIT:
        yield "the client came back before it was told to"


def drive(lane: str, name: str, cells: Sequence[str], url: str, model: ScriptedModel) -> dict[str, str]:
    """One client through cells: the sign of each."""
    client, signs = CLIENTS[name], dict.fromkeys(cells, "-")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, client.driver(Path(folder)) as driver:
        for cell in (each for each in cells if client.tries(lane, each)):
            model.begin([model.lane.steps(answer, client) for answer in CELLS[cell].answers])
            try:
                told = driver(task_of(CELLS[cell], url, model.lane.model))
            except (OSError, ValueError, subprocess.SubprocessError) as error:
                told = {"error": f"the driver: {error!r}"}
            found = list(faults(lane, client, cell, told, model))
            signs[cell] = "✗" if found else "✓"
            for fault in found:
                print(f"✗ {lane}, {name}, {cell}: {fault}", flush=True)
    return signs


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Drive the real clients.")
    for flag, table in (("lane", LANES), ("client", CLIENTS), ("cell", CELLS)):
        parser.add_argument(f"--{flag}", action="append", choices=list(table))
    given = parser.parse_args()
    cells, clients, broken = given.cell or list(CELLS), given.client or list(CLIENTS), False
    for lane in given.lane or LANES:
        with served(LANES[lane]) as (url, model):
            signs = {name: drive(lane, name, cells, url, model) for name in clients}
        print(f"\n{lane:13}", *clients)
        for cell in cells:
            print(f"{cell:13}", *(f"{signs[name][cell]:^{len(name)}}" for name in clients))
        broken = broken or any("✗" in each.values() for each in signs.values())
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
