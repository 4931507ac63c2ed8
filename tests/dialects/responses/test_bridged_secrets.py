"""What a server of functions does not get of what OpenAI's server and Codex wrote."""

from typing import Any

import pytest

from app.bridges.ciphertext import STAND_IN
from app.bridges.program_calls import FOR_PROGRAMS, WITHOUT_EFFECT
from tests.support.bridge_cases import CUSTOM, FUNCTION
from tests.support.relay_turns import Json, on_functions
from tests.support.warning_sentences import sentences


@pytest.mark.parametrize("declared", [True, False])
def test_arguments_that_another_server_encrypted_are_left_out(*, declared: bool) -> None:
    secret = {"type": "string", "encrypted": True}
    tool = {"type": "function", "name": "spawn", "parameters": {"type": "object", "properties": {"message": secret}}}
    call = {
        "type": "function_call",
        "call_id": "c",
        "name": "spawn",
        "arguments": '{"message":"gAAAAABpZm9yZWlnbnNlcnZlcnNvbmx5Zm9yZWlnbg=="}',
    }
    relayed = on_functions(*[tool] * declared, history=[call])
    assert relayed.ask["input"][1]["arguments"] == f'{{"message":"{STAND_IN}"}}'
    assert len(relayed.warnings) == 1
    if declared:
        assert relayed.ask["tools"][0]["parameters"]["properties"] == {"message": {"type": "string"}}
        assert "encrypted" not in str(on_functions(tool).ask["tools"])


@pytest.mark.parametrize("kind", ["ghost_snapshot", "multi_agent_call", "multi_agent_call_output"])
def test_what_only_openai_and_codex_know_is_not_passed_on(kind: str) -> None:
    """Also where it is not known which tools the server runs itself: these belong to none."""
    item = {"type": kind, "call_id": "c", "action": "spawn_agent", "output": [], "ghost_commit": {}}
    relayed = on_functions(history=[item], options={"hosted_tools": None})
    assert [sent["type"] for sent in relayed.ask["input"][1:]] == ["message"] * (kind != "ghost_snapshot")
    assert len(relayed.warnings) == 1


@pytest.mark.parametrize("hosted_tools", [None, ()])
@pytest.mark.parametrize("kind", ["compaction", "compaction_summary", "context_compaction"])
def test_a_summary_of_another_server_is_left_out_where_the_server_is_known(kind: str, hosted_tools: Any) -> None:
    item = {"type": kind, "encrypted_content": "gAAAA"}
    relayed = on_functions(CUSTOM, history=[item], options={"hosted_tools": hosted_tools})
    if hosted_tools is None:
        assert (relayed.ask["input"][1:], relayed.warnings) == ([item], ())
        return
    assert len(relayed.ask["input"]) == 1
    assert sentences(relayed.warnings) == [
        "input[1] was left out: only the server that summarized this conversation can read it."
    ]


@pytest.mark.parametrize("member", [{"async": True}, {"output_schema": {"type": "object"}}])
def test_a_member_without_effect_is_left_out_of_functions_too(member: Json) -> None:
    relayed = on_functions({**FUNCTION, **member})
    (tool,) = relayed.ask["tools"]
    assert tool.keys() == {"type", "name", "description", "parameters", "strict"}
    (name,) = member
    assert sentences(relayed.warnings) == [f"'{name}' on tools has no effect: {WITHOUT_EFFECT[name]}"]


def test_a_function_for_programs_is_not_offered_to_the_model() -> None:
    relayed = on_functions({**FUNCTION, "allowed_callers": ["programmatic"]})
    assert "tools" not in relayed.ask
    assert sentences(relayed.warnings) == [f"tools[0] was left out: {FOR_PROGRAMS}"]
