"""The request of a relay whose server knows functions only: tools, calls, outputs, and all that only others know."""

from typing import Any, Final

import pytest

from app.bridges.program_calls import FOR_PROGRAMS, WITHOUT_EFFECT
from app.prompt.content_parts import ENCRYPTED
from app.protocol.problems import ProblemError
from tests.support.bridge_cases import CASES, CUSTOM, FOUND, FUNCTION
from tests.support.relay_turns import Json, client_events, new_turn, on_functions
from tests.support.warning_sentences import sentences
from tests.wire.servers.responses import answer, call


@pytest.mark.parametrize("hosted_tools", [(), ("mcp",)])
def test_tools_that_the_server_does_not_run_are_left_out_with_a_warning(hosted_tools: tuple[str, ...]) -> None:
    search, remote = {"type": "web_search"}, {"type": "mcp", "server_label": "x", "server_url": "http://x"}
    relayed = on_functions(FUNCTION, search, remote, options={"hosted_tools": hosted_tools})
    assert [tool["type"] for tool in relayed.ask["tools"]] == ["function", *hosted_tools]
    left = ["tools[1] was left out: its type 'web_search' cannot be offered to this model."]
    left += ["tools[2] was left out: its type 'mcp' cannot be offered to this model."] if not hosted_tools else []
    assert sentences(relayed.warnings) == left
    assert relayed.notes == {"dropped_tools": len(left)}


def test_a_request_of_functions_alone_is_sent_as_it_was_posted() -> None:
    odd = {**FUNCTION, "of_tomorrow": 1, "strict": None}
    past = [
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a" : 1}', "of_tomorrow": 2},
        {"type": "function_call_output", "call_id": "c", "output": "1"},
    ]
    body = {"tools": [odd, {"type": "web_search"}], "input": past, "tool_choice": "auto", "parallel_tool_calls": False}
    sent = [new_turn(body=body, functions_only=functions).ask for functions in (False, True)]
    assert sent[0] == sent[1] == {**body, "model": "theirs", "stream": True}


@pytest.mark.parametrize("tools", [{}, {"tools": []}, {"tools": None}], ids=["none", "empty", "null"])
@pytest.mark.parametrize("choice", ["auto", "none"])
def test_a_choice_without_tools_is_not_sent(tools: Json, choice: str) -> None:
    """The AI SDK sends one with every request."""
    body = {"input": "Hi", "tool_choice": choice, **tools}
    relayed = new_turn(body=body, functions_only=True)
    assert relayed.ask == {"input": "Hi", "model": "theirs", "stream": True}
    assert not relayed.warnings
    assert new_turn(body=body, functions_only=False).ask == {**body, "model": "theirs", "stream": True}


def test_plain_calls_of_a_bridged_request_are_sent_as_they_were_posted() -> None:
    past = {"type": "function_call", "id": "fc_AM-7", "call_id": "c", "name": "f", "arguments": '{"a" : 1}', "x": 2}
    assert on_functions(FUNCTION, CUSTOM, history=[past]).ask["input"][1] == {**past, "id": "fc_7"}


def test_items_without_a_call_become_messages_fields_and_tools() -> None:
    agent = {
        "type": "agent_message",
        "author": "a",
        "content": [{"type": "encrypted_content", "encrypted_content": "Go"}],
    }
    history = [
        {
            "type": "additional_tools",
            "role": "developer",
            "tools": [{"type": "namespace", "name": "X", "tools": [CUSTOM]}],
        },
        agent,
        {"type": "configuration_update", "reasoning": {"effort": "low"}},
        {**agent, "author": None, "content": " "},
    ]
    relayed = on_functions(history=history, reasoning={"effort": "high", "summary": "auto"})
    assert [tool["name"] for tool in relayed.ask["tools"]] == ["X__patch"]
    texts = [{"type": "input_text", "text": "Message from the agent 'a':"}, {"type": "input_text", "text": "Go"}]
    assert relayed.ask["input"][1:] == [{"type": "message", "role": "user", "content": texts}]
    assert relayed.ask["reasoning"] == {"effort": "low", "summary": "auto"}
    assert sentences(relayed.warnings) == ["input[4] was left out: it is empty."]


def test_an_update_of_the_format_is_a_field_of_the_request() -> None:
    form = {"type": "json_schema", "name": "n", "schema": {"type": "object"}}
    update = {"type": "configuration_update", "text": {"format": form}}
    assert on_functions(history=[update], text={"verbosity": "low"}).ask["text"] == {
        "verbosity": "low",
        "format": form,
    }
    plain = {**update, "text": {"format": {"type": "text"}}}
    assert on_functions(history=[update, plain]).ask["text"] == {"format": {"type": "text"}}


