"""What goes over the wire to each provider and back, recorded: two asks of a tool loop, and their answers.

Each folder of `tests/http/wires/recordings` is one lane:

    1-ask.json, 2-ask.json         what the provider is asked: the path, and the body
    1-answer.txt, 2-answer.txt     what it streams, in its own wire format

`--bless tests/http/wires/recordings/NAME` rewrites one lane; the diff is then the review.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from openai import OpenAI

from tests.http.wires.lanes import Wired
from tests.support.tool_loops import Loop
from tests.wire.servers import Answer, Calls, Hides, Says, Thinks

Json = dict[str, Any]

FOLDER: Final = Path(__file__).parent / "recordings"
RECORDED: Final = (
    "openai",
    "deepseek",
    "anthropic",
    "cohere",
    "gemini",
    "mistral",
    "ollama",
    "vllm",
    "openrouter",
    "ollama, directly",
)

FIRST: Final[Answer] = [
    Thinks("Rome first."),
    Hides("Nobody may read this."),
    Says("Let me look."),
    Calls("get_weather", '{"city": "Rome"}'),
    Calls("get_weather", "{}"),
]
SECOND: Final[Answer] = [Thinks("Fine."), Says("It is fine.")]

MADE_UP: Final = re.compile(
    r"call_AM-\w{12}|call_[0-9a-f]{28,32}(?=\W|_)|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)
"""Ids that litellm or we make up, where the provider gives none."""


def without_chance(text: str) -> str:
    """The text with made-up ids numbered as they come."""
    found = {made: f"made-up-{number}" for number, made in enumerate(dict.fromkeys(MADE_UP.findall(text)), 1)}
    return MADE_UP.sub(lambda match: found[match[0]], text)


def folder_of(lane: str) -> Path:
    return FOLDER / lane.replace(", ", "-")


def compare(file: Path, text: str, read: Callable[[str], Any] = str, *, bless: bool) -> None:
    if bless:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    assert read(file.read_bytes().decode()) == read(text)


@pytest.mark.parametrize("lane", RECORDED)
def test_a_tool_loop_goes_over_the_wire_as_recorded(
    everything: Wired, client: OpenAI, lane: str, blessed: Path | None
) -> None:
    wire = everything.wires[lane]
    wire.made = 0
    wire.say(FIRST, SECOND)
    loop = Loop(client, lane, [], stream=False)
    loop.ask(*loop.run(loop.ask({"role": "user", "content": "Rome and here?"})))
    assert wire.violations == []
    folder = folder_of(lane)
    bless = blessed == folder
    asked = [json.dumps({"path": ask.path, "body": ask.body}, indent=2, ensure_ascii=False) for ask in wire.asks]
    marked = without_chance("\0".join(asked)).split("\0")
    for number, (ask, text) in enumerate(zip(wire.asks, marked, strict=True), 1):
        compare(folder / f"{number}-ask.json", text + "\n", json.loads, bless=bless)
        compare(folder / f"{number}-answer.txt", ask.told.decode(), bless=bless)
