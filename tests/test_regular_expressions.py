"""No regular expression in the server takes longer than linear, whatever it is held against."""

import ast
import re
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final, NamedTuple

import pytest

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


FOUND: Final = {found.key: found for found in _all()}
ANYWHERE: Final = "anywhere"
"""All matches are looked for, wherever they begin."""
HERE: Final = "here"
"""It is held against the text from one place on, as far as it goes."""
WHOLE: Final = "whole"
"""It is held against the whole text."""
RUST: Final = "rust"
"""Pydantic's own engine, which is linear by its make."""

HOW: Final[dict[str, str]] = {
    "bridges/tool_types/custom.py _JSON": ANYWHERE,
    "bridges/tool_types/custom.py _NOT": ANYWHERE,
    "bridges/tool_types/custom.py _SENTENCE": ANYWHERE,
    "bridges/json_string_tap.py _FLAT": HERE,
    "bridges/json_string_tap.py _PLAIN": HERE,
    "bridges/json_string_tap.py _SCALAR": HERE,
    "bridges/json_string_tap.py _SPACE": HERE,
    "bridges/json_string_tap.py _UNICODE": ANYWHERE,
    "bridges/json_string_tap.py _UNICODE_BEGUN": ANYWHERE,
    "bridges/naming.py _FITS": WHOLE,
    "bridges/naming.py _UNNAMEABLE": ANYWHERE,
    "cli/agent_process.py _VERSION": ANYWHERE,
    "cli/banner.py _PLAIN": WHOLE,
    "cli/turn_line.py _TOOL": HERE,
    "prompt/call_ids.py _NINE": WHOLE,
    "prompt/call_ids.py _PLAIN": HERE,
    "prompt/call_ids.py _UNPLAIN": ANYWHERE,
    "dialects/chat/citations.py _MARKER": ANYWHERE,
    "fetching/media_types.py _BASE64": WHOLE,
    "fetching/media_types.py _BLANK": HERE,
    r"protocol/request/text_format.py ^[a-zA-Z0-9_-]{1,64}\z": RUST,
    r"protocol/request/tools.py ^[a-zA-Z0-9_-]{1,128}\z": RUST,
    "fetching/url_policy.py _CLEAR_NUMBER": WHOLE,
    "fetching/url_policy.py _HOST": WHOLE,
    "fetching/url_policy.py _NUMBER": WHOLE,
    "fetching/url_policy.py _UNSAFE": ANYWHERE,
    "providers/claude_models.py _NAME": ANYWHERE,
    "providers/gemini.py _REASON": ANYWHERE,
    "providers/gemini.py _VERSIONED": ANYWHERE,
    "providers/gemini.py _WITH_IDS": HERE,
    "settings/base_urls.py _PLAIN": WHOLE,
    "settings/base_urls.py _SCHEME": HERE,
    "settings/base_urls.py v[0-9][0-9a-z]{0,9}": WHOLE,
    "settings/excerpts.py \n": HERE,
    "settings/excerpts.py _HEADER": HERE,
    "settings/excerpts.py _HELD": ANYWHERE,
    "settings/excerpts.py _NO_TEXT": WHOLE,
    "settings/excerpts.py _PAIR": HERE,
    "settings/excerpts.py _REFERENCE": WHOLE,
    "settings/excerpts.py _SECRET_WORD": ANYWHERE,
    "settings/excerpts.py _WORD": HERE,
    "settings/toml_file.py _AT": ANYWHERE,
    'settings/toml_mistakes.py "(?:[^"\\\\]|\\\\[btnfr"\\\\uU])*+(?P<mark>\\\\).*': WHOLE,
    "settings/toml_mistakes.py (?P<mark>)": WHOLE,
    "settings/toml_mistakes.py (?P<mark>[+-]?0[0-9_]+)": WHOLE,
    "settings/toml_mistakes.py (?P<mark>[+-]?[0-9][0-9_.]*[ \\t]*[A-Za-z%]{1,12})": WHOLE,
    "settings/toml_mistakes.py (?P<mark>[=:]).*": WHOLE,
    "settings/toml_mistakes.py (?P<mark>[\\\"']).*": ANYWHERE,
    "settings/toml_mistakes.py (?P<mark>[\\[{]).*": WHOLE,
    "settings/toml_mistakes.py (?i:(?P<mark>null|none|nil|undefined))": WHOLE,
    "settings/toml_mistakes.py (?i:(?P<mark>true|false))": WHOLE,
    "settings/toml_mistakes.py (?i:(?P<mark>yes|no|on|off))": WHOLE,
    "settings/toml_mistakes.py [ \\t]*(?P<mark>[A-Za-z0-9_.\\\"'-]+)[ \\t]*": WHOLE,
    "settings/toml_mistakes.py [ \\t]*(?P<mark>\\[{1,2}[ \\t]*\\]{1,2})[ \\t]*": WHOLE,
    "settings/toml_mistakes.py [ \\t]*[A-Za-z0-9_-]+(?P<mark>[ \\t]++)[^=]*=.*": WHOLE,
    "settings/toml_mistakes.py [ \\t]*[A-Za-z0-9_-]+(?P<mark>[ \\t]++)[^=]+": WHOLE,
    "settings/toml_mistakes.py [ \\t]*\\[[^\\[\\]]*+(?P<mark>\\]\\]+)[ \\t]*": WHOLE,
    "settings/toml_mistakes.py [ \\t]*\\[[^\\]]*+(?P<mark>)": WHOLE,
    "settings/toml_mistakes.py [ \\t]*\\[\\[[^\\]]*+(?P<mark>\\]?)[ \\t]*": WHOLE,
    "settings/toml_mistakes.py [ \\t]*\\[{1,2}[^\\[\\]]*+\\]{1,2}[ \\t]*(?P<mark>[^\\s\\]].*)": WHOLE,
    "settings/toml_mistakes.py [\"']": WHOLE,
    "settings/toml_mistakes.py [A-Za-z0-9_.-]*": WHOLE,
    "settings/toml_mistakes.py [^ ]*(?P<mark>[,;])": WHOLE,
    "settings/toml_mistakes.py _BARE": HERE,
    "settings/toml_mistakes.py _CODE": HERE,
    "settings/toml_mistakes.py _COLON": WHOLE,
    "settings/toml_mistakes.py _COMMENT": WHOLE,
    "settings/toml_mistakes.py _CURLY": ANYWHERE,
    "settings/toml_mistakes.py _HEADER": WHOLE,
    "settings/toml_mistakes.py _PAIR": HERE,
    "settings/toml_mistakes.py _PLAIN": WHOLE,
    "settings/toml_mistakes.py _TEXT_AND_END": WHOLE,
    "settings/toml_mistakes.py _TEXT_AND_MORE": WHOLE,
    "settings/toml_mistakes.py _TOKENS": ANYWHERE,
    "settings/toml_mistakes.py _TEXTS": ANYWHERE,
    "settings/toml_places.py _BARE": HERE,
    "settings/toml_places.py _BLANK": HERE,
    "settings/toml_places.py _QUOTED": HERE,
    "settings/toml_places.py _SCALAR": HERE,
    "settings/toml_places.py _SPACE": HERE,
    "settings/toml_places.py _STRING": HERE,
    "settings/invalid_values.py , | or ": ANYWHERE,
    "settings/literal_types.py _NUMBER": WHOLE,
    "settings/literal_types.py _REFERENCE": ANYWHERE,
    "settings/mistakes.py _BARE_KEY": WHOLE,
    "settings/sources.py _VARIABLE": ANYWHERE,
    "settings/upstream.py ^[a-z0-9_-]{1,64}$": RUST,
    "settings/values.py [0-9a-fA-F]{64}": WHOLE,
    r"settings/values.py [A-Za-z0-9._-]+|\[?[0-9A-Fa-f:.]+\]?": WHOLE,
    r"settings/values.py [a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?": WHOLE,
    "transports/hosts.py _HEADER_NAMES": WHOLE,
    "transports/hosts.py _HOST": WHOLE,
    "transports/middleware.py _CLIENT_ID": WHOLE,
    "turns/conversation_memory.py _INDEX": ANYWHERE,
    "turns/log.py _TRACEPARENT": WHOLE,
    "emitter/whole_calls.py _IN_STRING": ANYWHERE,
    "emitter/whole_calls.py _OUTSIDE_STRING": ANYWHERE,
    "upstreams/demo.py [a-z0-9]+": ANYWHERE,
    r"upstreams/demo.py \s*\S+|\s+$": ANYWHERE,
    "upstreams/demo.py pieces": ANYWHERE,
    "upstreams/error_body.py _PAGE": ANYWHERE,
    "upstreams/error_keys.py _ANNOUNCED": ANYWHERE,
    "upstreams/error_keys.py _BETWEEN": ANYWHERE,
    "upstreams/error_keys.py _HUMP": ANYWHERE,
    "upstreams/demo_recall.py _INTRODUCTION": ANYWHERE,
    "upstreams/demo_recall.py _SENTENCE_END": ANYWHERE,
    "upstreams/demo_recall.py _WORD": ANYWHERE,
    "upstreams/demo_words.py _FILE": WHOLE,
    "upstreams/demo_words.py _PART": ANYWHERE,
    "upstreams/demo_words.py _SUM": ANYWHERE,
    "upstreams/error_keys.py _ID": WHOLE,
    "upstreams/error_keys.py _LONG_WORD": WHOLE,
    "upstreams/error_keys.py _MARK": ANYWHERE,
    "upstreams/error_keys.py _TOKEN": ANYWHERE,
    "upstreams/error_keys.py _WORD": WHOLE,
    "upstreams/faults.py <[^<>]*>": ANYWHERE,
    "upstreams/faults.py _ADDRESSES": ANYWHERE,
    "upstreams/faults.py _BAD_KEY": ANYWHERE,
    "upstreams/faults.py _MODEL_FAILED": ANYWHERE,
    "upstreams/faults.py _POLICY": ANYWHERE,
    "upstreams/faults.py _QUOTA": ANYWHERE,
    "upstreams/faults.py _TOO_LARGE": ANYWHERE,
    "upstreams/faults.py _TOO_LONG": ANYWHERE,
    "upstreams/faults.py _TRACE": ANYWHERE,
    "upstreams/faults.py _UNSUPPORTED": ANYWHERE,
    "upstreams/faults.py _WAIT": ANYWHERE,
    "upstreams/litellm_errors.py _BYTES": ANYWHERE,
    "upstreams/litellm_errors.py _NO_WAY": ANYWHERE,
    "upstreams/model_list.py _NOT_FOR_CHAT": ANYWHERE,
    "upstreams/model_list.py _NUM_CTX": ANYWHERE,
    "upstreams/refused_param.py _FIRST_NAME": HERE,
    "upstreams/survey.py _AT_THE_END": ANYWHERE,
    "upstreams/survey.py _VERSIONED": ANYWHERE,
    "observers/redaction.py _ANNOUNCED": ANYWHERE,
    "observers/redaction.py _BASE64": WHOLE,
    "observers/redaction.py _DIGIT": ANYWHERE,
    "observers/redaction.py _MARKED": ANYWHERE,
    "observers/redaction.py _REST": HERE,
}


def test_every_regular_expression_has_a_row() -> None:
    """A new one says here how it is used."""
    assert set(HOW) == set(FOUND)


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
    found = FOUND[key]
    work = _work(found)
    for index, text in enumerate(_inputs(4 * N)):
        began = time.thread_time()
        work(text)
        if time.thread_time() - began > QUICK:
            assert_linear(f"{key} on {text[:20]!r}", lambda n, index=index: list(_inputs(n))[index], work, N)  # type: ignore[misc]