def test_what_another_server_encrypted_is_left_out() -> None:
    sealed = {"type": "encrypted_content", "encrypted_content": "gAAAAABpZm9yZWlnbnNlcnZlcnNvbmx5Zm9yZWlnbg=="}
    relayed = on_functions(
        history=[{"type": "agent_message", "content": [sealed, {"type": "input_text", "text": "Go"}]}]
    )
    assert [part["text"] for part in relayed.ask["input"][1]["content"]] == ["Message from another agent:", "Go"]
    assert sentences(relayed.warnings) == [f"input[1].content[0] was left out: {ENCRYPTED}"]


def test_members_of_tools_that_functions_do_not_have_are_named() -> None:
    relayed = on_functions(
        CUSTOM, {**FUNCTION, "async": True}, {**CUSTOM, "name": "other", "allowed_callers": ["programmatic"]}
    )
    assert [tool["name"] for tool in relayed.ask["tools"]] == ["patch", "f"]
    assert sentences(relayed.warnings) == [
        f"tools[2] was left out: {FOR_PROGRAMS}",
        f"'async' on tools has no effect: {WITHOUT_EFFECT['async']}",
    ]


PICTURE: Final = "data:image/png;base64,iVBORw0KGgo="
FOREIGN: list[tuple[Json, str, Any]] = [
    (
        {"type": "web_search_call", "id": "ws_1", "action": {"query": "q"}},
        "assistant",
        [{"type": "output_text", "text": '[web_search_call] {"action":{"query":"q"}}', "annotations": []}],
    ),
    (
        {"type": "mcp_approval_response", "approve": True},
        "user",
        [{"type": "input_text", "text": '[mcp_approval_response] {"approve":true}'}],
    ),
    (
        {"type": "image_generation_call", "id": "ig_1", "result": "iVBORw0KGgo="},
        "user",
        [
            {"type": "input_text", "text": "The image that you made:"},
            {"type": "input_image", "image_url": PICTURE, "detail": "auto"},
        ],
    ),
    (
        {"type": "computer_call_output", "call_id": "c", "output": {"image_url": PICTURE}},
        "user",
        [
            {"type": "input_text", "text": "[computer_call_output]"},
            {"type": "input_image", "image_url": PICTURE},
        ],
    ),
    (
        {"type": "function_call_output", "name": "f", "output": "4"},
        "user",
        [
            {"type": "input_text", "text": "Output of the tool 'f', for an earlier call:"},
            {"type": "input_text", "text": "4"},
        ],
    ),
]


@pytest.mark.parametrize(("item", "role", "content"), FOREIGN, ids=[item["type"] for item, _, _ in FOREIGN])
def test_items_about_tools_that_the_server_does_not_run_become_messages(item: Json, role: str, content: Any) -> None:
    relayed = on_functions(history=[item], options={"hosted_tools": ("own_",)})
    assert relayed.ask["input"][1] == {"type": "message", "role": role, "content": content}
    told = {
        f"input[1] is sent as text: this model does not know '{item['type']}'.",
        "input[1] is sent as a message: it names no call.",
    }
    assert set(sentences(relayed.warnings)) <= told


@pytest.mark.parametrize("hosted_tools", [None, ("web_search",)])
def test_items_about_tools_that_the_server_may_run_pass(hosted_tools: Any) -> None:
    item = FOREIGN[0][0]
    assert on_functions(CUSTOM, history=[item], options={"hosted_tools": hosted_tools}).ask["input"][1] == item


@pytest.mark.parametrize(
    ("arguments", "sent", "warned"),
    [("[1]", '{"arguments":"[1]"}', True), ("", "{}", False), ('{"a', '{"arguments":"{\\"a"}', True)],
)
def test_arguments_that_are_no_object_are_wrapped(arguments: str, sent: str, *, warned: bool) -> None:
    """Ollama refuses the whole conversation otherwise."""
    past = {"type": "function_call", "call_id": "c", "name": "f", "arguments": arguments}
    relayed = on_functions(FUNCTION, history=[past])
    assert relayed.ask["input"][1]["arguments"] == sent
    wrapped = "input[1].arguments were wrapped: servers refuse what is not a JSON object."
    assert sentences(relayed.warnings) == ([wrapped] if warned else [])


def test_notes_of_the_client_are_left_out() -> None:
    relayed = on_functions(history=[{"type": "ghost_snapshot", "ghost_commit": {}}], options={"hosted_tools": ()})
    assert len(relayed.ask["input"]) == 1
    assert sentences(relayed.warnings) == ["input[1] was left out: 'ghost_snapshot' cannot be sent to this model."]


