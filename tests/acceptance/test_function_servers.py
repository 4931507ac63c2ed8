"""Every type of tool on servers whose Responses API knows only functions: whole loops with the openai package.

The servers do the checking: see `tests/wire/servers/functions_only.py`.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Final, NamedTuple

import pytest
from openai import APIStatusError, OpenAI

from app.compaction.summary_text import INTRODUCTION, SUM_UP
from app.settings import Model, Secret, Settings, Upstream
from tests.support.bridge_cases import CASES, Case, tool_of
from tests.support.serving import serving
from tests.wire.event_stream import events_of, judged
from tests.wire.foreign_judges import judge_response
from tests.wire.servers import KEY, Calls, Says, Thinks
from tests.wire.servers.functions_only import FUNCTION_SERVERS, FunctionsUpstream

Json = dict[str, Any]

LAST: Final = {"response.completed", "response.incomplete", "response.failed"}
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


class Field(NamedTuple):
    """One server of ours, and what is behind it by the provider's name, which is the model's public name as well."""

    url: str
    servers: dict[str, FunctionsUpstream]


@pytest.fixture(scope="module")
def field() -> Iterator[Field]:
    with ExitStack() as stack:
        servers = {name: stack.enter_context(kind().say()) for name, kind in FUNCTION_SERVERS.items()}
        upstreams = {
            name: Upstream(via="responses", provider=name, base_url=server.url, api_key=Secret(KEY))
            for name, server in servers.items()
        }
        models = {name: Model(upstream=name, name=servers[name].model) for name in servers}
        models |= {f"{name}, native": Model(upstream=name, tools="native") for name in servers}
        yield Field(stack.enter_context(serving(Settings(upstreams=upstreams, models=models))), servers)


@pytest.fixture(params=FUNCTION_SERVERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def server(field: Field, name: str) -> Iterator[FunctionsUpstream]:
    """It found nothing to refuse."""
    yield field.servers[name]
    assert field.servers[name].violations == []


@pytest.fixture
def client(field: Field) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{field.url}/v1", api_key="any", max_retries=0) as client:
        yield client


def script(server: FunctionsUpstream, case: Case) -> None:
    server.say([Thinks("Hm."), Says("Let me see."), Calls(case.function, case.arguments)], [Says("Done.")])


def asks(name: str, case: Case, history: list[Any]) -> Json:
    """Codex's settings."""
    return {
        "model": name,
        "input": history,
        "tools": [{**tool_of(case), "description": "About."} if case.within else tool_of(case), OTHER],
        "tool_choice": "auto",
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }


OTHER: Final[Json] = {
    "type": "custom",
    "name": "other",
    "format": {"type": "grammar", "syntax": "lark", "definition": "start: /a/"},
}
QUESTION: Final = {"role": "user", "content": "Do it"}


def checked(output: list[Json], case: Case) -> Json:
    """The call, and that it is as the client knows it."""
    thought, said, made = output
    assert (thought["type"], said["content"][0]["text"]) == ("reasoning", "Let me see.")
    assert {key: made[key] for key in case.item} == case.item
    return {"call_id": made["call_id"], **case.output}


def check_asks(server: FunctionsUpstream, case: Case) -> None:
    first, second = [ask.body for ask in server.asks]
    assert [tool["name"] for tool in first["tools"]] == [case.function, "other"]
    assert second["input"][: len(first["input"])] == first["input"], "prompt caches live on it"
    assert second["tools"][: len(first["tools"])] == first["tools"], "the same"
    made, output = second["input"][-2:]
    assert (made["name"], made["arguments"]) == (case.function, case.arguments)
    assert (output["type"], output["output"]) == ("function_call_output", case.output_text)


@each_case
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_loop(server: FunctionsUpstream, name: str, case: Case, client: OpenAI, *, stream: bool) -> None:
    script(server, case)
    output = _answer(client, asks(name, case, [QUESTION]), stream=stream)
    output = _answer(client, asks(name, case, [QUESTION, *output, checked(output, case)]), stream=stream)
    assert output[-1]["content"][0]["text"] == "Done."
    check_asks(server, case)


