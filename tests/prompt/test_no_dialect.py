"""What belongs to no dialect stays free of the words of one."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support.running import ROOT

WORDS = {"role", "tool_calls"}
ROOMS = [ROOT / "app" / room for room in ("dialects/chat", "dialects/messages", "upstreams", "providers")]
"""Rooms of dialects. Providers change chat bodies for the servers that are particular about them."""


def sources() -> Iterator[tuple[Path, ast.AST]]:
    """Every module of the server."""
    for path in sorted((ROOT / "app").rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def words_in(tree: ast.AST) -> set[str]:
    """The strings of a module."""
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def test_words_of_dialects_occur_in_their_rooms_only() -> None:
    speakers = [path for path, tree in sources() if words_in(tree) & WORDS]
    assert speakers
    assert [path for path in speakers if not any(path.is_relative_to(room) for room in ROOMS)] == []


def test_no_function_takes_a_list_of_warnings_to_append_to() -> None:
    taken = {
        f"{path.name}:{argument.lineno}": ast.unparse(argument.annotation)
        for path, tree in sources()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for argument in (*node.args.args, *node.args.kwonlyargs)
        if argument.annotation is not None and "warning" in argument.arg.lower()
    }
    assert taken
    assert {where: type_ for where, type_ in taken.items() if type_.startswith("list")} == {}
