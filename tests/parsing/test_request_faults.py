"""What is wrong with a request, by its path."""

from typing import Any

import msgspec
import pytest

from app.parsing.request_body import parse_request
from app.parsing.unsupported import STEERING
from app.protocol.problems import Problem, ProblemError


def problem_of(body: bytes, **limits: int) -> Problem:
    """Why this body is refused."""
    with pytest.raises(ProblemError) as raised:
        parse_request(body, **limits)
    return raised.value.problem


def fault(**fields: object) -> tuple[str, str]:
    """Code and path of the problem with these fields."""
    problem = problem_of(msgspec.json.encode({"model": "m", "input": "Hi", **fields}))
    return problem.code, problem.param


def fault_in_item(item: object) -> tuple[str, str]:
    """Code and path of the problem with one item behind a good one."""
    return fault(input=[{"role": "user", "content": "Hi"}, item])


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "invalid_json"),
        (b"{", "invalid_json"),
        (b'{"model": "m", "input": NaN}', "invalid_json"),
        (b'{"model": "m", "temperature": Infinity}', "invalid_json"),
        (b'{"model": "m", "temperature": 1e999}', "invalid_json"),
        (b"\xef\xbb\xbf{}", "invalid_json"),
        (b'{"model": "\xff"}', "invalid_json"),
        (b'{"model": "\\ud800"}', "invalid_json"),
        (b"[" * 100_000, "invalid_json"),
        (b'{"a":' * 200 + b"1" + b"}" * 200, "invalid_json"),
        (b'{"model": "m", "input": "x", "metadata": ' + b"[" * 130 + b"]" * 130 + b"}", "invalid_json"),
        (b"[]", "invalid_type"),
        (b'"text"', "invalid_type"),
        (b"null", "invalid_type"),
        (b"1.5", "invalid_type"),
    ],
)
def test_a_body_that_is_no_json_object_is_refused(body: bytes, code: str) -> None:
    """Whatever arrives, a 400 answers."""
    assert problem_of(body).code == code


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"model": None}, ("missing_required_parameter", "model")),
        ({"model": ""}, ("missing_required_parameter", "model")),
        ({"model": 5}, ("invalid_type", "model")),
        ({"input": None}, ("missing_required_parameter", "input")),
        ({"input": 5}, ("invalid_type", "input")),
        ({"input": {}}, ("invalid_type", "input")),
        ({"stream": "true"}, ("invalid_type", "stream")),
        ({"stream": 1}, ("invalid_type", "stream")),
        ({"parallel_tool_calls": 0}, ("invalid_type", "parallel_tool_calls")),
        ({"temperature": True}, ("invalid_type", "temperature")),
        ({"temperature": "1"}, ("invalid_type", "temperature")),
        ({"temperature": 2.1}, ("invalid_value", "temperature")),
        ({"temperature": -0.1}, ("invalid_value", "temperature")),
        ({"top_p": 1.1}, ("invalid_value", "top_p")),
        ({"presence_penalty": -2.5}, ("invalid_value", "presence_penalty")),
        ({"frequency_penalty": 2.5}, ("invalid_value", "frequency_penalty")),
        ({"max_output_tokens": 0}, ("invalid_value", "max_output_tokens")),
        ({"max_output_tokens": 1.5}, ("invalid_type", "max_output_tokens")),
        ({"max_tool_calls": 0}, ("invalid_value", "max_tool_calls")),
        ({"top_logprobs": 21}, ("invalid_value", "top_logprobs")),
        ({"top_logprobs": -1}, ("invalid_value", "top_logprobs")),
        ({"metadata": {str(n): "x" for n in range(17)}}, ("invalid_value", "metadata")),
        ({"metadata": {"a": 1}}, ("invalid_type", "metadata.a")),
        ({"metadata": []}, ("invalid_type", "metadata")),
        ({"include": "all"}, ("invalid_type", "include")),
        ({"include": ["x", 1]}, ("invalid_type", "include[1]")),
        ({"truncation": "some"}, ("invalid_value", "truncation")),
        ({"reasoning": "high"}, ("invalid_type", "reasoning")),
        ({"reasoning": {"effort": "heroic"}}, ("invalid_value", "reasoning.effort")),
        ({"text": []}, ("invalid_type", "text")),
        ({"text": {"format": "json"}}, ("invalid_type", "text.format")),
        ({"text": {"format": {}}}, ("missing_required_parameter", "text.format.type")),
        ({"text": {"format": {"type": "xml"}}}, ("invalid_value", "text.format.type")),
        (
            {"text": {"format": {"type": "json_schema", "name": "n"}}},
            ("missing_required_parameter", "text.format.schema"),
        ),
        ({"text": {"verbosity": "loud"}}, ("invalid_value", "text.verbosity")),
        ({"tools": {}}, ("invalid_type", "tools")),
        ({"tools": [5]}, ("invalid_type", "tools[0]")),
        ({"tools": [{}]}, ("missing_required_parameter", "tools[0].type")),
        ({"tools": [{"type": 5}]}, ("invalid_type", "tools[0].type")),
        ({"tools": [{"type": "function"}]}, ("missing_required_parameter", "tools[0].name")),
        ({"tools": [{"type": "function", "name": "a b"}]}, ("invalid_value", "tools[0].name")),
        ({"tools": [{"type": "function", "name": "a\n"}]}, ("invalid_value", "tools[0].name")),
        ({"tools": [{"type": "function", "name": "a" * 129}]}, ("invalid_value", "tools[0].name")),
        ({"tools": [{"type": "function", "name": "f", "parameters": []}]}, ("invalid_type", "tools[0].parameters")),
        ({"tools": [{"type": "function", "name": "f", "strict": 1}]}, ("invalid_type", "tools[0].strict")),
        ({"tool_choice": "any"}, ("invalid_value", "tool_choice")),
        ({"tool_choice": 5}, ("invalid_type", "tool_choice")),
        ({"tool_choice": {}}, ("missing_required_parameter", "tool_choice.type")),
        ({"tool_choice": {"type": "function"}}, ("missing_required_parameter", "tool_choice.name")),
        ({"tool_choice": {"type": "function", "name": 5}}, ("invalid_type", "tool_choice.name")),
        ({"tool_choice": {"type": "allowed_tools"}}, ("missing_required_parameter", "tool_choice.tools")),
        ({"tool_choice": {"type": "allowed_tools", "tools": 5}}, ("invalid_type", "tool_choice.tools")),
        ({"tool_choice": {"type": "allowed_tools", "tools": [5]}}, ("invalid_type", "tool_choice.tools[0]")),
        (
            {"tool_choice": {"type": "allowed_tools", "tools": [], "mode": "x"}},
            ("invalid_value", "tool_choice.mode"),
        ),
    ],
)
def test_a_fault_in_a_parameter_is_named_by_its_path(fields: dict[str, Any], expected: tuple[str, str]) -> None:
    """One fault, one path."""
    assert fault(**fields) == expected


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": 5}, "Invalid type for 'model': expected a string, but got an integer."),
        ({"stream": "true"}, "Invalid type for 'stream': expected a boolean, but got a string."),
        ({"temperature": "1"}, "Invalid type for 'temperature': expected a number, but got a string."),
        ({"max_output_tokens": 1.5}, "Invalid type for 'max_output_tokens': expected an integer, but got a number."),
        ({"metadata": []}, "Invalid type for 'metadata': expected an object, but got an array."),
        ({"metadata": {"a": None}}, "Invalid type for 'metadata.a': expected a string, but got null."),
        ({"include": "all"}, "Invalid type for 'include': expected an array, but got a string."),
        ({"reasoning": "high"}, "Invalid type for 'reasoning': expected an object, but got a string."),
        ({"text": {"verbosity": 5}}, "Invalid value for 'text.verbosity': it should be 'low', 'medium' or 'high'."),
        ({"temperature": 2.1}, "Invalid value for 'temperature': it should be less than or equal to 2."),
        (
            {"tools": [{"type": "function", "name": "a b"}]},
            "Invalid value for 'tools[0].name': it should match pattern '^[a-zA-Z0-9_-]{1,128}\\z'.",
        ),
    ],
)
def test_a_fault_says_what_was_expected_in_the_words_of_json(fields: dict[str, Any], message: str) -> None:
    problem = problem_of(msgspec.json.encode({"model": "m", "input": "Hi", **fields}))
    assert problem.message == message


