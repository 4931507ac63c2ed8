"""The typed `apply_patch`, called with a whole patch instead of one operation."""

import json
from typing import Any

import pytest

from app.emitter.deltas import Stopped
from tests.support.tool_tables import called, offered

UPDATE = "*** Begin Patch\n*** Update File: a.py\n@@\n-a\n+b\n*** End Patch\n"
UPDATED = {"type": "update_file", "path": "a.py", "diff": "@@\n-a\n+b"}
ADD = "*** Begin Patch\n*** Add File: a b.py\n+a\n+b\n*** End Patch"
DELETE = "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"
TWO = UPDATE.replace("*** End Patch", "*** Delete File: b.py\n*** End Patch")
MOVED = UPDATE.replace("@@", "*** Move to: b.py\n@@")
TO_THE_END = UPDATE.replace("+b\n", "+b\n*** End of File\n")


def operation(arguments: str) -> dict[str, Any]:
    """What the client is told to do."""
    events = called(offered({"type": "apply_patch"}), "apply_patch", arguments, stopped=Stopped("end"))
    result: dict[str, Any] = events[-1]["response"]["output"][0]["operation"]
    return result


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (UPDATE, UPDATED),
        (json.dumps({"patch": UPDATE}), UPDATED),
        (json.dumps({"content": f"```\n{UPDATE}```"}), UPDATED),
        (json.dumps({"diff": UPDATE.replace(" Patch\n", " Patch ***\n")}), UPDATED),
        (json.dumps({"patch": UPDATE.replace("\n", "\r\n")}), UPDATED),
        (json.dumps(UPDATED | {"diff": UPDATE}), UPDATED),
        (json.dumps({"patch": ADD}), {"type": "create_file", "path": "a b.py", "diff": "+a\n+b"}),
        (json.dumps({"patch": DELETE}), {"type": "delete_file", "path": "a.py"}),
        (json.dumps({"patch": TO_THE_END}), UPDATED | {"diff": "@@\n-a\n+b\n*** End of File"}),
    ],
)
def test_a_patch_of_one_file_is_its_operation(arguments: str, told: dict[str, Any]) -> None:
    assert operation(arguments) == told


@pytest.mark.parametrize("patch", [TWO, MOVED, f"Here: {UPDATE}", UPDATE.replace("a.py", ""), UPDATE + "Done."])
def test_a_patch_that_is_more_than_one_operation_is_told_as_it_is(patch: str) -> None:
    """The client refuses it, and the model reads why."""
    arguments = json.dumps({"patch": patch})
    assert operation(arguments) == {"type": "update_file", "path": "", "diff": arguments}


@pytest.mark.parametrize("other", [{"path": "b.py"}, {"type": "create_file"}])
def test_a_patch_of_another_file_is_no_diff_of_this_one(other: dict[str, str]) -> None:
    written = UPDATED | {"diff": UPDATE} | other
    assert operation(json.dumps(written)) == written
