"""Tools of every type over a relay whose server knows functions only: the same cases as over a chat server."""

import json
from typing import Any

import msgspec
import pytest

from app.options import ServerOptions
from tests.support.bridge_cases import CASES, CUSTOM, FUNCTION, Case, tool_of
from tests.support.relay_turns import HELLO, Json, client_events, on_functions, plain
from tests.support.tool_tables import names, offered
from tests.support.warning_sentences import sentences
from tests.wire.consumer import check_consumed
from tests.wire.foreign_judges import judge, judge_response
from tests.wire.grammar import check
from tests.wire.servers.responses import ScriptedItem, answer, begins, call, hosted, items, message, reasoning
from tests.wire.servers.responses_like import all_at_zero, codex_backend, copilot, llama_cpp, transformers, vllm

each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
OTHER: Json = {"type": "custom", "name": "other"}
SERVERS = [all_at_zero, codex_backend, copilot, llama_cpp, transformers, vllm]


def judged(events: list[Json]) -> Json:
    """The final response, after the judges have seen all events."""
    check(events)
    judge(events)
    response = check_consumed(events).response
    judge_response(response)
    return response


def cut(case: Case, arguments: str, status: str = "completed") -> list[Json]:
    """An answer that a limit ended inside of these arguments."""
    begun = call("fc_1", "call_1", case.function, arguments)
    begun.done["status"] = status
    return answer(begun, status="incomplete", incomplete_details={"reason": "max_output_tokens"})


def described(case: Case) -> Json:
    """The tool as strict clients take it when it is repeated to them."""
    return {**tool_of(case), "description": "About."} if case.within else tool_of(case)


def shown(item: Json) -> Json:
    return {key: value for key, value in item.items() if key not in {"id", "call_id", "status"}}


@each_case
def test_a_tool_is_offered_as_the_function_that_a_chat_server_gets(case: Case) -> None:
    relayed = on_functions(described(case), OTHER)
    assert relayed.warnings == ()
    tools = {tool["name"]: tool for tool in relayed.ask["tools"]}
    assert {tool["type"] for tool in tools.values()} == {"function"}
    spec = offered(described(case)).specs[0]
    assert spec.name == case.function
    assert tools[spec.name]["parameters"] == spec.parameters
    assert tools[spec.name]["description"] == (spec.description or "")


@each_case
def test_a_call_of_its_function_becomes_its_item(case: Case) -> None:
    """Between reasoning and text, which pass as they are."""
    middle = len(case.arguments) // 2
    made = call("fc_1", "call_1", case.function, case.arguments[:middle], case.arguments[middle:])
    events = client_events(on_functions(described(case), OTHER), answer(reasoning("rs_0", "hm"), made, HELLO))
    response = judged(events)
    thought, item, said = response["output"]
    assert shown(item) == case.item
    assert (item["call_id"], item["status"]) == ("call_1", "completed")
    assert (thought["id"], said["content"][0]["text"]) == ("rs_AM-0", "Hello")
    assert item["id"].endswith("_AM-1")
    assert len(check_consumed(events).calls) == 1


@each_case
@pytest.mark.parametrize("like", SERVERS)
def test_the_servers_of_the_field_are_read_alike(case: Case, like: Any) -> None:
    made = call("fc_1", "call_1", case.function, case.arguments)
    response = judged(client_events(on_functions(described(case), OTHER), like(answer(HELLO, made))))
    assert shown(response["output"][1]) == case.item
    assert response["status"] == "completed"


@pytest.mark.parametrize("where", ["deltas and end", "end", "last response"])
def test_arguments_that_come_as_an_object_are_read(where: str) -> None:
    case = CASES["custom"]
    made = call("fc_1", "call_1", case.function, *[case.arguments] * (where == "deltas and end"))
    made.done["arguments"] = json.loads(case.arguments)
    between: list[Json] = [] if where == "end" else made.between
    events = answer(made._replace(between=between))
    if where == "last response":
        events = [*begins(), events[-1]]
    assert shown(client_events(on_functions(tool_of(case)), events)[-1]["response"]["output"][0]) == case.item


