"""A conversation that goes on at another provider: its thoughts and ids are foreign there, and its calls are open."""

from typing import Any, Final

import pytest
from openai import OpenAI

from tests.providers.lanes import LANES, Wired
from tests.support.tool_loops import Loop
from tests.wire.servers import Answer, Calls, Says, Thinks

FIRST: Final[Answer] = [Thinks("Rome first."), Calls("get_weather", '{"city": "Rome"}')]
SECOND: Final[Answer] = [Says("Fine.")]


HERE: Final = ("openai, directly", "deepseek, directly", "anthropic", "anthropic, as messages", "gemini")


@pytest.mark.parametrize(("here", "there"), [(here, there) for here in HERE for there in LANES if there != here])
def test_a_loop_that_began_elsewhere_goes_on(everything: Wired, client: OpenAI, here: str, there: str) -> None:
    everything.wires[here].say(FIRST)
    wire = everything.wires[there]
    wire.say(SECOND)
    history: list[Any] = []
    first = Loop(client, here, history).ask({"role": "user", "content": "Rome?"})
    elsewhere = Loop(client, there, history)
    assert elsewhere.ask(*elsewhere.run(first)).output_text == "Fine."
    assert (len(wire.asks), wire.violations) == (1, [])


THIRD: Final[Answer] = [Thinks("And Oslo?"), Calls("get_weather", '{"city": "Oslo"}')]
FOURTH: Final[Answer] = [Says("Fine there, too.")]


@pytest.mark.parametrize("lane", LANES)
def test_who_comes_back_finds_all_that_was_left_there(everything: Wired, client: OpenAI, lane: str) -> None:
    """What another provider said stands between, and changes nothing of what this one gets back."""
    elsewhere = "deepseek, directly" if lane == "gemini" else "gemini"
    here, there = everything.wires[lane], everything.wires[elsewhere]
    here.say(FIRST, THIRD, FOURTH)
    there.say(SECOND)
    history: list[Any] = []
    loop = Loop(client, lane, history)
    first = loop.ask({"role": "user", "content": "Rome?"})
    other = Loop(client, elsewhere, history)
    other.ask(*other.run(first))
    third = loop.ask({"role": "user", "content": "And Oslo?"})
    assert loop.ask(*loop.run(third)).output_text == "Fine there, too."
    assert (len(here.asks), here.violations, there.violations) == (3, [], [])
