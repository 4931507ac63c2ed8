"""What a client may post, and how a fault is named."""

from typing import Any

import msgspec
import pytest

from app.bridges.tool_types.custom import CustomTool, PlainInput
from app.bridges.tool_types.function import FunctionCallItem, FunctionCallOutputItem, FunctionTool
from app.parsing.request_body import parse_request
from app.protocol.request.create_response import CreateResponse
from app.protocol.request.input_items import MessageItem, ReasoningItem, UnknownItem
from app.protocol.request.input_parts import InputImagePart, TextPart, UnknownPart
from app.protocol.request.text_format import JsonSchemaFormat
from app.protocol.request.tool_choice import AllowedTools, ChosenTool
from tests.support.warning_sentences import sentences


def parse(**fields: object) -> CreateResponse:
    """A request with these fields, over the two that every request needs."""
    return parse_request(msgspec.json.encode({"model": "m", "input": "Hi", **fields}))


def test_the_shortest_request_has_every_default() -> None:
    """What was not given has its default."""
    assert parse() == CreateResponse(model="m", input="Hi", raw={"model": "m", "input": "Hi"})


def test_null_equals_absent_for_every_optional_field() -> None:
    """SDKs send null for what was not set."""
    optional = set(CreateResponse.model_fields) - {"model", "input"}
    ours = {"raw", "raw_tools", "raw_tool_choice", "warnings"}
    nothing = parse(**dict.fromkeys(optional - ours))
    assert nothing.model_copy(update={"raw": parse().raw}) == parse()


def test_every_item_is_read_by_its_type() -> None:
    """Without a type it is a message; a type nobody knows keeps all its keys."""
    items: list[dict[str, Any]] = [
        {"role": "user", "content": "Hi", "id": None},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "odd", "b": 1}]},
        {"type": "message", "role": "developer", "content": [{"type": "input_image", "image_url": "data:,"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "function_call", "call_id": "", "name": "f", "arguments": "{", "namespace": "n"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "4"}]},
        {"type": "later", "with": {"all": "keys"}},
    ]
    assert parse(input=items).input == [
        MessageItem.model_validate(items[0]),
        MessageItem(
            role="user",
            content=[
                TextPart(type="input_text", text="a"),
                UnknownPart.model_validate({"type": "odd", "b": 1}),
            ],
        ),
        MessageItem(role="developer", content=[InputImagePart(type="input_image", image_url="data:,")]),
        ReasoningItem.model_validate(items[3]),
        FunctionCallItem(type="function_call", call_id="", name="f", arguments="{", namespace="n"),
        FunctionCallOutputItem(
            type="function_call_output", call_id="c", output=[TextPart(type="input_text", text="4")]
        ),
        UnknownItem.model_validate(items[6]),
    ]


def test_unknown_keys_of_items_and_tools_are_kept() -> None:
    """They may mean something to a bridge."""
    request = parse(input=[{"role": "user", "content": "Hi", "later": 1}], tools=[{"type": "web_search", "size": 2}])
    assert [item.model_extra for item in request.items] == [{"later": 1}]
    assert [tool.model_extra for tool in request.tools] == [{"size": 2}]


def test_tools_are_read_by_their_type_and_kept_as_posted() -> None:
    """The response echoes them as they came."""
    posted = [
        {"type": "function", "name": "f", "description": None, "parameters": {"type": "object"}, "strict": True},
        {"type": "custom", "name": "g", "format": {"type": "text"}},
    ]
    request = parse(tools=posted)
    assert request.tools == [
        FunctionTool(type="function", name="f", parameters={"type": "object"}, strict=True),
        CustomTool(type="custom", name="g", format=PlainInput(type="text")),
    ]
    assert request.raw_tools == posted


@pytest.mark.parametrize(
    ("posted", "read"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ({"type": "function", "name": "f"}, ChosenTool(type="function", name="f")),
        ({"type": "custom", "name": "f"}, ChosenTool(type="custom", name="f")),
        ({"type": "apply_patch"}, ChosenTool(type="apply_patch")),
        (
            {"type": "allowed_tools", "mode": None, "tools": [{"type": "function", "name": "f"}]},
            AllowedTools(type="allowed_tools", tools=[ChosenTool(type="function", name="f")]),
        ),
        (
            {"type": "allowed_tools", "mode": "required", "tools": []},
            AllowedTools(type="allowed_tools", mode="required", tools=[]),
        ),
    ],
)
def test_tool_choice_is_read_in_all_its_forms(posted: object, read: object) -> None:
    """Three words, one tool, or a list."""
    assert parse(tool_choice=posted).tool_choice == read


def test_a_json_schema_format_is_read() -> None:
    """With its schema under the wire's name."""
    form = {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": True}
    assert parse(text={"format": form, "verbosity": "low"}).text.format == JsonSchemaFormat.model_validate(form)


def test_deep_schemas_are_read() -> None:
    """The limit of nesting is far above what anybody writes."""
    schema: dict[str, Any] = {}
    for _ in range(100):
        schema = {"properties": schema}
    assert parse(tools=[{"type": "function", "name": "f", "parameters": schema}]).raw_tools[0]["parameters"] == schema


@pytest.mark.parametrize(
    ("fields", "warnings"),
    [
        ({"store": True, "client_metadata": {"a": "b"}, "prompt_cache_retention": "24h", "user": "u"}, []),
        ({"stream_options": {"include_obfuscation": False}, "max_tool_calls": 3, "background": False}, []),
        ({"include": ["reasoning.encrypted_content", "message.output_text.logprobs"]}, []),
        ({"service_tier": "auto", "truncation": "disabled", "later": None}, []),
        ({"stop": ["x"]}, ["'stop' has no effect on this server."]),
        ({"x" * 99: 1}, [f"'{'x' * 64}' has no effect on this server."]),
        (
            {"truncation": "auto"},
            ["'truncation' has no effect on this server: a conversation that is too long is an error."],
        ),
        ({"service_tier": "warp"}, ["'service_tier' names a tier that this server does not know."]),
        ({"include": ["file_search_call.results", "message.input_image.image_url"]}, []),
        (
            {"tools": [{"type": "file_search"}], "include": ["file_search_call.results"]},
            ["'include[0]' has no effect on this server."],
        ),
        (
            {"tools": [{"type": "web_search_preview"}], "include": ["web_search_call.action.sources"]},
            ["'include[0]' has no effect on this server."],
        ),
        ({"include": ["of.tomorrow"]}, ["'include[0]' has no effect on this server."]),
    ],
)
def test_what_is_ignored_is_warned_of_where_a_caller_could_miss_it(fields: dict[str, Any], warnings: list[str]) -> None:
    """Silence only where nothing is lost."""
    assert sentences(parse(**fields).warnings) == warnings


def test_a_client_cannot_set_what_is_ours() -> None:
    """Our own fields are unknown parameters on the wire."""
    request = parse(warnings=["x"], raw_tools=[{"type": "x"}])
    assert (sentences(request.warnings), request.raw_tools) == (
        ["'warnings' has no effect on this server.", "'raw_tools' has no effect on this server."],
        [],
    )
