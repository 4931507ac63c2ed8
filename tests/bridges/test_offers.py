"""Which tools a turn offers, wherever the request holds them, and how they are distinguished."""

import time
from typing import Any

import pytest

from app.bridges.choice import Choice
from app.bridges.table import BridgeTable
from app.emitter.deltas import Stopped
from tests.support.tool_tables import called, names, offered, parsed, refused, request_of
from tests.support.warning_sentences import sentences

F: dict[str, Any] = {"type": "function", "name": "f"}
G: dict[str, Any] = {"type": "function", "name": "g"}
EXEC: dict[str, Any] = {"type": "custom", "name": "exec"}
LATER: dict[str, Any] = {**F, "defer_loading": True}
SEARCH: dict[str, Any] = {"type": "tool_search", "execution": "client"}
END = Stopped("end")


def space(name: str, *tools: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A namespace of these tools."""
    return {"type": "namespace", "name": name, "tools": list(tools), **more}


def added(*tools: dict[str, Any]) -> dict[str, Any]:
    """Tools added in the input."""
    return {"type": "additional_tools", "role": "developer", "tools": list(tools)}


def found(*tools: dict[str, Any]) -> dict[str, Any]:
    """Tools found by a search."""
    return {"type": "tool_search_output", "call_id": "s", "execution": "client", "tools": list(tools)}


@pytest.mark.parametrize(
    ("tools", "items", "on_offer"),
    [
        pytest.param([space("X", F, EXEC), G], [], ["X__f", "X__exec", "g"], id="a namespace in its place"),
        pytest.param([], [added(F), added(space("X", G))], ["f", "X__g"], id="added in the input"),
        pytest.param([G], [found(F)], ["g", "f"], id="found on the way"),
        pytest.param([LATER, SEARCH, G], [], ["tool_search", "g"], id="to be found later"),
        pytest.param([LATER, SEARCH, G], [found(LATER)], ["tool_search", "g", "f"], id="found, behind the others"),
        pytest.param([SEARCH], [found(space("X", LATER)), found(LATER)], ["tool_search", "X__f", "f"], id="two finds"),
        pytest.param([SEARCH], [found(F, G), found(F)], ["tool_search", "f", "g"], id="found twice"),
        pytest.param([F], [added(F), found(F)], ["f"], id="the same tool everywhere"),
        pytest.param([], [added(SEARCH, LATER)], ["tool_search"], id="added, to be found later"),
        pytest.param([LATER, G], [], ["f", "g"], id="nobody can search"),
        pytest.param(
            [{"type": "custom", "name": "c", "defer_loading": True}, SEARCH], [], ["tool_search"], id="custom"
        ),
    ],
)
def test_tools_join_in_the_order_in_which_they_appear(tools: list[Any], items: list[Any], on_offer: list[str]) -> None:
    """So that what was sent before stays as it was, for prompt caches."""
    table = offered(*tools, items=items)
    assert names(table) == on_offer
    assert sentences(table.warnings) == []


def test_a_search_at_the_apis_own_server_is_left_out_and_nothing_waits_for_it() -> None:
    """Here nobody runs it, so all tools are offered at once."""
    for search in ({"type": "tool_search"}, {"type": "tool_search", "execution": "server"}):
        table = offered(LATER, search)
        assert names(table) == ["f"]
        assert sentences(table.warnings) == [
            "tools[1] was left out: its type 'tool_search' cannot be offered to this model."
        ]


@pytest.mark.parametrize(
    ("tools", "items", "warning"),
    [
        ([{"type": "shell", "environment": {"type": "container_auto"}}], [], "tools[0] was left out: its type 'shell'"),
        ([space("X", F, {"type": "mcp"})], [], "tools[0].tools[1] was left out: its type 'mcp'"),
        ([space("X", space("Y", F))], [], "tools[0].tools[0] was left out: its type 'namespace'"),
        ([], [added({"type": "web_search"})], "input[1].tools[0] was left out: its type 'web_search'"),
    ],
)
def test_what_cannot_be_carried_is_left_out_with_a_warning(tools: list[Any], items: list[Any], warning: str) -> None:
    """By its path, wherever it stands."""
    assert sentences(offered(*tools, items=items).warnings) == [f"{warning} cannot be offered to this model."]


@pytest.mark.parametrize(
    ("tools", "items", "path"),
    [
        ([EXEC, EXEC], [], "tools[1]"),
        ([space("X", F), space("X", G, F)], [], "tools[1].tools[1]"),
        ([{"type": "shell"}, {"type": "shell"}], [], "tools[1]"),
        ([], [added(F, F)], "input[1].tools[1]"),
    ],
)
def test_two_tools_that_the_client_calls_the_same_are_refused(tools: list[Any], items: list[Any], path: str) -> None:
    """Nobody could say which of them a call means."""
    assert refused(*tools, items=items) == ("invalid_value", path)


def test_tools_that_would_come_to_one_name_are_told_apart() -> None:
    """The client's own function keeps its name, and each call comes back as what was called."""
    own = {"type": "function", "name": "X__f"}
    table = offered(space("X", F), {"type": "custom", "name": "X__f"}, own, {"type": "shell"}, {**F, "name": "shell"})
    assert names(table) == ["X__f_76a5624e", "X__f_7dd10629", "X__f", "shell_09451317", "shell"]
    items = [called(table, name, "{}", stopped=END)[-1]["response"]["output"][0] for name in names(table)]
    calls = [(item["type"], item.get("namespace"), item.get("name")) for item in items]
    assert calls == [
        ("function_call", "X", "f"),
        ("custom_tool_call", None, "X__f"),
        ("function_call", None, "X__f"),
        ("shell_call", None, None),
        ("function_call", None, "shell"),
    ]


def test_a_past_call_is_never_told_as_one_of_another_tool() -> None:
    """A custom tool that is gone is not the function that has its name now."""
    call = {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": "x"}
    past = offered(F).read_call(parsed(call))
    assert past is not None
    assert past.name != "f"


@pytest.mark.parametrize(
    ("tools", "expected"),
    [([F], "f"), ([F, space("f", F)], "f__f"), ([space("f", F)], "f__f"), ([G], "f__f")],
    ids=["the function", "both", "the namespace", "neither"],
)
def test_a_function_that_is_its_own_namespace_is_that_function(tools: list[Any], expected: str) -> None:
    """OpenAI names a function so that was found by a search, and Pydantic AI writes it into every history."""
    call = {"type": "function_call", "call_id": "c", "name": "f", "namespace": "f", "arguments": "{}"}
    past = offered(SEARCH, items=[found(*tools)]).read_call(parsed(call))
    assert past is not None
    assert past.name == expected


@pytest.mark.parametrize(
    ("tool", "namespace", "expected"),
    [
        (space("functions", F), {}, "f"),
        (F, {"namespace": "functions"}, "f"),
        (space("X", F), {"namespace": "functions"}, "f"),
        (space("X", F), {}, "f"),
    ],
)
def test_a_tool_without_a_namespace_is_one_of_the_default_namespace(
    tool: dict[str, Any], namespace: dict[str, str], expected: str
) -> None:
    """Codex puts its own tools into that with some models, and a conversation may change its model."""
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", **namespace}
    table = offered(tool, SEARCH)
    past = table.read_call(parsed(call))
    assert past is not None
    assert past.name == expected


def test_a_function_beside_one_of_the_same_name_in_the_default_namespace_keeps_its_name() -> None:
    table = offered(space("functions", F), F)
    other, own = names(table)
    assert own == "f"
    assert other != "f"
    for name, namespace in ((own, None), (other, "functions")):
        call = {"type": "function_call", "call_id": "c", "name": "f", "namespace": namespace, "arguments": "{}"}
        past = table.read_call(parsed(call))
        assert past is not None
        assert past.name == name


def test_what_a_namespace_says_of_itself_is_told_once() -> None:
    """With its first tool."""
    table = offered(space("X", {**F, "description": "Does f."}, G, description="Tools of X. "))
    assert [spec.description for spec in table.specs] == ["X: Tools of X.\n\nDoes f.", None]
    assert offered(space("X", description="Empty.")).specs == []


def test_the_newest_word_on_a_tool_holds_in_its_old_place() -> None:
    """A client that adds a tool again has changed it."""
    table = offered(F, G, items=[added({**F, "description": "New."})])
    assert [(spec.name, spec.description) for spec in table.specs] == [("f", "New."), ("g", None)]


def test_a_tool_that_waits_to_be_found_is_understood_if_it_is_called() -> None:
    """Models remember tools from earlier turns; the client decides."""
    table = offered(SEARCH, space("X", LATER))
    item = called(table, "X__f", "{}", stopped=END)[-1]["response"]["output"][0]
    assert (item["name"], item["namespace"]) == ("f", "X")


@pytest.mark.parametrize(
    ("chosen", "choice", "may_call"),
    [
        ({"type": "namespace", "name": "X"}, Choice("required"), {"X__f", "X__exec"}),
        ({"type": "custom", "name": "exec", "namespace": "X"}, Choice("required", "X__exec"), {"X__exec"}),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "namespace", "name": "X"}]},
            Choice("auto"),
            {"X__f", "X__exec"},
        ),
    ],
)
def test_a_namespace_can_be_chosen_whole_or_in_part(chosen: Any, choice: Choice, may_call: set[str]) -> None:
    """A function of the same name outside of it is another one."""
    table = offered(space("X", F, EXEC), F, tool_choice=chosen)
    assert table.choice == choice
    assert {name for name in ("X__f", "X__exec", "f") if table.allows(name)} == may_call


