"""What schemas hold once their references are replaced: counted in time, and refused by the exact path."""

from time import process_time
from typing import Any

import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.prompt.schema_expansion import MOST_VALUES, SchemaExpansion
from app.protocol.problems import ProblemError
from app.providers.capabilities import Capabilities
from tests.support.chat_requests import ask

Json = dict[str, Any]
ALL = Capabilities(replaces_references="all")
OLD = Capabilities(replaces_references="old")


def doubling(levels: int, block: str = "$defs") -> Json:
    """Each definition refers twice to the next one."""
    definitions: Json = {
        f"d{level}": {"properties": {side: {"$ref": f"#/{block}/d{level + 1}"} for side in "lr"}}
        for level in range(levels)
    }
    last = {f"d{levels}": {"type": "string"}}
    return {"type": "object", block: definitions | last, "properties": {"p": {"$ref": f"#/{block}/d0"}}}


def every_pair(count: int) -> Json:
    """Each definition refers to all of them."""
    pairs = [{"$ref": f"#/$defs/d{number}"} for number in range(count)]
    return {"type": "object", "$defs": {f"d{number}": {"anyOf": pairs} for number in range(count)}, "anyOf": pairs}


def chained(count: int) -> Json:
    """Each definition refers to the next one: a list in the form of a schema."""
    definitions = {f"d{number}": {"items": {"$ref": f"#/$defs/d{number + 1}"}} for number in range(count)}
    return {"type": "object", "$defs": definitions, "items": {"$ref": "#/$defs/d0"}}


LONG = {"type": "object", "$defs": {"d": {"description": "x" * 64_000}}, "anyOf": [{"$ref": "#/$defs/d"}] * 60}
CROWDED = {
    "type": "object",
    "$defs": {f"d{number}": {} for number in range(5_000)},
    "properties": {f"p{number}": {"type": "string"} for number in range(5_000)},
}
RECURSIVE = {
    "type": "object",
    "$defs": {"tree": {"type": "object", "properties": {"kids": {"items": {"$ref": "#/$defs/tree"}}}}},
    "properties": {"root": {"$ref": "#/$defs/tree"}},
}
NESTED = {"type": "object", "properties": {"p": doubling(20)}}
NAMES = {"type": "object", "$defs": {"d": {"type": "object", "properties": {"x" * 64_000: {}}}}}
TOO_MUCH = {
    "doubling": doubling(17),
    "doubling, in an old block": doubling(17, "definitions"),
    "every pair": every_pair(9),
    "chain": chained(3_000),
    "long words": LONG,
    "long names": NAMES | {"anyOf": [{"$ref": "#/$defs/d"}] * 60},
    "nested": NESTED,
    "definitions for each object": CROWDED,
}
FITS: Json = {
    "nothing": {},
    "plain": {"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(40_000)}},
    "doubling": doubling(11),
    "recursive": RECURSIVE,
    "chain": chained(500),
    "unknown": {"type": "object", "properties": {"p": {"$ref": "#/$defs/none"}, "q": {"$ref": 7}}},
    "odd": {"type": "object", "$defs": {"d": True, "e": None}, "definitions": [], "anyOf": [{"$ref": "#/$defs/d"}]},
    "root": {"$ref": "#/$defs/d", "$defs": {"d": {"type": "object"}}},
}


def refused(can: Capabilities, **fields: Any) -> str | None:
    """The path of what is refused."""
    try:
        ask(ChatOptions(can=can), **fields)
    except ProblemError as refusal:
        return refusal.problem.param
    return None


def function(schema: Json, name: str = "f") -> Json:
    return {"type": "function", "name": name, "parameters": schema}


@pytest.mark.parametrize("schema", TOO_MUCH.values(), ids=TOO_MUCH)
def test_a_schema_that_grows_too_much_is_refused_by_its_path(schema: Json) -> None:
    space = {"type": "namespace", "name": "n", "description": "d", "tools": [function({}), function(schema, "g")]}
    form = {"format": {"type": "json_schema", "name": "a", "schema": schema}}
    assert [
        refused(ALL, tools=[function({}), function(schema, "g")]),
        refused(ALL, tools=[space]),
        refused(ALL, text=form),
        refused(Capabilities(), tools=[function(schema)], text=form),
    ] == ["tools[1].parameters", "tools[0].tools[1].parameters", "text.format.schema", None]


@pytest.mark.parametrize("schema", FITS.values(), ids=FITS)
def test_other_schemas_are_asked_as_they_are(schema: Json) -> None:
    form = {"format": {"type": "json_schema", "name": "a", "schema": schema}}
    assert refused(ALL, tools=[function(schema)], text=form) is None


def test_all_schemas_of_a_request_share_the_limit() -> None:
    expansion = SchemaExpansion("all")
    expansion.of_tool(doubling(11), "tools[0]")
    expansion.of_format(doubling(10), "text.format.schema")
    with pytest.raises(ProblemError) as refusal:
        expansion.of_tool(doubling(11), "tools[1]")
    assert (refusal.value.problem.code, refusal.value.problem.param) == ("invalid_value", "tools[1]")


@pytest.mark.parametrize(
    ("block", "param"), [("$defs", None), ("definitions", "tools[0].parameters")], ids=["new", "old"]
)
def test_where_only_old_blocks_are_replaced_in_tools_new_ones_are_not_counted(block: str, param: str | None) -> None:
    schema = doubling(17, block)
    assert refused(OLD, tools=[function(schema)]) == param
    form = {"format": {"type": "json_schema", "name": "a", "schema": schema}}
    assert refused(OLD, text=form) == "text.format.schema"


def test_counting_ends_at_its_limit() -> None:
    """Sixty levels would be a quintillion of values."""

    def seconds(schema: Json) -> float:
        began = process_time()
        with pytest.raises(ProblemError):
            SchemaExpansion("all").of_tool(schema, "tools")
        return process_time() - began

    least = min(seconds(doubling(17)) for _ in range(3))
    assert min(seconds(doubling(60)) for _ in range(3)) < 10 * least + 0.05
    assert MOST_VALUES < 2**17