@pytest.mark.parametrize(
    ("item", "code", "path"),
    [
        (5, "invalid_type", ""),
        ({}, "missing_required_parameter", ".content"),
        ({"type": 5}, "invalid_type", ".type"),
        ({"role": "user"}, "missing_required_parameter", ".content"),
        ({"role": "user", "content": 5}, "invalid_type", ".content"),
        ({"role": "tool", "content": "x"}, "invalid_value", ".role"),
        ({"content": "x"}, "missing_required_parameter", ".role"),
        ({"role": "user", "content": ["x"]}, "invalid_type", ".content[0]"),
        ({"role": "user", "content": [{}]}, "missing_required_parameter", ".content[0].type"),
        ({"role": "user", "content": [{"type": "input_text"}]}, "missing_required_parameter", ".content[0].text"),
        (
            {"role": "user", "content": [{"type": "input_image", "image_url": {"url": "x"}}]},
            "invalid_type",
            ".content[0].image_url",
        ),
        (
            {"role": "user", "content": [{"type": "input_image", "detail": "fine"}]},
            "invalid_value",
            ".content[0].detail",
        ),
        (
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "x"}}]},
            "missing_required_parameter",
            ".content[0].input_audio.format",
        ),
        ({"type": "function_call", "name": "f", "arguments": ""}, "missing_required_parameter", ".call_id"),
        ({"type": "function_call", "call_id": "c", "name": "f", "arguments": {}}, "invalid_type", ".arguments"),
        ({"type": "function_call_output", "call_id": "c"}, "missing_required_parameter", ".output"),
        ({"type": "function_call_output", "call_id": "c", "output": 5}, "invalid_type", ".output"),
        ({"type": "reasoning", "summary": [{"text": 5}]}, "invalid_type", ".summary[0].text"),
        ({"type": "item_reference", "id": "msg_1"}, "unsupported_parameter", ""),
        ({"id": "msg_1"}, "unsupported_parameter", ""),
    ],
)
def test_a_fault_in_an_item_is_named_by_its_path(item: object, code: str, path: str) -> None:
    """Down to the part."""
    assert fault_in_item(item) == (code, f"input[1]{path}")