def test_a_search_offers_what_it_finds() -> None:
    search = CASES["tool_search"]
    later = {**FOUND, "defer_loading": True}
    assert [tool["name"] for tool in on_functions(search.tool, later).ask["tools"]] == ["tool_search"]
    past = [{"call_id": "call_1", **search.item}, {"call_id": "call_1", **search.output}]
    relayed = on_functions(search.tool, later, history=past)
    assert [tool["name"] for tool in relayed.ask["tools"]] == ["tool_search", "X__found", "found"]
    events = client_events(relayed, answer(call("fc_1", "call_2", "X__found", '{"a":1}')))
    (made,) = events[-1]["response"]["output"]
    assert (made["type"], made["name"], made["namespace"], made["arguments"]) == (
        "function_call",
        "found",
        "X",
        '{"a":1}',
    )


def test_outputs_of_parts_pass_as_they_were_posted() -> None:
    parts = [{"type": "input_text", "text": "a"}, {"type": "input_image", "image_url": "data:image/png;base64,aGk="}]
    past = [
        {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "a"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": parts},
    ]
    assert on_functions(CUSTOM, history=past).ask["input"][2] == {
        "type": "function_call_output",
        "call_id": "c",
        "output": parts,
    }


CHOSEN: Json = {"type": "custom", "name": "patch"}
SEARCH: Json = {"type": "web_search"}


@pytest.mark.parametrize(
    ("choice", "named", "sent", "tools"),
    [
        ("auto", "name", "auto", 3),
        ("none", "name", "none", 2),
        ("required", "name", "required", 3),
        (CHOSEN, "name", {"type": "function", "name": "patch"}, 3),
        (CHOSEN, "required", "required", 2),
        ({"type": "allowed_tools", "mode": "auto", "tools": [CHOSEN, SEARCH]}, "name", "auto", 3),
        ({"type": "allowed_tools", "mode": "required", "tools": [CHOSEN, SEARCH]}, "name", "required", 3),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [CHOSEN]},
            "name",
            {"type": "function", "name": "patch"},
            2,
        ),
        (SEARCH, "name", SEARCH, 3),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [SEARCH]},
            "name",
            {"type": "allowed_tools", "mode": "auto", "tools": [SEARCH]},
            3,
        ),
    ],
)
def test_the_choice_is_sent_in_the_servers_words(choice: Any, named: str, sent: Any, tools: int) -> None:
    relayed = on_functions(CUSTOM, FUNCTION, SEARCH, tool_choice=choice, options={"named_tool_choice": named})
    assert (relayed.ask["tool_choice"], len(relayed.ask["tools"])) == (sent, tools)


@pytest.mark.parametrize(
    ("choice", "offered"),
    [
        (FUNCTION, ["f"]),
        ({"type": "allowed_tools", "mode": "required", "tools": [FUNCTION, {**FUNCTION, "name": "h"}]}, ["f", "h"]),
    ],
)
def test_a_server_that_takes_only_words_gets_the_chosen_functions_alone(choice: Json, offered: list[str]) -> None:
    """Also where there are no other tools than functions, so that the body would be sent as it is otherwise."""
    tools = [{**FUNCTION, "name": name} for name in ("f", "g", "h")]
    ask = on_functions(*tools, tool_choice=choice, options={"named_tool_choice": "required"}).ask
    assert ([tool["name"] for tool in ask["tools"]], ask["tool_choice"]) == (offered, "required")
    assert on_functions(*tools, tool_choice=choice).ask["tool_choice"] == choice


def test_a_choice_of_a_tool_that_is_not_offered_is_refused() -> None:
    with pytest.raises(ProblemError) as raised:
        on_functions(CUSTOM, tool_choice={"type": "custom", "name": "other"})
    assert raised.value.problem.param == "tool_choice"


THOUGHT: Final = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}


@pytest.mark.parametrize(
    ("item", "sent"),
    [
        ({"role": "assistant", "content": "Hi"}, [{"role": "assistant", "content": "Hi", "type": "message"}]),
        (THOUGHT, [{**THOUGHT, "content": [{"type": "reasoning_text", "text": "hm"}]}]),
        ({**THOUGHT, "content": [{"type": "reasoning_text", "text": "h"}]}, None),
        ({"type": "reasoning", "summary": [], "encrypted_content": "its own"}, []),
    ],
)
def test_a_server_that_guesses_nothing_gets_types_and_the_text_of_reasoning(item: Json, sent: Any) -> None:
    """llama.cpp refuses the whole request otherwise."""
    relayed = new_turn(body={"input": [item]}, explicit_items=True)
    assert relayed.ask["input"] == ([item] if sent is None else sent)
    left_out = "input[0] was left out: only the server and the model that wrote this reasoning can read it."
    assert sentences(relayed.warnings) == ([left_out] if sent == [] else [])
    assert new_turn(body={"input": [item]}).ask["input"] == [item]