@pytest.mark.parametrize(
    "chosen",
    [
        {"type": "function", "name": "g"},
        {"type": "custom", "name": "f", "namespace": "X"},
        {"type": "function", "name": "f", "namespace": "Y"},
        {"type": "namespace", "name": "Y"},
        {"type": "shell"},
    ],
)
def test_a_tool_is_chosen_by_its_whole_name(chosen: Any) -> None:
    """Never by guessing."""
    assert refused(space("X", F), tool_choice=chosen) == ("invalid_value", "tool_choice")


def test_the_models_own_web_search_is_offered_where_it_has_one() -> None:
    """It is allowed like any tool, and nobody is warned."""
    search = {"type": "web_search_preview", "search_context_size": "low"}
    table = offered(search, F, web_search=True)
    assert sentences(table.warnings) == []
    assert ([tool.model_extra for tool in table.hosted], names(table)) == ([{"search_context_size": "low"}], ["f"])
    allowed = {"type": "allowed_tools", "mode": "auto", "tools": [search, F]}
    assert offered(search, F, tool_choice=allowed, web_search=True).allows("f")
    assert offered(F, web_search=True).hosted == []


@pytest.mark.parametrize(
    ("choice", "searches"),
    [
        pytest.param("auto", True, id="auto"),
        pytest.param("none", False, id="none"),
        pytest.param({"type": "allowed_tools", "mode": "auto", "tools": [F]}, False, id="not among those allowed"),
        pytest.param({"type": "allowed_tools", "tools": [F, {"type": "web_search"}]}, True, id="allowed"),
    ],
)
def test_the_models_own_web_search_runs_only_where_the_client_permits_it(choice: Any, *, searches: bool) -> None:
    """It runs unseen at the model's server: what it does there cannot be ruled out afterwards."""
    table = offered({"type": "web_search"}, F, tool_choice=choice, web_search=True)
    assert bool(table.hosted) is searches


