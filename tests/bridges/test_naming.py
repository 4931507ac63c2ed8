"""What functions are called that carry a client's tools."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.bridges.naming import Names, ToolName

LONG = "a" * 70


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        (ToolName("function", "f"), "f"),
        (ToolName("custom", "f"), "f"),
        (ToolName("function", "f", "X"), "X__f"),
        (ToolName("function", "f", "mcp__X__"), "mcp__X__f"),
        (ToolName("function", "f", "functions"), "f"),
        (ToolName("function", "b" * 64), "b" * 64),
        (ToolName("function", LONG), "a" * 55 + "_8ff2ee1b"),
        (ToolName("function", LONG + "b"), "a" * 55 + "_db75b13c"),
        (ToolName("function", "f" * 40, "X" * 40), "X" * 40 + "__" + "f" * 13 + "_a13c9cdf"),
        (ToolName("function", "my.tool"), "my_tool_5c30c025"),
        (ToolName("function", ""), "_5a106776"),
    ],
)
def test_a_name_is_kept_or_shortened_the_same_way_in_every_turn(tool: ToolName, name: str) -> None:
    """Prompt caches break at a name that changes, so the names stand here letter by letter."""
    assert Names().of(tool) == name


def test_the_clients_functions_keep_their_names() -> None:
    """Even one that is declared behind the tool that would come to the same name."""
    names = Names(["X__f", "f"])
    assert names.of(ToolName("function", "f", "X")) == "X__f_76a5624e"
    assert names.of(ToolName("function", "X__f")) == "X__f"
    assert names.of(ToolName("custom", "f", "functions")) == "f_b76b8e96"
    assert names.of(ToolName("function", "f")) == "f"


def test_a_mark_that_is_taken_too_gives_way_to_another() -> None:
    """Nobody can make two tools share a name by calling one like the other's mark."""
    names = Names(["X__f", "X__f_76a5624e"])
    assert names.of(ToolName("function", "f", "X")) not in {"X__f", "X__f_76a5624e"}


words = st.text("ab_.", min_size=1, max_size=3) | st.just(LONG)
tools = st.builds(
    ToolName,
    st.sampled_from(["function", "custom"]),
    words,
    st.none() | st.sampled_from(["a", "b", "a__", "functions", LONG]),
)


@given(st.lists(tools, unique=True, max_size=12))
def test_no_two_tools_share_a_name_that_every_server_takes(offered: list[ToolName]) -> None:
    """Whatever they are called, asked once or twice."""
    names = Names(tool.name for tool in offered if tool == ToolName("function", tool.name))
    given_out = [names.of(tool) for tool in offered]
    assert len(set(given_out)) == len(offered)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in given_out)
    assert [names.of(tool) for tool in offered] == given_out