def _answer(client: OpenAI, fields: Json, *, stream: bool) -> list[Json]:
    """The output, which judges have read."""
    with client.responses.with_streaming_response.create(**fields, stream=stream) as answer:
        body = answer.read()
    response = json.loads(body) if not stream else events_of(body)[-1]["response"]
    if stream:
        judged(events_of(body))
    judge_response(response)
    output: list[Json] = response["output"]
    return output


@each_case
def test_a_loop_over_a_websocket(server: FunctionsUpstream, name: str, case: Case, client: OpenAI) -> None:
    """The second turn is only what is new."""
    script(server, case)
    with client.responses.connect() as connection:
        first = _turn(connection, asks(name, case, [QUESTION]))
        output = checked(first["output"], case)
        second = _turn(connection, asks(name, case, [output]) | {"previous_response_id": first["id"]})
    assert second["output"][-1]["content"][0]["text"] == "Done."
    check_asks(server, case)


def _turn(connection: Any, fields: Json) -> Json:
    connection.send({"type": "response.create", **fields})
    for event in connection:
        if event.type in LAST:
            response: Json = event.response.model_dump(mode="json", exclude_unset=True)
            return response
    raise AssertionError("the connection was closed")


@pytest.mark.parametrize("asked", ["at its own address", "by a trigger"])
def test_a_conversation_of_calls_is_summed_up_and_goes_on(
    server: FunctionsUpstream, name: str, client: OpenAI, asked: str
) -> None:
    """Which has tools, and must not call one for it."""
    server.say([Says("A summary.")], [Says("Done.")])
    history: list[Any] = [QUESTION]
    for number, case in enumerate(CASES.values()):
        history += [{"call_id": f"c{number}", **case.item}, {"call_id": f"c{number}", **case.output}]
    given = asks(name, CASES["custom"], history)
    if asked == "by a trigger":
        output = _answer(client, {**given, "input": [*history, {"type": "compaction_trigger"}]}, stream=True)
        assert [item["type"] for item in output] == ["compaction"]
        window = [QUESTION, *output]
    else:
        body = {key: given[key] for key in ("model", "input", "tools")}
        window = client.post("/responses/compact", body=body, cast_to=object)["output"]  # type: ignore[index]
    output = _answer(client, asks(name, CASES["custom"], [*window, QUESTION]), stream=False)
    assert output[-1]["content"][0]["text"] == "Done."
    first, second = [ask.body for ask in server.asks]
    assert len(first["input"]) == len(history) + 1
    assert first["tool_choice"] == "none"
    assert first["input"][-1]["content"] == SUM_UP
    assert [item["content"] for item in second["input"][1:]] == [f"{INTRODUCTION}\n\nA summary.", QUESTION["content"]]


def test_the_answer_to_a_count_is_an_estimate(server: FunctionsUpstream, name: str, client: OpenAI) -> None:
    """None of them counts."""
    server.say([Says("Hi")])
    tools: Any = [OTHER, {"type": "namespace", "name": "X", "description": "d", "tools": [CASES["function"].tool]}]
    assert client.responses.input_tokens.count(model=name, input="Hi", tools=tools).input_tokens > 20
    assert server.asks == []


@pytest.mark.parametrize("kind", ["custom", "function in a namespace", "tool_search", "local_shell", "apply_patch"])
def test_without_functions_it_refuses(field: Field, name: str, client: OpenAI, kind: str) -> None:
    """So the loops above are no accident."""
    server, case = field.servers[name], CASES[kind]
    server.may_violate = True
    with pytest.raises(APIStatusError) as raised:
        client.responses.create(**asks(f"{name}, native", case, [QUESTION]))
    assert raised.value.status_code == (502 if (name, kind) == ("ollama", "function in a namespace") else 400)
    assert server.violations
    server.violations.clear()
    server.may_violate = False
