"""What `make conformance` stands on: its judge finds faults, and its page is of these very clients."""

import json
import re
from typing import Any

import pytest

from tests.conformance import lines
from tests.conformance.cells import CELLS, Outcome, faults
from tests.conformance.checks import Asked, Tools
from tests.conformance.clients import CLIENTS
from tests.conformance.install import PINS, ROOT
from tests.conformance.lanes import LANES, Lane
from tests.conformance.matrix import page, section_of
from tests.conformance.run import cells_of
from tests.wire.servers import Ask

PAGE = (ROOT / "docs" / "conformance.md").read_text("utf-8")
DRIVERS = ROOT / "tests" / "conformance" / "drivers"
TOOLS = Tools()
OUTCOME: Outcome = {"calls": list(lines.CITIES), "text": lines.TEXT}
OFFERED = [{"type": "function", "function": {"name": lines.WEATHER}}]


def call(call_id: str, city: str) -> dict[str, Any]:
    arguments = json.dumps({"city": city})
    return {"id": call_id, "type": "function", "function": {"name": lines.WEATHER, "arguments": arguments}}


def output(call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def asked(*histories: list[dict[str, Any]]) -> Asked:
    bodies = [{"messages": history, "tools": OFFERED} for history in histories]
    return Asked([Ask("/", {}, body, b"") for body in bodies], [0.0] * len(bodies))


USER: dict[str, Any] = {"role": "user", "content": lines.PROMPT}
CALLS = {"role": "assistant", "tool_calls": [call("call_a", "Paris"), call("call_b", "Rome")]}
PARIS, ROME = output("call_a", lines.degrees("Paris")), output("call_b", lines.degrees("Rome"))
WHOLE: list[dict[str, Any]] = [USER, CALLS, PARIS, ROME]
NUMBERED = list(enumerate(lines.CITIES, 1))
SWAPPED = {"role": "assistant", "tool_calls": [call("call_a", "Rome"), call("call_b", "Paris")]}


def test_a_cell_without_fault_is_green() -> None:
    assert faults(CELLS["parallel"], OUTCOME, asked([USER], WHOLE), TOOLS) == []


@pytest.mark.parametrize(
    ("value", "told_upstream", "words"),
    [
        ({**OUTCOME, "text": lines.TEXT[:-1]}, [[USER], WHOLE], "the client has"),
        ({**OUTCOME, "calls": ["Paris"]}, [[USER], WHOLE], "the client has"),
        ({**OUTCOME, "more": ""}, [[USER], WHOLE], "the client has"),
        (OUTCOME, [[USER]], "asked 1 times, not 2"),
        (OUTCOME, [[USER], WHOLE, WHOLE], "asked 3 times, not 2"),
        (OUTCOME, [[USER], [USER, PARIS, ROME]], "does not hold the call call_a"),
        (OUTCOME, [[USER], [USER, SWAPPED, PARIS, ROME]], "holds other arguments of call_a"),
        (
            OUTCOME,
            [[USER], [USER, CALLS, PARIS, output("call_b", "no output recorded")]],
            "does not hold what call_b gave",
        ),
    ],
)
def test_the_judge_finds(value: Outcome, told_upstream: list[list[dict[str, Any]]], words: str) -> None:
    found = faults(CELLS["parallel"], value, asked(*told_upstream), TOOLS)
    assert words in "; ".join(found)


def test_a_client_that_comes_back_too_early_is_found() -> None:
    early = Asked(asked([USER], [USER]).asks, [0.0, 1.0])
    [found] = faults(CELLS["wait"], {"text": lines.TEXT}, early, TOOLS)
    assert "before it was told to" in found


def test_a_tool_that_is_offered_before_it_was_found_is_a_fault() -> None:
    found = faults(CELLS["search"], {}, asked([USER], [USER], [USER]), TOOLS)
    assert "ask 0 offers get_weather before it was found" in found


def test_thoughts_that_do_not_come_back_in_their_places_are_found() -> None:
    first, second = ({"role": "assistant", "tool_calls": [call(f"call_{n}", city)]} for n, city in NUMBERED)
    outputs = [output(f"call_{n}", lines.degrees(city)) for n, city in NUMBERED]
    thought, again = {"reasoning_content": lines.THOUGHT}, {"reasoning_content": lines.AGAIN}

    def found(*places: dict[str, str]) -> list[str]:
        history = [first | places[0], outputs[0], second | places[1], outputs[1]]
        asks = asked([USER], [USER, *history[:2]], [USER, *history])
        for ask in asks.asks:
            ask.body["reasoning_effort"] = "low"
        return faults(CELLS["thoughts"], OUTCOME, asks, TOOLS)

    assert found(thought, again) == []
    for places in ((thought, {}), (again, thought), ({}, {})):
        [fault] = found(*places)
        assert fault.startswith("the asks hold other thoughts: ")


@pytest.mark.parametrize("via", LANES)
@pytest.mark.parametrize("name", CLIENTS)
def test_notes_are_of_cells_that_there_are_and_every_driver_knows_what_it_is_to_try(name: str, via: str) -> None:
    lane, own = LANES[via], {cell for client, cell in LANES[via].notes if client == name}
    assert {*CLIENTS[name].notes, *own, *lane.remarks} <= set(CELLS)
    assert {client for client, _ in lane.notes} <= set(CLIENTS)
    drivers = {
        "openai-python": "openai_python.py",
        "openai-node": "openai_node.mjs",
        "openai-agents": "openai_agents.py",
        "ai-sdk-openai": "ai_sdk.mjs",
        "pydantic-ai": "pydantic_agent.py",
        "langchain": "langchain_chat.py",
    }
    if name in drivers:
        text = (DRIVERS / drivers[name]).read_text("utf-8")
        known = text[text.rindex("runCells(" if drivers[name].endswith(".mjs") else "run_cells(") :]
        assert [
            cell for cell in cells_of(lane, name, list(CELLS)) if not re.search(rf"^\W*{cell}\b", known, re.MULTILINE)
        ] == []


@pytest.mark.parametrize("lane", LANES.values(), ids=LANES)
def test_the_page_shows_every_client_at_its_version_through_every_behaviour_and_nothing_broken(lane: Lane) -> None:
    _, *rows = re.findall(r"^\| (.+) \|$", section_of(lane, PAGE).partition("| behaviour")[2], re.MULTILINE)
    shown = {title.partition("<")[0]: cells for title, *cells in (row.split(" | ") for row in rows)}
    pins = PINS["npm"] | {name.partition("[")[0]: version for name, version in PINS["pypi"].items()}
    versions = [
        PINS["npm" if client.npm else "pypi"].get(client.package) or pins[client.package] for client in CLIENTS.values()
    ]
    assert [entry.partition(",")[0] for entry in shown["version"]] == versions
    assert [title for title in shown if title != "version" and not title.startswith("---")] == [
        cell.title for cell in CELLS.values()
    ]
    assert all(len(cells) == len(CLIENTS) for title, cells in shown.items() if not title.startswith("---"))
    assert "✗" not in "".join(sign for cells in shown.values() for sign in cells)


def test_a_run_over_one_lane_keeps_the_tables_of_the_others() -> None:
    broken: dict[str, dict[str, list[str]]] = {name: {cell: [] for cell in CELLS} for name in CLIENTS}
    broken["codex"]["wait"] = ["the client came back too early"]
    chat, messages = LANES["litellm"], LANES["messages"]
    one = page({"messages": broken}, PAGE)
    assert section_of(chat, one) == section_of(chat, PAGE)
    assert "| 429 with Retry-After | ✗<sup>" in section_of(messages, one)
    assert '- Codex CLI, 429 with Retry-After: ["the client came back too early"]' in section_of(messages, one)
    assert page({}, one) == one
