"""`protocol/` holds nouns: its few functions make one or read one, and none of them decides anything."""

import ast

from tests.support.running import ROOT

FUNCTIONS = {
    "as_items": "`input` as a list",
    "is_last": "whether a batch of events has the last one",
    "assistant_message": "makes a message",
    "id_maker": "makes the function that makes ids",
    "no_effect": "makes a warning",
    "refuse": "makes the error of a problem",
    "role_of": "reads the role of a message",
    "user_message": "makes a message",
}
LIBRARIES = {"collections", "dataclasses", "enum", "msgspec", "pydantic", "typing"}


def test_every_function_of_protocol_makes_or_reads_a_noun() -> None:
    found = [
        node.name
        for file in (ROOT / "app/protocol").rglob("*.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert sorted(found) == sorted(FUNCTIONS)


def test_protocol_imports_what_describes_nouns_and_nothing_else() -> None:
    found = {
        name.partition(".")[0]
        for file in (ROOT / "app/protocol").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        for name in imported(node, len(file.relative_to(ROOT / "app").parts))
    }
    assert found == LIBRARIES


def imported(node: ast.AST, level_of_app: int) -> list[str]:
    """The modules that an import names, but for the nouns themselves and the words they share with the settings."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        is_noun = 0 < node.level < level_of_app or (node.level, module) == (level_of_app, "options")
        return [] if is_noun else ["." * node.level + module]
    return []
