"""How much to think, in the words of each model."""

import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.prompt.effort import known_effort
from app.providers.capabilities import ANYTHING, EFFORTS, Capabilities
from tests.support.chat_requests import ask

LEVELS = Capabilities(efforts=("low", "medium", "high"))
GPT = Capabilities(efforts=("minimal", "low", "medium", "high"))
CLAUDE = Capabilities(
    efforts=("none", "minimal", "low", "medium", "high", "xhigh"),
    thinking_tokens={"minimal": 1024, "low": 1024, "medium": 2048, "high": 4096, "xhigh": 8192},
)
UNKNOWN = "this model does not know it"
ROOM = "'max_output_tokens' leaves too little room for so much thought"


@pytest.mark.parametrize("effort", EFFORTS)
def test_a_model_of_which_nothing_is_known_gets_the_effort_that_was_asked(effort: str) -> None:
    assert known_effort(effort, ANYTHING, limit=1) == (effort, [])


@pytest.mark.parametrize(
    ("can", "asked", "limit", "effort", "warning"),
    [
        (LEVELS, "high", None, "high", None),
        (LEVELS, "max", None, "high", f"was lowered from 'max' to 'high': {UNKNOWN}"),
        (LEVELS, "xhigh", None, "high", f"was lowered from 'xhigh' to 'high': {UNKNOWN}"),
        (LEVELS, "minimal", None, "low", f"was raised from 'minimal' to 'low': {UNKNOWN}"),
        (LEVELS, "none", None, "low", f"was raised from 'none' to 'low': {UNKNOWN}"),
        (GPT, "none", None, "minimal", f"was raised from 'none' to 'minimal': {UNKNOWN}"),
        (CLAUDE, "none", 100, "none", None),
        (CLAUDE, "high", 6000, "high", None),
        (CLAUDE, "high", 4096, "medium", f"was lowered from 'high' to 'medium': {ROOM}"),
        (CLAUDE, "max", 5000, "high", f"was lowered from 'max' to 'high': {UNKNOWN}"),
        (CLAUDE, "low", 1000, "none", f"was lowered from 'low' to 'none': {ROOM}"),
        (Capabilities(efforts=("low",), thinking_tokens={"low": 10}), "low", 5, None, f": low' has no effect: {ROOM}"),
        (Capabilities(reasoning=False), "high", None, None, "' has no effect on this model"),
        (Capabilities(reasoning=False), "none", None, None, ": none' has no effect: this model has no such setting"),
        (Capabilities(efforts=()), "none", None, None, ": none' has no effect: this model has no such setting"),
        (Capabilities(efforts=()), "low", None, None, "' has no effect on this model"),
        (LEVELS, None, None, None, None),
    ],
)
def test_an_effort_is_the_nearest_below_and_the_caller_is_told(
    can: Capabilities, asked: str | None, limit: int | None, effort: str | None, warning: str | None
) -> None:
    known, warnings = known_effort(asked, can, limit=limit)
    assert known == effort
    if warning is None:
        assert warnings == []
    else:
        [reported] = warnings
        assert reported.details.startswith("'reasoning.effort")
        assert reported.details.endswith(f"{warning}.")


def test_the_ask_holds_the_effort_that_the_model_knows() -> None:
    asked = ask(ChatOptions(can=LEVELS), reasoning={"effort": "xhigh"})
    assert asked.body["reasoning_effort"] == "high"
    assert asked.warnings == [f"'reasoning.effort' was lowered from 'xhigh' to 'high': {UNKNOWN}."]


def test_an_effort_of_mid_conversation_is_lowered_too() -> None:
    update = {"type": "configuration_update", "reasoning": {"effort": "max"}}
    items = [{"type": "message", "role": "user", "content": "Hi"}, update]
    assert ask(ChatOptions(can=LEVELS), input=items).body["reasoning_effort"] == "high"
