"""How much a request may hold, and what it costs to refuse more."""

from typing import Any, Final

import msgspec
import pytest
from pydantic import ValidationError

from app.bridges.tool_types.shell import ShellCallItem
from app.fetching.url_policy import check_url
from app.json_text import count_values, is_json_object
from app.parsing.bounds import MAX_JSON_VALUES, MAX_PARTS, MAX_TOOLS
from app.parsing.request_body import parse_request
from app.protocol.problems import Problem, ProblemError

LONG: Final = "x" * 100_000
"""A name that somebody gave for the sake of its length."""


def body(**fields: object) -> bytes:
    return msgspec.json.encode({"model": "m", "input": "Hi", **fields})


def problem_of(given: bytes, **limits: int) -> Problem:
    with pytest.raises(ProblemError) as raised:
        parse_request(given, **limits)
    return raised.value.problem


def item(kind: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"type": kind, "call_id": "c", **fields}]


def logprobs(tokens: int) -> bytes:
    """A history with an answer of so many tokens, each with its 20 most probable alternatives."""
    entry = {"token": "word", "logprob": -1.5, "bytes": [119, 111, 114, 100]}
    part = {"type": "output_text", "text": "", "logprobs": [entry | {"top_logprobs": [entry] * 20}] * tokens}
    return body(input=[{"type": "message", "role": "assistant", "content": [part]}])


def test_a_history_with_log_probabilities_is_refused_with_what_to_raise() -> None:
    """docs/configuration.md names the figure."""
    parse_request(logprobs(1_400))
    assert problem_of(logprobs(1_500)) == Problem(
        code="invalid_value",
        message="Invalid value for 'body': it contains more than the 250000 JSON values that are allowed "
        "(the server's setting 'max_json_values').",
        param="body",
    )
    parse_request(logprobs(1_500), max_json_values=500_000)


LIMITED: Final[dict[str, tuple[dict[str, Any], dict[str, int]]]] = {
    "max_items": ({"input": [{"role": "user", "content": "Hi"}] * 3}, {"max_items": 2}),
    "max_tools": ({"tools": [{"type": "function", "name": "f"}] * 3}, {"max_tools": 2}),
}


@pytest.mark.parametrize("setting", LIMITED)
def test_a_refusal_names_the_setting_that_bounds_it(setting: str) -> None:
    fields, limits = LIMITED[setting]
    message = problem_of(body(**fields), **limits).message
    assert message.endswith(f"it contains 3 entries, and at most 2 are allowed (the server's setting '{setting}').")


def test_lists_that_are_too_long_are_refused() -> None:
    assert problem_of(body(include=["x"] * 101)).param == "include"
    assert problem_of(body(context_management=[{"type": "compaction"}] * 101)).param == "context_management"
    assert problem_of(body(metadata={str(number): "" for number in range(17)})).param == "metadata"


def test_all_parts_of_a_request_are_counted_together() -> None:
    parts = [{"type": "input_text", "text": "a"}] * 3
    message = {"role": "user", "content": parts}
    thoughts = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "b"}] * 3, "content": []}
    shell = {"type": "shell_call", "call_id": "c", "action": {"commands": ["ls"] * 3}}
    given = body(input=[message, thoughts, shell])
    assert parse_request(given, max_parts=9).items[0].type == "message"
    assert problem_of(given, max_parts=8) == Problem(
        code="invalid_value",
        message="Invalid value for 'input[2]': up to here the input contains 9 content parts and other list entries, "
        "and at most 8 are allowed (the server's setting 'max_parts').",
        param="input[2]",
    )


