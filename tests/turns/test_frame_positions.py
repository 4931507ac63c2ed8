"""Paths of items as a client knows them that continues a conversation over a websocket."""

import pytest

from app.protocol.problems import Problem
from app.protocol.warnings import ClientWarning
from app.turns.frame_positions import FramePositions


@pytest.mark.parametrize(
    ("positions", "expected"),
    [
        (FramePositions(), "input[0] input[9] input[10].content[3] input[11] input[12]"),
        (FramePositions(10), "history[0] history[9] input[0].content[3] input[1] input[2]"),
        (FramePositions(10, range(11, 12)), "history[0] history[9] input[0].content[3] history[11] input[1]"),
        (FramePositions(10, range(10, 10)), "history[0] history[9] input[0].content[3] input[1] input[2]"),
        (FramePositions(20), "history[0] history[9] history[10].content[3] history[11] history[12]"),
    ],
)
def test_items_are_named_by_their_frame(positions: FramePositions, expected: str) -> None:
    paths = "input[0] input[9] input[10].content[3] input[11] input[12]"
    problem = Problem(code="invalid_value", message=f"'{paths}' is bad: myinput[3], input.", param="input[10].role")
    assert positions.problem(problem).message == f"'{expected}' is bad: myinput[3], input."
    assert positions.problem(problem).param == f"{expected.split(' ')[2].removesuffix('.content[3]')}.role"
    warning = ClientWarning("input[12]", "item", paths)
    assert positions.warning(warning) == ClientWarning(expected.rpartition(" ")[2], "item", expected)