@each_case
def test_the_history_is_sent_in_functions(case: Case) -> None:
    """Declared or not, and as a chat server gets it."""
    past = [{"id": "x_AM-1", "call_id": "call_1", "status": "completed", **case.item}]
    past.append({"call_id": "call_1", **case.output})
    for tools in ([described(case), OTHER], [OTHER]):
        made, output = on_functions(*tools, history=past).ask["input"][1:]
        assert (made["type"], made["name"], made["call_id"]) == ("function_call", case.function, "call_1")
        assert "namespace" not in made
        if case.item["type"] != "function_call" or tools[0] is not OTHER:
            again = judged(
                client_events(on_functions(*tools, history=past), answer(call("fc_1", "c", *_written(made))))
            )
            assert {key: again["output"][0].get(key) for key in case.item} == case.item
        assert (output["type"], output["call_id"], output["output"]) == (
            "function_call_output",
            "call_1",
            case.output_text,
        )


def _written(made: Json) -> tuple[str, str]:
    return made["name"], made["arguments"]


@each_case
@pytest.mark.parametrize("for_codex", [False, True], ids=["any client", "Codex"])
@pytest.mark.parametrize("status", ["completed", "incomplete"])
def test_a_call_that_a_limit_cut_anywhere_is_never_told_as_whole(case: Case, status: str, *, for_codex: bool) -> None:
    """Codex's answer fails."""
    for length in range(0, len(case.arguments), 5):
        relayed = on_functions(described(case), OTHER, for_codex=for_codex)
        events = client_events(relayed, cut(case, case.arguments[:length], status))
        check(events)
        judge(events)
        assert check_consumed(events).calls == []
        assert events[-1]["response"]["status"] == ("failed" if for_codex else "incomplete")


@pytest.mark.parametrize("case", [case for name, case in CASES.items() if name != "function"])
def test_a_call_that_breaks_off_is_dropped(case: Case) -> None:
    begun = items(call("fc_1", "call_1", case.function, case.arguments))
    for kept in range(len(begun)):
        relayed = on_functions(described(case), OTHER)
        events = client_events(relayed, [*begins(), *begun[:kept]])
        events += plain(relayed.end())
        assert check_consumed(events).calls == []
        assert events[-1]["response"]["output"] == []


def test_other_calls_and_hosted_tools_of_the_server_pass_as_they_are() -> None:
    """A server's own extra fields of a plain call stay."""
    plain = call("fc_1", "call_1", "f", '{"a":1}')
    plain.done["provider_data"] = {"signature": "x"}
    search = hosted("web_search_call", "ws_2", "in_progress", "completed", action={"type": "search", "query": "q"})
    own = {"type": "web_search", "filters": {"allowed_domains": ["a.example"]}}
    relayed = on_functions(FUNCTION, own, CUSTOM)
    assert relayed.ask["tools"][-1] == own
    events = client_events(relayed, answer(plain, search, call("fc_3", "call_3", "patch", '{"input":"a"}')))
    output = events[-1]["response"]["output"]
    assert [item["type"] for item in output] == ["function_call", "web_search_call", "custom_tool_call"]
    assert (output[0]["provider_data"], output[0]["id"], output[1]["action"]["query"]) == (
        {"signature": "x"},
        "fc_AM-1",
        "q",
    )


CHOSEN: Json = {"type": "custom", "name": "patch"}


def test_calls_that_the_choice_does_not_allow_are_left_out() -> None:
    allowed = {"type": "allowed_tools", "mode": "auto", "tools": [CHOSEN]}
    relayed = on_functions(CUSTOM, FUNCTION, {**CUSTOM, "name": "other"}, tool_choice=allowed)
    calls = [
        call(f"fc_{index}", f"c{index}", name, '{"input":"a"}') for index, name in enumerate(("other", "patch", "f"))
    ]
    response = judged(client_events(relayed, answer(*calls)))
    assert [item["name"] for item in response["output"]] == ["patch"]
    assert sentences(relayed.late_warnings) == ["Calls that 'tool_choice' does not allow were left out: other, f."]