@pytest.mark.parametrize(
    "given",
    [
        body(input=[{"role": "user", "content": [{"type": "input_text", "text": ""}] * (MAX_PARTS + 1)}]),
        body(input=item("additional_tools", tools=[{"type": "x"}] * (MAX_PARTS + 1))),
        body(tools=[{"type": "namespace", "name": "n", "tools": [{"type": "x"}] * (MAX_TOOLS + 1)}]),
        body(tool_choice={"type": "allowed_tools", "tools": [{"type": "x"}] * (MAX_TOOLS + 1)}),
    ],
)
def test_what_is_too_much_is_refused_before_it_is_read(given: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []
    monkeypatch.setattr("app.parsing.shaped.validated", read.append)
    monkeypatch.setattr("app.parsing.chosen_tools.validated", read.append)
    assert problem_of(given).code == "invalid_value"
    assert not read


@pytest.mark.parametrize(
    ("values", "given"),
    [
        (1, b"{}"),
        (2, b'{"a":1}'),
        (4, b'{"a":[1,2]}'),
        (5, b'[{},"{},[{]",{"a{,":0}]'),
        (3, rb'["a\\", "b\",,,\\\""]'),
        (3, rb'["\\\\\\\"{{{,,,", "\""]'),
    ],
)
def test_values_are_counted_but_not_what_is_written_in_strings(values: int, given: bytes) -> None:
    """Never fewer than there are; an empty container counts once more for what could be in it."""
    assert values <= count_values(given) <= values + given.count(b"{}") + 1
    for size in range(1, 12):
        assert count_values(given, chunk=size) == count_values(given)


def test_a_body_of_many_values_is_refused() -> None:
    problem = problem_of(b'{"model":"m","input":[' + b"{}," * MAX_JSON_VALUES + b"{}]}")
    assert (problem.code, problem.param) == ("invalid_value", "body")
    text = msgspec.json.encode({"model": "m", "input": '{[,]}\\"' * MAX_JSON_VALUES})
    assert parse_request(text).model == "m"


NAMES: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "model": ({"model": LONG}, "model"),
    "metadata": ({"metadata": {LONG: "v"}}, "metadata."),
    "steering": ({f"litellm_{LONG}": 1}, "litellm_"),
    "chosen tool": ({"tool_choice": {"type": "function", "name": LONG}}, "tool_choice.name"),
    "chosen type": ({"tool_choice": {"type": LONG}}, "tool_choice.type"),
    "allowed tool": (
        {"tool_choice": {"type": "allowed_tools", "tools": [{"type": "function", "name": LONG}]}},
        "tool_choice.tools[0].name",
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_long_name_is_refused_and_not_repeated(name: str) -> None:
    given, path = NAMES[name]
    problem = problem_of(body(**given))
    assert problem.param.startswith(path)
    assert problem.shape.status == 400
    assert len(msgspec.json.encode(problem.body())) < 1000


def test_the_effort_of_an_update_is_one_that_is_known() -> None:
    """As that of the request is."""
    given = body(
        input=[{"role": "user", "content": "Hi"}, {"type": "configuration_update", "reasoning": {"effort": "u"}}]
    )
    assert (problem_of(given).code, problem_of(given).param) == ("invalid_value", "input[1].reasoning.effort")


def test_pydantic_stops_at_the_first_wrong_entry() -> None:
    """What the bound above rests on."""
    with pytest.raises(ValidationError) as raised:
        ShellCallItem.model_validate({"type": "shell_call", "call_id": "c", "action": {"commands": [1, 2, 3]}})
    assert raised.value.error_count() == 1


def test_an_address_is_short() -> None:
    """The standard library remembers those that it has split, a hundred of them whole."""
    check_url("https://example.com/" + "a" * 8_000, "here", allow_private=False)
    with pytest.raises(ProblemError, match="longer than 8192 characters"):
        check_url("https://example.com/" + "a" * 9_000, "here", allow_private=False)


OBJECTS: Final = ("{}", '{"a":1}', '{"a":[{}],"b":"\\ud83d\\ude00"}', ' {"a":null} ', '{"a":' * 100 + "1" + "}" * 100)
OTHERS: Final = (
    "",
    "[]",
    "1",
    "null",
    '{"a":tru}',
    '{"a":1,}',
    '{"a":"\\x"}',
    '{"a":01}',
    "{a:1}",
    "{} x",
    '{"a":' * 9_000,
)


@pytest.mark.parametrize("text", [*OBJECTS, *OTHERS])
def test_an_object_is_known_without_being_built(text: str) -> None:
    assert is_json_object(text) is (text in OBJECTS)
