"""Gemini up to 2.5, whose calls have no ids, and the reasons with which any Gemini ends."""

from typing import Any, Final

import pytest
from openai import OpenAI

from tests.http.wires.answers import answered, essentials
from tests.http.wires.lanes import Wired
from tests.support.tool_loops import Loop
from tests.wire.servers import Answer, Calls, Says, Thinks
from tests.wire.servers.gemini import answers
from tests.wire.servers.steps import Json

OLDER: Final = "older gemini"
ROME: Final = '{"city": "Rome"}'
TWINS: Final[dict[str, tuple[Answer, list[list[str]]]]] = {
    "three equal calls": ([Thinks("Hm."), *[Calls("get_weather", "{}")] * 3], [["{}"], ["{}"], ["{}"]]),
    "equal but for white space, and another between": (
        [Says("Look."), *[Calls("get_weather", call) for call in (ROME, "{}", '{"city":"Rome"}')]],
        [[ROME, "{}"], [ROME]],
    ),
    "no two equal": ([Calls("get_weather", ROME), Calls("get_weather", "{}")], [[ROME, "{}"]]),
}  # fmt: skip


@pytest.mark.parametrize("forgets", [False, True], ids=["sealed", "not sealed"])
@pytest.mark.parametrize(("answer", "steps"), TWINS.values(), ids=TWINS)
def test_equal_calls_of_one_step_go_back_with_all_their_outputs(
    everything: Wired, client: OpenAI, answer: Answer, steps: list[list[str]], *, forgets: bool
) -> None:
    wire = everything.wires[OLDER]
    wire.say(answer, [Says("Fine.")])
    loop = Loop(client, OLDER, [], forgets=forgets)
    last = loop.ask(*loop.run(loop.ask({"role": "user", "content": "Rome?"})))
    assert (last.output_text, wire.violations) == ("Fine.", [])
    contents = wire.asks[-1].body["contents"]
    assert [_called(content) for content in contents if _called(content)] == [
        [{} if call == "{}" else {"city": "Rome"} for call in calls] for calls in steps
    ]
    answered = sum(1 for content in contents for part in content["parts"] if "function_response" in part)
    assert answered == sum(map(len, steps))


def _called(content: Json) -> list[Any]:
    calls = [part.get("functionCall") or part.get("function_call") for part in content["parts"]]
    return [call.get("args") or {} for call in calls if call]


HI: Final = {"text": "Hi"}
REASONS: Final[dict[str, tuple[list[Any], Json]]] = {
    "STOP": ([answers(HI), answers(HI, finish="STOP")], {"status": "completed", "output": [{"text": "HiHi"}]}),
    "MODEL_ARMOR": ([answers(HI), answers(finish="MODEL_ARMOR")], {"status": "incomplete", "output": [{"text": "Hi"}]}),
    "SAFETY": ([answers(HI), answers(finish="SAFETY")], {"status": "incomplete", "output": [{"text": "Hi"}]}),
    "MALFORMED_FUNCTION_CALL": (
        [answers(HI), answers(finish="MALFORMED_FUNCTION_CALL")],
        {"status": "failed", "output": [{"text": "Hi"}], "error": "server_error"},
    ),
    "MALFORMED_FUNCTION_CALL before anything": (
        [answers(finish="MALFORMED_FUNCTION_CALL")],
        {"status": None, "output": [], "error": "upstream_error"},
    ),
    "a reason in the text": (
        [answers({"text": '"finishReason": "MODEL_ARMOR"'}), answers(HI, finish="STOP")],
        {"status": "completed", "output": [{"text": '"finishReason": "MODEL_ARMOR"Hi'}]},
    ),
}


@pytest.mark.parametrize(("steps", "expected"), REASONS.values(), ids=REASONS)
def test_the_reason_of_the_end_is_told_as_gemini_gave_it(everything: Wired, steps: list[Any], expected: Json) -> None:
    """Blocked, or failed: never completed with nothing said."""
    assert essentials(answered(everything, OLDER, steps)) == expected