@pytest.mark.parametrize("key", [*sorted(STEERING), "litellm_params", "aws_secret_access_key"])
def test_keys_that_steer_the_machinery_are_refused(key: str) -> None:
    """Such a key could send this server's own key to another address."""
    assert fault(**{key: None}) == ("unknown_parameter", key)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"previous_response_id": "resp_1"}, "stateless"),
        ({"conversation": {"id": "conv_1"}}, "stateless"),
        ({"prompt": {"id": "pmpt_1"}}, "stateless"),
        ({"background": True}, "stateless"),
    ],
)
def test_what_needs_a_memory_is_refused_with_advice(fields: dict[str, Any], words: str) -> None:
    """The message says how to do without."""
    problem = problem_of(msgspec.json.encode({"model": "m", "input": "Hi", **fields}))
    assert (problem.code, problem.param) == ("unsupported_parameter", *fields)
    assert words in problem.message


def test_an_item_reference_is_refused_with_the_remedy() -> None:
    """The AI SDK sends them unless told `store: false`."""
    body = msgspec.json.encode({"model": "m", "input": [{"type": "item_reference", "id": "x"}]})
    assert "store: false" in problem_of(body).message


def test_the_number_of_items_and_tools_is_limited() -> None:
    """By arguments; the wire's own limits are the defaults."""
    message = {"role": "user", "content": "Hi"}
    tool = {"type": "web_search"}
    body = msgspec.json.encode({"model": "m", "input": [message] * 3, "tools": [tool] * 3})
    assert problem_of(body, max_items=2).param == "input"
    assert problem_of(body, max_tools=2).param == "tools"
    assert len(parse_request(body, max_items=3, max_tools=3).items) == 3
