"""The regular expression of a custom tool: whether a call obeys it, what is not checked, and what it may cost."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from app.bridges.input_checks import InputChecks, InputForm
from app.bridges.input_patterns import FEATURE, LONGEST_PATTERN, MOST_PATTERNS, MOST_WARNINGS
from app.settings import Model, Server, Settings, Upstream
from tests.support.relay_turns import client_events, on_functions
from tests.support.scan import seconds_of
from tests.support.serving import serving
from tests.wire.event_stream import judged
from tests.wire.script import Chunk, call_turn
from tests.wire.servers import ChatUpstream
from tests.wire.servers.responses import answer, begins, call
from tests.wire.sockets import opened

Json = dict[str, Any]

MISMATCH = "The input of a call of 't' does not match the regular expression of the tool."
UNREADABLE = (
    "The input of a call of 't' was not checked: its regular expression cannot be compiled "
    "(Rust's syntax, without look-around and backreferences; not too large)."
)
TOO_LARGE = "The input of a call of 't' was not checked: its regular expression is too large for inputs of this length."
TOO_LONG = "The input of a call of 't' was not checked: its regular expression has more than 1,000 characters."
DATE = r"\d{4}-\d\d-\d\d"


def told(pattern: str, *inputs: str) -> list[str]:
    """What the client is told of calls with these inputs."""
    checks = InputChecks()
    check = checks.check("tools[0].format.definition", "t", InputForm("regex", pattern))
    for text in inputs:
        check(text)
    assert {(warning.param, warning.feature) for warning in checks.warnings} <= {
        ("tools[0].format.definition", FEATURE)
    }
    return [warning.details for warning in checks.warnings]


@pytest.mark.parametrize(
    ("pattern", "text", "warnings"),
    [
        (DATE, "2026-11-19", []),
        (DATE, "2026-11-19\n", [MISMATCH]),
        (DATE, "on 2026-11-19", [MISMATCH]),
        (DATE, "", [MISMATCH]),
        ("", "", []),
        ("", "a", [MISMATCH]),
        ("a|ab", "ab", []),
        ("^a$", "a", []),
        ("a.c", "a\nc", [MISMATCH]),
        ("(?s)a.c", "a\nc", []),
        ("(?x) a  b", "ab", []),
        (r"\w+", "größe", []),
        (r"[\w-]{1,64}", "a-b", []),
        (r"[\w-]{1,64}", "a b", [MISMATCH]),
        (".*", "\ud800", [MISMATCH]),
        (r"(?=a)a", "a", [UNREADABLE]),
        (r"(?<!a)b", "b", [UNREADABLE]),
        (r"(a)\1", "aa", [UNREADABLE]),
        ("a)|(?:b", "a", [UNREADABLE]),
        ("(", "(", [UNREADABLE]),
        ("(" * 300 + "a" + ")" * 300, "a", [UNREADABLE]),
        (r"\w{1000}", "a", [UNREADABLE]),
        ("a{1000}{1000}", "a", [UNREADABLE]),
        ("a" * LONGEST_PATTERN, "a" * LONGEST_PATTERN, []),
        ("a" * (LONGEST_PATTERN + 1), "a", [TOO_LONG]),
        (r"[\w-]{1,64}", "a" * 199, [MISMATCH]),
        (r"[\w-]{1,64}", "a" * 200, [TOO_LARGE]),
        (r"[A-Za-z0-9_-]{1,64}", "a" * 100_000, [MISMATCH]),
        ("(a+)+", "a" * 1_000_000, []),
        ("(a+)+$", "a" * 1_000_000 + "!", [MISMATCH]),
        ("[01]*1[01]{100}", "01" * 5_000, []),
        ("[01]*1[01]{1000}", "01" * 50_000, [TOO_LARGE]),
    ],
)
def test_an_input_is_held_against_the_whole_expression(pattern: str, text: str, warnings: list[str]) -> None:
    """By the rules of Rust's engine. What it cannot compile, or not cheaply, is told as such."""
    assert told(pattern, text) == warnings


def test_each_tool_is_told_of_once_and_for_each_fault() -> None:
    assert told(DATE, "a", "b", "2026-11-19", "c") == [MISMATCH]
    assert told("[01]*1[01]{1000}", "a", "10" * 60_000, "b", "0" * 200_000) == [MISMATCH, TOO_LARGE]


def test_the_inputs_of_an_answer_are_bounded_together() -> None:
    """Many calls cost no more than a long one."""
    assert told("[01]*[01]{1000}", *["0" * 1_000] * 40) == []
    assert told(r"[\w-]{1,64}", *["a" * 64] * 15) == []
    assert told("[01]*[01]{1000}", *["0" * 1_000] * 100) == [TOO_LARGE]


def test_few_expressions_are_compiled_for_an_answer() -> None:
    checks = InputChecks()
    for index in range(MOST_PATTERNS + 1):
        checks.check(f"tools[{index}].format.definition", f"t{index}", InputForm("regex", "a" * (index + 1)))("b")
    *mismatches, last = [warning.details for warning in checks.warnings]
    assert len(mismatches) == MOST_PATTERNS
    assert all("does not match" in details for details in mismatches)
    assert last == (
        f"The input of a call of 't{MOST_PATTERNS}' was not checked: the regular expressions of {MOST_PATTERNS} other "
        "tools were compiled for this answer."
    )
    for index in range(100):
        form = InputForm("regex", "c" * (index + 10))
        checks.check(f"tools[{index}].format.definition", f"{'u' * 1_000}{index}", form)("b")
    assert len(checks.warnings) == MOST_WARNINGS
    assert max(len(warning.details) for warning in checks.warnings) < 300


