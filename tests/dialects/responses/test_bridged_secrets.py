"""What a server of functions does not get of a history that OpenAI's server and Codex wrote."""

import pytest

from app.bridges.ciphertext import STAND_IN
from tests.support.relay_turns import on_functions


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
