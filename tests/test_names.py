"""Names in the code: each module and each class has one of its own, so that a name alone says which is meant."""

import ast
from collections import defaultdict
from collections.abc import Iterator

from tests.support.running import ROOT

FILES = sorted((ROOT / "app").rglob("*.py"))


def module_names() -> Iterator[tuple[str, str]]:
    """Every module and every room with its file. A room's main module may have the name of its room."""
    for file in FILES:
        name = file.parent.name if file.stem == "__init__" else file.stem
        if file.stem not in {"__main__", file.parent.name}:
            yield name, str(file.relative_to(ROOT))


def class_names() -> Iterator[tuple[str, str]]:
    """Every class with its file, those within classes and functions included."""
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                yield node.name, str(file.relative_to(ROOT))


def shared(names: Iterator[tuple[str, str]]) -> dict[str, list[str]]:
    """The names that stand for several things, with their files."""
    files: defaultdict[str, list[str]] = defaultdict(list)
    for name, file in names:
        files[name].append(file)
    assert len(files) > 100
    return {name: found for name, found in files.items() if len(found) > 1}


def test_no_two_modules_or_rooms_share_a_name() -> None:
    assert shared(module_names()) == {}


def test_no_two_classes_share_a_name() -> None:
    assert shared(class_names()) == {}
