"""Drives the real clients: `python -m tests.matrix.run [--lane LANE …] [--client NAME …] [--cell NAME …]`.

It prints what is wrong as it finds it, and a table for each lane, and ends with 1 when a cell is broken.
"""

import argparse
import json
import sys
import tempfile
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
from tests.wire.servers import Ask, ScriptedUpstream

KEY = "sk-scripted"


@contextmanager
def served(lane: Lane) -> Iterator[tuple[str, ScriptedUpstream]]:
    """The address of a server, and the scripted server of this lane behind it. Each failure is left to the client."""
    with ExitStack() as stack:
        upstream = stack.enter_context(lane.server())
        upstream.may_violate = True
        models = {lane.model: Model(upstream="scripted", context_window=64_000, reasoning_efforts=["low"])}
        base_url = upstream.url
        for via in ["chat", lane.via] if lane.relayed else [lane.via]:
            upstreams = {"scripted": Upstream(via=via, base_url=base_url, api_key=KEY, retries=0)}
            settings = Settings(server=Server(keep_alive=1), upstreams=upstreams, models=models)
            base_url = f"{stack.enter_context(serving(settings, fresh=True))}/v1"
        yield base_url, upstream


def ask_faults(cell: Cell, client: Client, bodies: Sequence[Body]) -> Iterator[str]:
    """What is wrong with what the model was asked: it must hold what was said before, to the letter."""
    for number, (body, answer) in enumerate(zip(bodies, cell.answers, strict=False)):
        past = cell.answers[:number]
        made = [key for each in past for key in each.calls]
        calls = {f"call_{key}": client.calls[key] for key in made}
        offered = {client.calls[key].name for key in answer.calls}
        wanted: dict[str, Any] = {
            "calls": {call_id: (call.name, json.loads(call.arguments)) for call_id, call in calls.items()},
            "schema": ["city", "degrees"] if cell.schema else None,
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


def is_told(held: Mapping[str, Any], told: Mapping[str, Any]) -> bool:
    """Whether the client has this at the end, and nothing else."""
    return held.keys() == told.keys() and all(
        all(word in held[key] for word in value) if isinstance(value, tuple) else held[key] == value
        for key, value in told.items()
    )


def faults(cell: Cell, client: Client, value: Mapping[str, Any], asks: Sequence[Ask], lane: Lane) -> Iterator[str]:
    """What is wrong with a cell."""
    held = {key: sorted(each) if key == "calls" else each for key, each in value.items() if each}
    if "parsed" in held:
        held.pop("text", None)
    if not is_told(held, cell.told):
        yield f"the client has {held}, not {cell.told}"
    if len(asks) != len(cell.answers):
        yield f"the model was asked {len(asks)} times, not {len(cell.answers)}"
    yield from ask_faults(cell, client, [lane.read(ask.body) for ask in asks])
    if cell.retries and asks[-1].began - asks[0].began < WAIT:
        yield "the client came back before it was told to"


def drive(lane: str, name: str, cells: Sequence[str], url: str, upstream: ScriptedUpstream) -> dict[str, str]:
    """One client through cells: the sign of each."""
    client, signs, by = CLIENTS[name], dict.fromkeys(cells, "-"), LANES[lane]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, client.driver(Path(folder)) as driver:
        for key in (each for each in cells if client.tries(lane, each)):
            cell = client.cell(lane, key)
            upstream.asks, upstream.violations = [], []
            upstream.scripts = tuple(by.steps(answer, client) for answer in cell.answers)
            try:
                told = driver(task_of(cell, url, by.model))
            except (OSError, ValueError) as error:
                told = {"error": f"the driver: {error!r}"}
            found = [*faults(cell, client, told, upstream.asks, by), *upstream.violations]
            signs[key] = "✗" if found else "✓"
            for fault in found:
                print(f"✗ {lane}, {name}, {key}: {fault}", flush=True)
    return signs


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Drive the real clients.")
    for flag, table in (("lane", LANES), ("client", CLIENTS), ("cell", CELLS)):
        parser.add_argument(f"--{flag}", action="append", choices=list(table))
    given = parser.parse_args()
    cells, clients, broken = given.cell or list(CELLS), given.client or list(CLIENTS), False
    for lane in given.lane or LANES:
        with served(LANES[lane]) as (url, upstream):
            signs = {name: drive(lane, name, cells, url, upstream) for name in clients}
        print(f"\n{lane:13}", *clients)
        for cell in cells:
            print(f"{cell:13}", *(f"{signs[name][cell]:^{len(name)}}" for name in clients))
        broken = broken or any("✗" in each.values() for each in signs.values())
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
