"""Outputs of tools that failed are marked as errors."""

from typing import Any, Final

import pytest

from tests.support.chat_requests import call, output
from tests.support.messages_blocks import PIXEL
from tests.support.messages_requests import asked

Json = dict[str, Any]

SHELL: Final = {"type": "shell_call", "call_id": "a", "action": {"commands": ["ls"]}}
PICTURE: Final = {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"}


def shell(*outcomes: Json | None) -> list[Json]:
    """A shell call whose commands ended so."""
    outputs = [{"stdout": "x", **({} if outcome is None else {"outcome": outcome})} for outcome in outcomes]
    return [SHELL, {"type": "shell_call_output", "call_id": "a", "output": outputs}]


def exited(code: int) -> Json:
    """The end of a command with this exit code."""
    return {"type": "exit", "exit_code": code}


PATCH: Final = {
    "type": "apply_patch_call",
    "call_id": "a",
    "operation": {"type": "delete_file", "path": "a"},
}
TABLE: Final[dict[str, tuple[list[Json], bool]]] = {
    "no status": ([call("a"), output("a")], False),
    "completed": ([call("a"), {**output("a"), "status": "completed"}], False),
    "incomplete": ([call("a"), {**output("a"), "status": "incomplete"}], True),
    "before its call": ([{**output("a"), "status": "incomplete"}, call("a")], True),
    "the last output counts": ([call("a"), {**output("a", "1"), "status": "incomplete"}, output("a", "2")], False),
    "a picture, which an error cannot be": ([call("a"), {**output("a", [PICTURE]), "status": "incomplete"}], False),
    "exit code 0": (shell(exited(0)), False),
    "another exit code": (shell(exited(0), exited(2)), True),
    "out of time": (shell({"type": "timeout"}), True),
    "no outcome": (shell(None), False),
    "a failed patch": ([PATCH, {"type": "apply_patch_call_output", "call_id": "a", "status": "failed"}], True),
    "a patch": ([PATCH, {"type": "apply_patch_call_output", "call_id": "a", "status": "completed"}], False),
}


@pytest.mark.parametrize(("items", "failed"), TABLE.values(), ids=TABLE.keys())
def test_failed_outputs(items: list[Json], failed: bool) -> None:  # noqa: FBT001 — a column of the table
    body = asked({"input": [{"role": "user", "content": "Hi"}, *items]}).body
    [result] = [block for block in body["messages"][-1]["content"] if block["type"] == "tool_result"]
    assert result.get("is_error", False) is failed
