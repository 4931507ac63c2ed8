"""Gemini up to 2.5, whose calls have no ids, and the reasons with which any Gemini ends."""

from collections.abc import Iterator
from typing import Any, ClassVar, Final

import pytest
from openai import OpenAI

from app.providers.gemini import in_steps
from app.providers.lookup import provider_of
from app.providers.provider import AskFacts
from app.upstreams.litellm_ask import arguments
from tests.support.provider_answers import answered, essentials
from tests.support.provider_lanes import Lane, Wired, wired
from tests.support.servers import Answer, Calls, Says, Thinks
from tests.support.servers.gemini import GeminiUpstream, answers
from tests.support.servers.steps import Ask, Json
from tests.support.tool_loops import Loop

pytestmark = pytest.mark.xdist_group("litellm")


class OlderGeminiUpstream(GeminiUpstream):
    """The same server, asked for a Gemini 2.5: it signs nothing, and refuses ids in calls and responses."""

    model = "gemini-2.5-flash"
    roles: ClassVar = ("functionCall", "function_call", "functionResponse", "function_response")

    def _parts(self, answer: Answer) -> list[Json]:
        return [
            {key: value for key, value in part.items() if key != "thoughtSignature"} for part in super()._parts(answer)
        ]

    def faults(self, ask: Ask) -> list[str]:
        """Refuse ids, and what all refuse but for signatures."""
        held = [
            part.get(role) or {} for content in ask.body["contents"] for part in content["parts"] for role in self.roles
        ]
        found = [f"Unknown name 'id' in {part}" for part in held if "id" in part]
        return found + [fault for fault in super().faults(ask) if "signature" not in fault and "signed" not in fault]


ROME: Final = '{"city": "Rome"}'
TWINS: Final[dict[str, tuple[Answer, list[list[str]]]]] = {
    "three equal calls": ([Thinks("Hm."), *[Calls("get_weather", "{}")] * 3], [["{}"], ["{}"], ["{}"]]),
    "equal but for white space, and another between": (
        [Says("Look."), *[Calls("get_weather", call) for call in (ROME, "{}", '{"city":"Rome"}')]],
        [[ROME, "{}"], [ROME]],
    ),
    "no two equal": ([Calls("get_weather", ROME), Calls("get_weather", "{}")], [[ROME, "{}"]]),
}  # fmt: skip


@pytest.fixture(scope="module")
def older() -> Iterator[Wired]:
    """A server before a Gemini 2.5."""
    with wired({"older": Lane(OlderGeminiUpstream, {"via": "litellm", "provider": "gemini"}, {})}) as older:
        yield older


@pytest.mark.parametrize("forgets", [False, True], ids=["sealed", "not sealed"])
@pytest.mark.parametrize(("answer", "steps"), TWINS.values(), ids=TWINS)
def test_equal_calls_of_one_step_go_back_with_all_their_outputs(
    older: Wired, answer: Answer, steps: list[list[str]], *, forgets: bool
) -> None:
    wire = older.wires["older"]
    wire.say(answer, [Says("Fine.")])
    with OpenAI(base_url=f"{older.url}/v1", api_key="any", max_retries=0) as client:
        loop = Loop(client, "older", [], forgets=forgets)
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


@pytest.mark.parametrize(
    ("provider", "model", "drops"),
    [
        ("gemini", "gemini-2.5-pro", True),
        ("gemini", "gemini-2.0-flash", True),
        ("gemini", "gemini-3-pro-preview", False),
        ("gemini", "gemini-flash-latest", False),
        ("gemini", "my-tuned-model", True),
        ("vertex_ai", "gemini-2.5-flash", True),
        ("vertex_ai_beta", "gemini-2.5-flash", True),
        ("vertex_ai", "1234567890", True),
        ("vertex_ai", "claude-sonnet-4-5", False),
        ("vertex_ai", "mistral-large", False),
        ("openai", "gemini-2.5-flash", False),
    ],
)
def test_only_the_older_gemini_is_told_equal_calls_in_steps(provider: str, model: str, *, drops: bool) -> None:
    function = {"name": "f", "arguments": "{}"}
    messages: list[Json] = [
        {"role": "assistant", "content": None, "tool_calls": [{"id": each, "function": function} for each in "ab"]},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
    ]
    settings: Json = {"messages": messages}
    if (prepare := provider_of(provider).translation_of(model).prepare) is not None:
        settings = prepare(settings, AskFacts({"model": model, **settings}))
    assert ([message["role"] for message in settings["messages"]] == ["assistant", "tool"] * 2) is drops


def test_steps_take_no_longer_than_the_conversation() -> None:
    """Each call is compared with those of its group by one look."""
    calls = [{"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for n in range(3_000)]
    outputs = [{"role": "tool", "tool_call_id": call["id"], "content": "x"} for call in calls]
    messages: list[Json] = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "a", "tool_calls": calls},
        *outputs,
    ]
    steps = in_steps([*messages, {"role": "user", "content": "And?"}])
    assert len(steps) == 6_002
    assert [message["role"] for message in steps[:4]] == ["user", "assistant", "tool", "assistant"]
    assert [message.get("content") for message in steps[1:4]] == ["a", "x", None]


@pytest.mark.parametrize("model", ["gemini-2.5-flash", "gemini-3-pro-preview"])
def test_a_step_of_many_calls_is_told_in_parts_that_lose_nothing(model: str) -> None:
    """Otherwise litellm would compare each call with all before it: eight thousand took it twenty seconds."""
    numbers = range(150)
    calls: list[Json] = [
        {"id": f"c{n}", "type": "function", "function": {"name": "f", "arguments": f'{{"n":{n}}}'}} for n in numbers
    ]
    outputs: list[Json] = [{"role": "tool", "tool_call_id": f"c{n}", "content": f"o{n}"} for n in numbers]
    user: Json = {"role": "user", "content": "Hi"}
    messages = [user, {"role": "assistant", "content": "a", "tool_calls": calls}, *outputs, user]
    given = arguments("gemini", {"model": model, "messages": messages}, base_url=None)["messages"]
    parts = [slice(0, 64), slice(64, 128), slice(128, 150)]
    assert given == [
        user,
        *(
            entry
            for number, part in enumerate(parts)
            for entry in (
                {"role": "assistant", "content": None if number else "a", "tool_calls": calls[part]},
                *outputs[part],
            )
        ),
        user,
    ]
    short = [user, {"role": "assistant", "content": "a", "tool_calls": calls[:64]}, *outputs[:64]]
    assert arguments("gemini", {"model": model, "messages": short}, base_url=None)["messages"] == short


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
def test_the_reason_of_the_end_is_told_as_gemini_gave_it(older: Wired, steps: list[Any], expected: Json) -> None:
    """Blocked, or failed: never completed with nothing said."""
    assert essentials(answered(older, "older", steps)) == expected
