"""The `pattern` that a model's server is to enforce: it never allows more than the client's expression."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.bridges.enforced_pattern import LONGEST_PATTERN, enforced_pattern
from app.bridges.input_patterns import InputPatterns
from app.settings import Model, Secret, Settings, Upstream
from tests.support.scan import seconds_of
from tests.support.serving import serving
from tests.wire.script import call_turn
from tests.wire.servers import KEY, Calls, ChatUpstream, VllmUpstream

Json = dict[str, Any]

ENFORCED = [
    (r"\d{4}-\d\d-\d\d", "^([0-9]{4}-[0-9][0-9]-[0-9][0-9])$"),
    ("yes|no", "^(yes|no)$"),
    ("^(?:yes|no)$", "^((yes|no))$"),
    ("^a|b$", "^(a|b)$"),
    ("[a-zA-Z_-]{1,64}", r"^([a-zA-Z_\-]{1,64})$"),
    (r"[a\-z]", r"^([az\-])$"),
    ("[-a]", r"^([a\-])$"),
    (r"[\d.]+", "^([0-9.]+)$"),
    (r"[+-]?\d+(\.\d+)?", r"^([+\-]?[0-9]+(\.[0-9]+)?)$"),
    (r"\$5\-", r"^(\$5-)$"),
    ("x*y+z?", "^(x*y+z?)$"),
    ("(a{10}b){10}", "^((a{10}b){10})$"),
    ("a{2,}", "^(a{2,})$"),
]
NOT_ENFORCED = [
    *["", "^$", "$", "a$b", "a^b", "(a|)", "|a", "(a", "a)", "a\\", "[a", "[]a]", "[", "(", "\\"],
    *[r"\w+", r"\s", r"\D", r"\x41", r"\pL", r"\b", r"\n", r"\\", r"\"", r"[\w]", r"[\]]"],
    *["a.c", "[^x]", 'a"b', '["]', "a\tb", "é", "[é]", "[a-é]", "[A-z]", "[ -~]", "[z-a]", "[a&&b]", "[[a]]", "{", "]"],
    *[
        "a{,3}",
        "a{2,1}",
        "a{0}",
        "a{0,0}",
        "a{٣}",
        "a{x}",
        "a{1",
        "a{101}",
        "(a{11}){10}",
        "a+?",
        "a++",
        "a{2}{2}",
        "*",
    ],
    *["(?i)a", "(?P<x>a)", "(?=a)", "(?:", "(" * 11 + "a" + ")" * 11, "a" * (LONGEST_PATTERN + 1)],
]


@pytest.mark.parametrize(("pattern", "enforced"), ENFORCED)
def test_plain_expressions_are_sent(pattern: str, enforced: str) -> None:
    assert enforced_pattern(pattern) == enforced


@pytest.mark.parametrize("pattern", NOT_ENFORCED)
def test_others_are_not(pattern: str) -> None:
    assert enforced_pattern(pattern) is None


@pytest.mark.parametrize(("pattern", "enforced"), ENFORCED)
@given(data=st.data())
def test_what_is_enforced_matches_and_json_escapes_nothing(pattern: str, enforced: str, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(re.compile(enforced, re.ASCII), fullmatch=True))
    assert InputPatterns().fault(pattern, text) is None
    assert json.dumps(text) == f'"{text}"'


@given(st.text(alphabet='ab1-^$[](){}|?*+,.\\d "é', max_size=12))
def test_any_expression_is_read(pattern: str) -> None:
    enforced = enforced_pattern(pattern)
    if enforced is not None:
        re.compile(enforced)
        assert '"' not in enforced


def test_a_long_expression_is_read_at_once() -> None:
    longest = ["(" * 150 + ")" * 150, "[" * 300, "a{" * 150, "a|" * 150, "[a-z]" * 60]
    assert seconds_of(lambda: [enforced_pattern(each) for each in longest], runs=2) < 0.1


def custom(syntax: str, definition: str) -> Json:
    return {"type": "custom", "name": "t", "format": {"type": "grammar", "syntax": syntax, "definition": definition}}


@contextmanager
def before(upstream: ChatUpstream | VllmUpstream, provider: str, grammars: Any) -> Iterator[str]:
    there = Upstream(via="chat", provider=provider, base_url=upstream.url, api_key=Secret(KEY))
    model = Model(upstream="there", name=getattr(upstream, "model", "m"), grammars=grammars)
    with serving(Settings(upstreams={"there": there}, models={"m": model})) as url:
        yield url


def ask(url: str, tool: Json) -> httpx.Response:
    return httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi", "tools": [tool]})


@pytest.mark.parametrize(
    ("grammars", "tool", "pattern"),
    [
        ("enforce", custom("regex", "yes|no"), "^(yes|no)$"),
        ("enforce", custom("regex", r"\w+"), None),
        ("enforce", custom("lark", 'start: "yes"'), None),
        ("enforce", {"type": "custom", "name": "t"}, None),
        ("check", custom("regex", "yes|no"), None),
    ],
)
def test_the_server_is_sent_it_with_a_strict_function(grammars: str, tool: Json, pattern: str | None) -> None:
    with (
        VllmUpstream().say([Calls("t", '{"input": "yes"}')]) as upstream,
        before(upstream, "vllm", grammars) as url,
    ):
        answer = ask(url, tool)
    assert [item["input"] for item in answer.json()["output"]] == ["yes"]
    [sent] = upstream.asks[0].body["tools"]
    assert sent["function"]["parameters"]["properties"]["input"].get("pattern") == pattern
    assert sent["function"].get("strict") == (True if pattern else None)


def test_a_server_that_does_not_enforce_it_is_found_out() -> None:
    """What a server promises is checked like any other call."""
    with (
        ChatUpstream(call_turn("t", '{"input": "maybe"}')) as upstream,
        before(upstream, "llama_cpp", "enforce") as url,
    ):
        answer = ask(url, custom("regex", "yes|no"))
    assert json.loads(answer.headers["x-am-warnings"]) == [
        "The input of a call of 't' does not match the regular expression of the tool."
    ]
