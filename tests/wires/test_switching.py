"""A conversation that goes on at another provider: its thoughts and ids are foreign there, and its calls are open."""

from typing import Any, Final

import pytest
from openai import OpenAI

from tests.wires import Answer, Calls, Says, Thinks
from tests.wires.lanes import LANES, Wired
from tests.wires.test_loops import Loop

pytestmark = pytest.mark.xdist_group("litellm")

FIRST: Final[Answer] = [Thinks("Rome first."), Calls("get_weather", '{"city": "Rome"}')]
SECOND: Final[Answer] = [Says("Fine.")]


HERE: Final = ("openai", "deepseek", "mistral", "vllm", "anthropic", "gemini", "openrouter")


@pytest.mark.parametrize(("here", "there"), [(here, there) for here in HERE for there in LANES if here != there])
def test_a_loop_that_began_elsewhere_goes_on(everything: Wired, client: OpenAI, here: str, there: str) -> None:
    everything.wires[here].say(FIRST)
    wire = everything.wires[there]
    wire.say(SECOND)
    history: list[Any] = []
    first = Loop(client, here, history, stream=False).ask({"role": "user", "content": "Rome?"})
    elsewhere = Loop(client, there, history, stream=False)
    assert elsewhere.ask(*elsewhere.run(first)).output_text == "Fine."
    assert (len(wire.asks), wire.violations) == (1, [])
