"""The AI SDK in a tool loop through every lane: what it carries between its steps is what the provider wants back."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.node import NODE, modules_with
from tests.support.provider_lanes import LANES, Wired
from tests.support.servers import Answer, Calls, Hides, Says, Thinks

pytestmark = pytest.mark.xdist_group("litellm")

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


@pytest.fixture(scope="module")
def report(everything: Wired) -> dict[str, Any]:
    """What it made of every lane, by one run of node."""
    modules = modules_with("ai", "@ai-sdk/openai", "zod")
    for wire in everything.wires.values():
        wire.say(*LOOP, *LOOP)
    ran = subprocess.run(
        [NODE, str(Path(__file__).with_name("ai_sdk_loop.mjs")), str(modules), f"{everything.url}/v1"],
        input=json.dumps(list(LANES)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    result: dict[str, Any] = json.loads(ran.stdout)
    return {name: (result[name], list(wire.violations), len(wire.asks)) for name, wire in everything.wires.items()}


@pytest.mark.parametrize("lane", LANES)
def test_the_ai_sdk_goes_through_a_tool_loop(report: dict[str, Any], lane: str) -> None:
    """Whole, and streamed."""
    thoughts = ["", "", ""] if lane.startswith("openai") else ["Look.", "Once more.", ""]
    steps = [[thought, text] for thought, text in zip(thoughts, ["Let me look.", "", "Fine."], strict=True)]
    assert report[lane] == ([steps, steps], [], 6)
