"""What `am-proxy check --probe` says of a server's Responses: which faults clients would stumble over."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from app.providers.lookup import provider_of
from tests.support.probed_server import (
    CUT,
    FULL_USAGE,
    FUNCTION_CALLS,
    KEY,
    SAYS,
    TEXT_ANSWER,
    Server,
    probed,
    responses_script,
)
from tests.wire.script import counts, says, stops
from tests.wire.servers import Ask, Calls, Json, Says, Script, Status, Step
from tests.wire.servers.functions_only import FUNCTION_SERVERS
from tests.wire.servers.responses import answer, message


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("THE_KEY", KEY)
    return tmp_path


def changed(events: Sequence[Json], kind: str, **fields: Any) -> list[Json]:
    """The events with these fields in each whose name begins so; None takes one off."""
    return [
        {key: value for key, value in {**event, **fields}.items() if value is not None}
        if str(event["type"]).startswith(kind)
        else event
        for event in events
    ]


COMPLETED = answer(message("msg_1", "one", ", two"), usage=FULL_USAGE)


LONGER = answer(message("msg_1", "one", ", two"), usage={**FULL_USAGE, "output_tokens": 40})


REFUSES_LIMIT = Status(400, {"error": {"message": "max_output_tokens is not known"}})


SILENT_LIMIT = "it does not say that the limit cut the answer"


NO_GRAMMAR = "it makes no call of a custom tool with a grammar"


NO_CUSTOM_TOOLS = Status(400, {"error": {"message": "Custom tools with a grammar format are not supported."}})


def about_response(**fields: Any) -> list[Json]:
    """What it says, with these fields in its first response."""
    first, *others = TEXT_ANSWER
    return [{**first, "response": {**first["response"], **fields}}, *others]


def refuses_limits(ask: Ask) -> Sequence[Step]:
    """A server of Responses that knows no `max_output_tokens`."""
    others = responses_script()
    assert callable(others)
    return [REFUSES_LIMIT] if "max_output_tokens" in ask.body else others(ask)


FAULTS: list[tuple[Script, list[str]]] = [
    (responses_script(changed(TEXT_ANSWER, "response.output", output_index=None)), ["no output_index"]),
    (responses_script(changed(TEXT_ANSWER, "response.content", content_index=None)), ["no content_index"]),
    (responses_script(about_response(created_at=1.5)), ["created_at is no whole number"]),
    (responses_script(about_response(id="resp_2")), ["the response's id changes"]),
    (responses_script(changed(TEXT_ANSWER, "response.output_text.delta", item_id="msg_2")), ["ids of items change"]),
    (responses_script(COMPLETED), [SILENT_LIMIT]),
    (responses_script(LONGER), ["it does not keep to the limit of an answer"]),
    (
        responses_script(changed(TEXT_ANSWER, "response.incomplete", type="response.completed")),
        ["a status that its last event contradicts"],
    ),
    (responses_script(about_response(output=None)), ["no output in response.created"]),
    (refuses_limits, ["it refuses the limit of an answer"]),
    (responses_script(calls=[NO_CUSTOM_TOOLS]), ["it refuses custom tools with a grammar"]),
    (responses_script(calls=TEXT_ANSWER), [NO_GRAMMAR]),
    (responses_script(calls=[Status(500, {})]), [NO_GRAMMAR]),
    (responses_script(COMPLETED, TEXT_ANSWER), [SILENT_LIMIT, NO_GRAMMAR]),
    (responses_script(spaces=FUNCTION_CALLS), ["it makes no call of a tool in a namespace"]),
    (responses_script(spaces=[Status(422, {})]), ["it refuses tools in a namespace"]),
]


@pytest.mark.parametrize(("responses", "faults"), FAULTS)
def test_responses_that_clients_would_stumble_over_are_not_recommended(
    responses: Script, faults: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """llama.cpp, vLLM and transformers speak Responses, each with some of these."""
    with Server(chat=SAYS, responses=responses) as server:
        code, printed = probed(server.url, capsys, "responses")
    assert printed["Responses"].endswith(f"with usage; but {', '.join(faults)}")
    assert (code, printed["suits it"], printed["configured"]) == (0, 'via = "chat"', 'via = "responses", which works')


@pytest.mark.parametrize("usage", [None, {**FULL_USAGE, "input_tokens": 0, "output_tokens": 0, "total_tokens": 0}])
@pytest.mark.parametrize(
    ("text", "cut", "fault"),
    [
        (", two", {}, SILENT_LIMIT),
        (" to thirty", {}, "it does not keep to the limit of an answer"),
        (", two", CUT, None),
    ],
)
def test_a_server_that_counts_nothing_is_judged_by_its_last_word(
    text: str, cut: Json, fault: str | None, usage: Json | None, capsys: pytest.CaptureFixture[str]
) -> None:
    talks = answer(message("msg_1", "one", text), **cut, usage=usage)
    chat = [says("one"), says(text), stops("length" if cut else "stop")]
    with Server(chat=chat, responses=responses_script(talks)) as server:
        _, printed = probed(server.url, capsys)
    faults = [printed[title].partition("; but ")[2] or None for title in ("chat completions", "Responses")]
    assert faults == [fault, fault]


def test_responses_without_a_fault_are_recommended_where_chat_is_not_spoken_or_not_right(
    capsys: pytest.CaptureFixture[str],
) -> None:
    loose = [says("one"), stops("stop"), counts(7, 40)]
    with Server(responses=responses_script()) as alone, Server(chat=loose, responses=responses_script()) as beside:
        suits = [probed(server.url, capsys)[1]["suits it"] for server in (alone, beside)]
    assert suits == ['via = "responses"'] * 2


NATIVE = "native: it calls custom tools with a grammar, and tools in a namespace"


@pytest.mark.parametrize(
    ("responses", "tools", "setting"),
    [
        (responses_script(), NATIVE, ""),
        (
            responses_script(calls=[NO_CUSTOM_TOOLS], functions=FUNCTION_CALLS),
            "functions: it refuses custom tools with a grammar",
            ' with tools = "functions"',
        ),
        (
            responses_script(calls=TEXT_ANSWER, functions=FUNCTION_CALLS),
            f"functions: {NO_GRAMMAR}",
            ' with tools = "functions"',
        ),
        (
            responses_script(spaces=[Status(500, {})], functions=FUNCTION_CALLS),
            "functions: it makes no call of a tool in a namespace",
            ' with tools = "functions"',
        ),
    ],
)
def test_the_tools_that_it_knows_are_found_out(
    responses: Script, tools: str, setting: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with Server(chat=SAYS, responses=responses) as both, Server(responses=responses) as alone:
        printed = [probed(server.url, capsys)[1] for server in (both, alone)]
    assert [rows["its tools"] for rows in printed] == [tools] * 2
    assert [rows["suits it"] for rows in printed] == [
        f'via = "chat"; or via = "responses"{setting}, for tools that it runs itself',
        f'via = "responses"{setting}',
    ]
    assert "; but " not in printed[0]["Responses"]


@pytest.mark.parametrize(
    ("flags", "configured"),
    [
        ((), 'via = "responses", which works, but agents such as Codex need tools = "functions"'),
        (("--provider", "vllm"), 'via = "responses" with provider = "vllm", which works'),
    ],
)
def test_a_server_that_should_get_functions_and_does_not_is_named(
    flags: tuple[str, ...], configured: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with Server(responses=responses_script(calls=[NO_CUSTOM_TOOLS], functions=FUNCTION_CALLS)) as server:
        code, printed = probed(server.url, capsys, "responses", *flags)
    assert (code, printed["configured"]) == (0, configured)


@pytest.mark.parametrize("name", FUNCTION_SERVERS)
def test_servers_of_functions_are_found_out(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As their provider files say. They are scripted to call whatever function they are offered."""
    server = FUNCTION_SERVERS[name]()
    server.may_violate = True
    server.scripts = (
        lambda ask: server.streamed([Calls("answer", '{"input":"yes"}') if "tools" in ask.body else Says("one")]),
    )
    with server:
        _, printed = probed(server.url, capsys, "responses")
    assert printed["its tools"].startswith("functions: it refuses custom tools")
    assert provider_of(name).responses.functions_only
