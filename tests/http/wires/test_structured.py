"""Structured output through every lane, asked for as clients do: by their own types.

The servers refuse what the real ones refuse: DeepSeek a schema, Groq a format beside tools or in a stream.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from openai import OpenAI
from pydantic import BaseModel

from tests.http.wires.lanes import LANES, Wired
from tests.http.wires.older_models import FORMAT_TOOL, FORMATS
from tests.support.demo_behaviours import WEATHER
from tests.support.node import NODE, modules_with
from tests.wire.servers import Calls, ModelUpstream, Says, Thinks

Json = dict[str, Any]


STRUCTURED: Final = LANES | FORMATS


class Report(BaseModel):
    """A report on the weather."""

    city: str
    degrees: int


ROME: Final = Report(city="Rome", degrees=21)
JSON: Final = '{"city": "Rome", "degrees": 21}'
INSTRUCTED_ONLY: Final = frozenset({"cohere", "deepseek", "an older model at groq"})
"""Lanes whose server holds an answer to an object only."""
FORCED: Final = frozenset({"an older claude"})
"""Lanes on which litellm forces a tool that stands for the format."""
WORDS_ALONE: Final = frozenset({"cohere", "groq, directly"})
"""Those for which litellm knows no format at all, and Groq, which holds no stream to one."""
NOT_BESIDE_TOOLS: Final = frozenset({"an older claude", "groq", "an older model at groq"})


@pytest.fixture(params=STRUCTURED)
def lane(request: pytest.FixtureRequest) -> str:
    """The name of the model, too."""
    return str(request.param)


@pytest.fixture
def wire(everything: Wired, lane: str) -> Iterator[ModelUpstream]:
    """The server behind this lane. It found nothing to refuse."""
    wire = everything.wires[lane]
    wire.say([Says(JSON)])
    yield wire
    assert wire.violations == []


def instructed_only(lane: str) -> bool:
    return lane.removesuffix(", directly") in INSTRUCTED_ONLY or lane in WORDS_ALONE


def words(body: Json) -> str:
    """What the model is told in words."""
    return json.dumps([body.get("messages"), body.get("contents"), body.get("system"), body.get("system_instruction")])


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_type_of_python_is_what_comes_back(client: OpenAI, wire: ModelUpstream, lane: str, *, stream: bool) -> None:
    settings: Json = {"model": lane, "input": "How is Rome?", "text_format": Report}
    if stream:
        with client.responses.stream(**settings) as events:
            response = events.get_final_response()
    else:
        response = client.responses.parse(**settings)
    assert response.output_parsed == ROME
    assert [item.type for item in response.output] == ["message"]
    [ask] = wire.asks
    assert "degrees" in json.dumps(ask.body)
    assert ("degrees" in words(ask.body)) == instructed_only(lane)
    assert (FORMAT_TOOL in json.dumps(ask.body)) == (lane in FORCED)


def test_the_caller_is_told_where_the_schema_is_only_an_instruction(
    client: OpenAI, wire: ModelUpstream, lane: str
) -> None:
    raw = client.responses.with_raw_response.parse(model=lane, input="How is Rome?", text_format=Report)
    [ask] = wire.asks
    warnings = json.loads(raw.headers.get("x-am-warnings", "[]"))
    result = "'text.format: json_schema' is sent to the model as an instruction: its server does not enforce it."
    assert warnings == ([result] if instructed_only(lane) else [])
    if instructed_only(lane) and lane not in WORDS_ALONE:
        assert ask.body["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize("lane", ["groq"])
def test_thoughts_on_the_way_to_a_format_are_told_though_litellm_streams_nothing(
    client: OpenAI, wire: ModelUpstream, lane: str
) -> None:
    wire.say([Thinks("Rome, then."), Says(JSON)])
    response = client.responses.parse(model=lane, input="How is Rome?", text_format=Report)
    [thought, message] = response.output
    assert thought.type == "reasoning"
    assert [part.text for part in thought.summary] == ["Rome, then."]
    assert (message.type, response.output_parsed) == ("message", ROME)
    assert response.usage is not None
    assert response.usage.output_tokens == wire.count.completion


def test_a_format_and_tools_go_together(client: OpenAI, wire: ModelUpstream, lane: str) -> None:
    """First the call, then the answer in its format."""
    wire.say([Thinks("Hm."), Calls("get_weather", '{"city": "Rome"}')], [Says(JSON)])
    carried: Json = {"include": ["reasoning.encrypted_content"], "reasoning": {"effort": "low"}}
    settings: Json = {"model": lane, "tools": [WEATHER], "text_format": Report, **carried}
    first = client.responses.parse(input="How is Rome?", **settings)
    [call] = [item for item in first.output if item.type == "function_call"]
    assert (call.name, json.loads(call.arguments)) == ("get_weather", {"city": "Rome"})
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "21 degrees"}
    history: Any = [{"role": "user", "content": "How is Rome?"}, *first.output, output]
    raw = client.responses.with_raw_response.parse(input=history, **settings)
    assert raw.parse().output_parsed == ROME
    enforced = "its server does not enforce it in a request with tools" in raw.headers.get("x-am-warnings", "")
    assert enforced == (instructed_only(lane) or lane in NOT_BESIDE_TOOLS)
    assert not any(FORMAT_TOOL in json.dumps(ask.body) for ask in wire.asks)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_any_object_is_asked_for_everywhere(client: OpenAI, wire: ModelUpstream, lane: str, *, stream: bool) -> None:
    """As the format of the server, or in words."""
    settings: Json = {"model": lane, "input": "Rome as JSON, please.", "text": {"format": {"type": "json_object"}}}
    with client.responses.with_streaming_response.create(**settings, stream=stream) as raw:
        assert raw.read().decode().replace("\\", "").count(JSON)
    [ask] = wire.asks
    reported = "is sent to the model as an instruction" in raw.headers.get("x-am-warnings", "")
    assert reported == (lane in {"anthropic", "anthropic, as messages", "an older claude"} | WORDS_ALONE)
    assert ("Answer with one JSON object" in words(ask.body)) == reported


@pytest.fixture(scope="module")
def report(everything: Wired) -> Json:
    """What the AI SDK made of every lane, by one run of node."""
    modules = modules_with("ai", "@ai-sdk/openai", "zod")
    for name in STRUCTURED:
        everything.wires[name].say([Says(JSON)])
    completed = subprocess.run(
        [NODE, str(Path(__file__).with_name("ai_sdk.mjs")), str(modules), f"{everything.url}/v1"],
        input=json.dumps(list(STRUCTURED)),
        check=True,
        capture_output=True,
        text=True,
        timeout=50,
    )
    result: Json = json.loads(completed.stdout)
    return result


@pytest.mark.needs("node", "npm:ai", "npm:@ai-sdk/openai", "npm:zod")
@pytest.mark.parametrize("name", STRUCTURED)
def test_the_ai_sdk_gets_its_object(report: Json, everything: Wired, name: str) -> None:
    """Whole, streamed, and as the last of its partial objects."""
    object_ = ROME.model_dump()
    assert report[name] == {"whole": object_, "streamed": object_, "last": object_}
    assert everything.wires[name].violations == []
