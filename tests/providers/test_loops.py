"""A tool loop of several steps through every lane, in the wire format of its provider, driven by the openai package.

The servers do the checking (`tests/wire/servers/model.py`): an ask that lost or altered what they want back is refused.
"""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import pytest
from openai import OpenAI
from openai.types.responses import Response, ResponseFunctionToolCall, ResponseReasoningItem

from tests.providers.lanes import LANES, Wired
from tests.support.tool_loops import Json, Loop, calls_of
from tests.wire.servers import Answer, Calls, Hides, ModelUpstream, Says, Thinks

# thoughts with what is easily lost on the way: accents, line separators, white space at both ends
FIRST: Final[Answer] = [
    Thinks(" Two cités.\u2028Rome first.\n"),
    Hides("Nobody may read this."),
    Says("Let me look."),
    Calls("get_weather", '{"city":  "Rome"}'),
    Calls("get_weather", '{"city": "Zürich"}'),
]
SECOND: Final[Answer] = [
    Thinks("And the third?"),
    Calls("get_weather", '{"city": "Oslo"}'),
    Calls("get_weather", "{}"),
]
THIRD: Final[Answer] = [Thinks("All fine."), Says("It is fine everywhere.")]
FOURTH: Final[Answer] = [Says("You are welcome.")]


@pytest.fixture(params=LANES)
def lane(request: pytest.FixtureRequest) -> str:
    """The name of the model, too."""
    return str(request.param)


@pytest.fixture
def wire(everything: Wired, lane: str) -> Iterator[ModelUpstream]:
    """The server behind this lane. It found nothing to refuse."""
    wire = everything.wires[lane]
    wire.say(FIRST, SECOND, THIRD, FOURTH)
    yield wire
    assert wire.violations == []


@pytest.fixture
def forgiving(everything: Wired, lane: str) -> Iterator[ModelUpstream]:
    """The same for a client that forgets."""
    wire = everything.wires[lane]
    wire.say(FIRST, SECOND, THIRD)
    wire.forgives = True
    yield wire
    wire.forgives = False


def thoughts_of(response: Response) -> str:
    items = [item for item in response.output if isinstance(item, ResponseReasoningItem)]
    return "".join(part.text for item in items for part in item.summary)


def lane_error(answer: Answer, lane: str) -> str:
    """What a client is told of this answer's thoughts. OpenAI's chat completions tell none."""
    return "" if lane.startswith("openai") else "".join(word.text for word in answer if isinstance(word, Thinks))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_tool_loop_brings_back_all_that_the_provider_needs(
    wire: ModelUpstream,
    lane: str,
    client: OpenAI,
    stream: bool,
) -> None:
    loop = Loop(client, lane, [], stream)

    first = loop.ask({"role": "user", "content": "Rome and Zürich?"})
    second = loop.ask(*loop.run(first))
    third = loop.ask(*loop.run(second))
    fourth = loop.ask({"role": "user", "content": "Thanks."})

    answers = [(FIRST, first), (SECOND, second), (THIRD, third), (FOURTH, fourth)]
    assert [thoughts_of(response) for _, response in answers] == [lane_error(answer, lane) for answer, _ in answers]
    assert [response.output_text for _, response in answers] == [
        "Let me look.",
        "",
        "It is fine everywhere.",
        "You are welcome.",
    ]
    called = [[(call.name, city_of(call)) for call in calls_of(response)] for _, response in answers]
    assert called == [
        [("get_weather", "Rome"), ("get_weather", "Zürich")],
        [("get_weather", "Oslo"), ("get_weather", "")],
        [],
        [],
    ]
    assert all(len(call.call_id) <= 64 for _, response in answers for call in calls_of(response))
    assert [usage_of(response) for _, response in answers] == [tuple(wire.count)] * 4
    assert len(wire.asks) == 4, "nothing is asked behind the client's back"
    for ask, next_ask in pairwise(wire.asks):  # prompt caches live on it
        assert in_order(next_ask.body).startswith(in_order(ask.body))


ODD: Final[dict[str, Answer]] = {
    "only what nobody may read": [Hides("Nobody may read this."), Calls("get_weather", '{"city": "Rome"}')],
    "several thoughts in a row": [
        Thinks("Rome"),
        Thinks(" first."),
        Hides("Nobody may read this."),
        Thinks("Then Oslo."),
        Hides("Nor this."),
        Calls("get_weather", '{"city": "Rome"}'),
    ],
    "thoughts and no call": [Thinks("Nothing to look up."), Hides("Nor this."), Says("Hello.")],
    "a call alone": [Calls("get_weather", '{"city": "Rome"}')],
    "the same call twice": [Thinks("Twice."), *[Calls("get_weather", '{"city": "Rome"}')] * 2],
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("lane", ["anthropic", "anthropic, as messages", "gemini", "openrouter, directly"])
def test_whatever_was_thought_comes_back_in_its_order(wire: ModelUpstream, lane: str, client: OpenAI, odd: str) -> None:
    wire.say(ODD[odd], [Says("Fine.")])
    loop = Loop(client, lane, [])
    first = loop.ask({"role": "user", "content": "Rome?"})
    assert len(calls_of(first)) == sum(isinstance(word, Calls) for word in ODD[odd])
    goes_on = loop.run(first) or [{"role": "user", "content": "And now?"}]
    assert loop.ask(*goes_on).output_text == "Fine."
    assert len(wire.asks) == 2


def test_a_client_that_forgets_all_thoughts_is_served_all_the_same(
    forgiving: ModelUpstream, lane: str, client: OpenAI
) -> None:
    """Some drop every reasoning item. The model is the poorer for it, but no provider may refuse to go on."""
    loop = Loop(client, lane, [], forgets=True)
    second = loop.ask(*loop.run(loop.ask({"role": "user", "content": "Rome and Zürich?"})))
    assert loop.ask(*loop.run(second)).output_text == "It is fine everywhere."
    assert (len(forgiving.asks), forgiving.violations) == (3, [])


def in_order(body: Json) -> str:
    """The tools and the conversation, as they are read."""
    messages = body["contents" if "contents" in body else "messages"]
    text = json.dumps([body.get("system"), body["tools"], *messages]).removesuffix("]")
    return text.replace(', "cache_control": {"type": "ephemeral"}', "")  # it marks a place, and is not read


def city_of(call: ResponseFunctionToolCall) -> str:
    return str(json.loads(call.arguments).get("city", ""))


def usage_of(response: Response) -> tuple[int, int, int, int]:
    usage = response.usage
    assert usage is not None
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens
    return (
        usage.input_tokens,
        usage.input_tokens_details.cached_tokens,
        usage.output_tokens,
        usage.output_tokens_details.reasoning_tokens,
    )