def bits(length: int) -> str:
    return "".join(random.Random(length).choices("01", k=length))  # noqa: S311 — no secret


HOSTILE: dict[str, Callable[[], list[tuple[str, str]]]] = {
    "nested repetitions": lambda: [("(a+)+$", "a" * 1_000_000 + "!")],
    "nested repetitions, 16 MB": lambda: [("(a+)+$", "a" * 16_000_000 + "!")],
    "many states, few characters": lambda: [("[01]*1[01]{10000}", bits(990))],
    "some states, some characters": lambda: [("[01]*1[01]{1000}", bits(10_000))],
    "few states, many characters": lambda: [("[01]*1[01]{90}", bits(100_000))],
    "many calls": lambda: [("[01]*1[01]{1000}", bits(900))] * 2_000,
    "many expressions": lambda: [(rf"\w{{100}}a{{{index}}}", "a" * 200) for index in range(2_000)],
    "lists of classes": lambda: [("(?i)[" + r"\PL" * 300 + f"]a{{{index}}}", "a" * 200) for index in range(2_000)],
    "a repetition of nothing": lambda: [("(?:(?:){4294967295}){4294967295}", "a")],
    "a repetition of what never matches": lambda: [(r"[^\s\S]{4294967295}", "a")],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_an_answer_may_cost(name: str) -> None:
    """About a second, for what is made to cost much; other engines take years for some of it."""
    calls = HOSTILE[name]()

    def work() -> None:
        checks = InputChecks()
        for index, (pattern, text) in enumerate(calls):
            checks.check(f"tools[{index}]", "t", InputForm("regex", pattern))(text)

    assert seconds_of(work, runs=2) < 2.5


def custom(syntax: str, definition: str) -> Json:
    return {"type": "custom", "name": "t", "format": {"type": "grammar", "syntax": syntax, "definition": definition}}


DATED = custom("regex", DATE)
WRONG, RIGHT = '{"input": "today"}', '{"input": "2026-11-19"}'
FORMS: list[tuple[Json, str, list[str]]] = [
    (DATED, WRONG, [MISMATCH]),
    (DATED, RIGHT, []),
    (custom("regex", f" {DATE}\n"), RIGHT, []),
    (custom("regex", r"(?=a)a"), '{"input": "a"}', [UNREADABLE]),
    (custom("lark", "start: /.*/"), WRONG, []),
    ({"type": "custom", "name": "t"}, WRONG, []),
    ({"type": "custom", "name": "t", "format": {"type": "text"}}, WRONG, []),
]


@contextmanager
def served(chunks: list[Chunk], *, strict: bool = False) -> Iterator[str]:
    with ChatUpstream(chunks) as upstream:
        there = Upstream(via="chat", base_url=upstream.url)
        models = {"m": Model(upstream="there")}
        settings = Settings(upstreams={"there": there}, models=models, server=Server(strict=strict))
        with serving(settings) as url:
            yield url


@pytest.mark.parametrize(("tool", "arguments", "warnings"), FORMS)
def test_over_functions_the_relay_tells_it(tool: Json, arguments: str, warnings: list[str]) -> None:
    """Whether the call came in events or in the last response alone. It is passed on in any case."""
    begun = call("fc_1", "call_1", "t", arguments)
    whole = answer(begun)
    for events in (whole, [*begins(), whole[-1]]):
        turn = on_functions(tool)
        response = client_events(turn, events)[-1]["response"]
        assert [item["input"] for item in response["output"]] == [json.loads(arguments)["input"]]
        assert [warning.details for warning in turn.late_warnings] == warnings


@pytest.mark.parametrize("strict", [False, True])
def test_clients_read_it_at_the_end(*, strict: bool) -> None:
    """In the header of a whole answer, in the last event of a streamed one. `strict` does not change an answer."""
    for tool, arguments, warnings in FORMS:
        asked = {"model": "m", "input": "Hi", "tools": [tool]}
        with served(call_turn("t", arguments), strict=strict) as url:
            whole = httpx.post(f"{url}/v1/responses", json=asked)
            streamed = httpx.post(f"{url}/v1/responses", json={**asked, "stream": True})
        assert json.loads(whole.headers.get("x-am-warnings", "[]")) == warnings
        assert "x-am-warnings" not in streamed.headers
        events = [json.loads(line[6:]) for line in streamed.text.split("\n") if line.startswith("data: {")]
        assert events[-1].pop("x_am_warnings", []) == warnings
        judged(events)
        for response in (whole.json(), events[-1]["response"]):
            [item] = response["output"]
            assert (item["type"], item["input"]) == ("custom_tool_call", json.loads(arguments)["input"])


async def test_over_a_websocket_the_last_event_tells_it() -> None:
    with served(call_turn("t", WRONG)) as url:
        async with opened(url) as client:
            events = await client.ask(model="m", input="Hi", tools=[DATED])
    assert events[-1].pop("x_am_warnings") == [MISMATCH]
    judged(events)


def test_the_tools_of_a_namespace_are_checked_and_cut_calls_are_not() -> None:
    turn = on_functions({"type": "namespace", "name": "n", "description": "N", "tools": [DATED]})
    client_events(turn, answer(call("fc_1", "call_1", "n__t", WRONG)))
    assert [(warning.param, warning.details) for warning in turn.late_warnings] == [
        ("tools[0].tools[0].format.definition", MISMATCH)
    ]
    turn = on_functions(DATED)
    begun = call("fc_1", "call_1", "t", '{"input": "20')
    begun.done["status"] = "incomplete"
    client_events(turn, answer(begun, status="incomplete", incomplete_details={"reason": "max_output_tokens"}))
    assert list(turn.late_warnings) == []