def test_a_demanded_call_that_is_missing_is_told() -> None:
    relayed = on_functions(CUSTOM, tool_choice="required")
    client_events(relayed, answer(HELLO))
    assert sentences(relayed.late_warnings) == [
        "'tool_choice' demands a tool call, and the model made none that it allows."
    ]


def test_every_response_repeats_the_tools_of_the_client() -> None:
    relayed = on_functions(CUSTOM, FUNCTION, tool_choice=CHOSEN)
    events = client_events(relayed, answer(HELLO, tools=[{"type": "function", "name": "patch"}], tool_choice="auto"))
    responses = [event["response"] for event in events if "response" in event]
    assert {json.dumps(response["tool_choice"]) for response in responses} == {json.dumps(CHOSEN)}
    assert all([tool["type"] for tool in response["tools"]] == ["custom", "function"] for response in responses)


def test_input_is_streamed_while_it_is_written_and_kept_alive() -> None:
    written = msgspec.json.encode({"input": "line 1\nline 2"}).decode()
    relayed = on_functions(CUSTOM)
    said = items(call("fc_1", "call_1", "patch", *written))
    received: list[Json] = []
    for event in [*begins(), *said[: len(said) // 2]]:
        received += plain(relayed.receive(json.loads(json.dumps(event))))
    received += plain(relayed.keep_alive())
    deltas = [event["delta"] for event in received if event["type"] == "response.custom_tool_call_input.delta"]
    assert (deltas[:3], deltas[-1]) == (["l", "i", "n"], "")


def test_items_of_a_call_without_events_are_bridged_in_the_final_response() -> None:
    """And those whose end only the final response has."""
    begun = call("fc_2", "call_2", "patch", '{"input":"b"}')
    whole = answer(HELLO, begun, call("fc_3", "call_3", "patch", '{"input":"c"}'))
    events = [event for event in whole if event.get("output_index") != 2]
    events = [
        event for event in events if (event["type"], event.get("output_index")) != ("response.output_item.done", 1)
    ]
    output = client_events(on_functions(CUSTOM), events)[-1]["response"]["output"]
    assert [shown(item) for item in output[1:]] == [
        {"type": "custom_tool_call", "name": "patch", "input": letter} for letter in "bc"
    ]


def test_actions_count_for_the_size_of_an_answer() -> None:
    small = ServerOptions(max_answer_bytes=1024 * 1024)
    relayed = on_functions({"type": "shell"}, options={"server": small})
    events = client_events(relayed, answer(call("fc_1", "call_1", "shell", *["x" * 100_000] * 12)))
    assert events[-1]["type"] == "response.failed"


def test_an_action_is_announced_before_the_next_item_begins() -> None:
    """Clients count items as they are added."""
    shell, said = CASES["shell"], message("msg_2", "a")
    together = items(call("fc_1", "call_1", "shell", shell.arguments), said)
    added = [event for event in together if event["type"] == "response.output_item.added"]
    others = [event for event in together if event not in added]
    relayed = on_functions(shell.tool)
    events = client_events(relayed, [*begins(), *added, *others, answer(ScriptedItem(*said))[-1]])
    types = [(event["type"], event["output_index"]) for event in events if "output_item" in event["type"]]
    assert types[:2] == [("response.output_item.added", 0), ("response.output_item.added", 1)]
    assert shown(events[-1]["response"]["output"][0]) == shell.item


def test_the_same_table_names_the_functions() -> None:
    long = {"type": "function", "name": "n" * 100, "parameters": FUNCTION["parameters"]}
    relayed = on_functions(long, CUSTOM)
    assert [tool["name"] for tool in relayed.ask["tools"]] == names(offered(long, CUSTOM))
    (name, _) = [tool["name"] for tool in relayed.ask["tools"]]
    response = judged(client_events(relayed, answer(call("fc_1", "c", name, "{}"))))
    assert response["output"][0]["name"] == "n" * 100
