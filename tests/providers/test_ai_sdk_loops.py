"""The AI SDK in a tool loop through every lane: what it carries between its steps is what the provider wants back."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.providers.lanes import LANES, Wired
from tests.support.node import NODE, modules_with
from tests.wire.servers import Answer, Calls, Hides, Says, Thinks

pytestmark = pytest.mark.needs("node", "npm:ai", "npm:@ai-sdk/openai", "npm:zod")

# it writes arguments anew, so these are as it would write them
LOOP: list[Answer] = [
    [
        Thinks("Look."),
        Hides("Hm."),
        Says("Let me look."),
        Calls("get_weather", '{"city":"Rome"}'),
        Calls("get_weather", '{"city":"Zürich"}'),
    ],
    [Thinks("Once more."), Calls("get_weather", '{"city":"Oslo"}')],
    [Says("Fine.")],
]


def ran(everything: Wired, lanes: list[str]) -> dict[str, Any]:
    """What it reports of these lanes."""
    modules = modules_with("ai", "@ai-sdk/openai", "zod")
    done = subprocess.run(
        [NODE, str(Path(__file__).with_name("ai_sdk_loop.mjs")), str(modules), f"{everything.url}/v1"],
        input=json.dumps(lanes),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


@pytest.fixture(scope="module")
def report(everything: Wired) -> dict[str, Any]:
    """What it made of every lane, by one run of node."""
    for wire in everything.wires.values():
        wire.say(*LOOP, *LOOP)
    result = ran(everything, list(LANES))
    wires = {lane: everything.wires[lane] for lane in LANES}
    return {name: (result[name], list(wire.violations), len(wire.asks)) for name, wire in wires.items()}


@pytest.mark.parametrize("lane", LANES)
def test_the_ai_sdk_goes_through_a_tool_loop(report: dict[str, Any], lane: str) -> None:
    """Whole, and streamed."""
    thoughts = ["", "", ""] if lane.startswith("openai") else ["Look.", "Once more.", ""]
    steps = [[thought, text] for thought, text in zip(thoughts, ["Let me look.", "", "Fine."], strict=True)]
    assert report[lane] == ([steps, steps], [], 6)


def test_the_ai_sdk_keeps_thoughts_between_calls_in_their_order(everything: Wired) -> None:
    """Where the Messages API is asked directly: the scripted server refuses any other order."""
    lane = "anthropic, as messages"
    first, *others = LOOP
    loop: list[Answer] = [[*first[:4], Thinks("And there."), *first[4:]], *others]
    wire = everything.wires[lane].say(*loop, *loop)
    [whole, streamed] = ran(everything, [lane])[lane]
    assert [text for _, text in whole] == [text for _, text in streamed] == ["Let me look.", "", "Fine."]
    assert (len(wire.asks), wire.violations) == (6, [])
