"""No regular expression in the server takes longer than linear, whatever it is held against."""

import ast
import re
import time
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple

import pytest

from tests.support.pattern_uses import HOW, RUST
from tests.support.running import ROOT
from tests.support.scan import assert_linear

FUNCTIONS: Final = {"compile", "findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn"}
N: Final = 1_000
QUICK: Final = 0.004
"""Seconds in which 4 * N characters are looked through once; squared work takes ten times longer."""

UNITS: Final = (
    *("a", "A", "0", "f", " ", "\n", "\t", "\\", '"', "'", "<", ">", "=", ":", "/", ".", "-", "_", "@", "#", "$", "é"),
    *(
        "a.",
        "a-",
        "0.",
        "0x",
        "0x0.",
        "a b",
        "a\n",
        "a=",
        "a:",
        "n't ",
        "not ",
        "JSON",
        ". ",
        "'a",
        '"a',
        "\\u",
        "\\u00",
    ),
    *(
        "<a",
        "<a>",
        "{",
        "}",
        "[",
        "]",
        "{}",
        "[]",
        "${",
        "$${",
        "${a:-",
        ", ",
        " or ",
        "//",
        "/v1",
        "/v",
        "num_ctx ",
        "://",
        "a://",
        "a://a@",
    ),
    *("sk-", "sk-a", "eyJ", "am-", "bearer ", "basic ", "password=", "password ", "api_key: ", "x-api-key", "secret"),
    *(
        "input[",
        "input[1",
        "[1",
        "[123",
        "error: ",
        "Error",
        "litellm.",
        "LitellmError: ",
        "b'{",
        "b'",
        'File "',
        "\n at ",
    ),
    *(
        "\n\tat a",
        "goroutine 1 ",
        "Traceback ",
        "exceed",
        "context ",
        "maximum ",
        "token ",
        "1.1.1.1",
        "http://",
        "::",
        "a:a:",
    ),
    *("image", "embed", "at line 1", "(at line ", " should", "connection ", "too large"),
)
"""What inputs are made of: each of them over and over, also behind and before something that does not go on."""


class Found(NamedTuple):
    """A regular expression where it is written."""

    key: str
    """Its file, and its name or, where it has none, its text."""
    pattern: str
    flags: int


def _constant(node: ast.expr) -> str | None:
    """The text of a pattern that is written out, in one piece or several."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            one, other = _constant(left), _constant(right)
            return None if one is None or other is None else one + other
        case _:
            return None


def _flags(call: ast.Call) -> int:
    result = ast.dump(call)
    return sum(int(flag) for flag in (re.IGNORECASE, re.DOTALL, re.ASCII, re.VERBOSE) if f"'{flag.name}'" in result)


def _named(tree: ast.Module) -> dict[ast.AST, str]:
    """The name of whatever is assigned to one, by the node of the value."""
    names: dict[ast.AST, str] = {}
    for node in ast.walk(tree):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            value = getattr(node, "value", None)
            if isinstance(target, ast.Name) and value is not None:
                names[value] = target.id
    return names


def _all() -> Iterator[Found]:
    for path in sorted((ROOT / "app").rglob("*.py")):
        tree = ast.parse(path.read_text())
        names = _named(tree)
        file = str(path.relative_to(ROOT / "app"))
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            is_re = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "re"
            given: list[ast.expr] = [keyword.value for keyword in node.keywords if keyword.arg == "pattern"]
            if is_re and isinstance(node.func, ast.Attribute) and node.func.attr in FUNCTIONS:
                given = node.args[:1]
            for each in given:
                pattern = _constant(each)
                key = f"{file} {names.get(node) or pattern or ast.unparse(each)}"
                there = getattr(import_module(f"app.{file[:-3].replace('/', '.')}"), names.get(node, ""), None)
                if isinstance(there, re.Pattern):
                    yield Found(key, there.pattern, there.flags)
                else:
                    yield Found(key, pattern or "", _flags(node) if is_re else 0)


@cache
def found_in_code() -> dict[str, Found]:
    """Each by its key. Not all workers of a run need them."""
    return {found.key: found for found in _all()}


def test_every_regular_expression_has_a_row() -> None:
    """A new one gets a row in tests/support/pattern_uses.py, which says how it is used."""
    assert set(HOW) == set(found_in_code())


def _inputs(n: int) -> Iterator[str]:
    for unit in UNITS:
        text = unit * (n // len(unit))
        yield text
        yield f"{text}\0"
        yield f"\0{text}é"


def _work(found: Found) -> Any:
    pattern = re.compile(found.pattern, found.flags)
    match HOW[found.key]:
        case "anywhere":
            return lambda text: sum(1 for _ in pattern.finditer(text))
        case "here":
            return pattern.match
        case _:
            return pattern.fullmatch


@pytest.mark.parametrize("key", sorted(key for key, how in HOW.items() if how != RUST))
def test_it_is_linear(key: str) -> None:
    found = found_in_code()[key]
    work = _work(found)
    for index, text in enumerate(_inputs(4 * N)):
        began = time.thread_time()
        work(text)
        if time.thread_time() - began > QUICK:
            assert_linear(f"{key} on {text[:20]!r}", lambda n, index=index: list(_inputs(n))[index], work, N)  # type: ignore[misc]