@pytest.mark.parametrize(
    ("allowed", "mode", "choice"),
    [
        ([LATER, G], "auto", Choice("auto")),
        ([LATER, G], "required", Choice("required", "g")),
        ([LATER], "auto", Choice("none")),
    ],
)
def test_a_tool_that_waits_to_be_found_may_be_allowed(allowed: list[Any], mode: str, choice: Choice) -> None:
    """A client says what it allows in every turn, before and after the search."""
    tools = [{"type": tool["type"], "name": tool["name"]} for tool in allowed]
    table = offered(LATER, SEARCH, G, tool_choice={"type": "allowed_tools", "mode": mode, "tools": tools})
    assert (table.choice, names(table)) == (choice, ["tool_search", "g"])
    assert [table.allows(name) for name in ("f", "tool_search")] == [True, False]


@pytest.mark.parametrize("choice", [F, {"type": "allowed_tools", "mode": "required", "tools": [F]}])
def test_a_tool_that_waits_to_be_found_cannot_be_demanded(choice: dict[str, Any]) -> None:
    """The model does not get it yet."""
    code, path = refused(LATER, SEARCH, tool_choice=choice)
    assert (code, path.split(".")[0]) == ("invalid_value", "tool_choice")


def test_four_times_the_allowed_tools_take_about_four_times_as_long() -> None:
    """A square would be sixteen times, and nothing else is served meanwhile."""

    def least(count: int) -> float:
        tools = [{"type": "function", "name": f"f{n}"} for n in range(count)]
        request = request_of(*tools, tool_choice={"type": "allowed_tools", "mode": "auto", "tools": tools})
        tries = []
        for _ in range(3):
            began = time.process_time()
            BridgeTable(request.tools, request.tool_choice)
            tries.append(time.process_time() - began)
        return min(tries)

    assert least(1024) < 10 * least(256)


def test_a_function_that_nobody_spoke_of_is_passed_on() -> None:
    """The client decides."""
    item = called(offered(EXEC), "unknown", "{}", stopped=END)[-1]["response"]["output"][0]
    assert (item["type"], item["id"], item["name"]) == ("function_call", "fc_AM-1", "unknown")
