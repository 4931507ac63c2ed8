"""JSON schemas as Claude's server enforces them: what it refuses is described, or the schema is not enforced."""

import copy
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.dialects.messages.enforced_schemas import EnforcedSchema, UnenforceableError
from tests.support.messages_requests import asked
from tests.wire.servers.anthropic_schemas import schema_faults

Json = dict[str, Any]

TEXT: Final = {"type": "string"}


def an_object(**properties: Any) -> Json:
    """An object with these properties."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def of_format(schema: Json) -> Json:
    """The body of a request with this format."""
    return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}


SAME: Final[dict[str, Json]] = {
    "plain": an_object(a=TEXT, b={"type": "integer"}, c={"type": "null"}, d={"type": "boolean"}),
    "limits": an_object(a={**TEXT, "minLength": 1, "pattern": "^a"}, b={"type": "integer", "maximum": 9}),
    "described limits": an_object(a={"type": "number", "multipleOf": 2, "description": "Even."}),
    "lists": an_object(a={"type": "array", "items": TEXT, "minItems": 1, "maxItems": 3, "uniqueItems": True}),
    "long lists": an_object(a={"type": "array", "items": TEXT, "minItems": 3}),
    "formats": an_object(a={**TEXT, "format": "email"}, b={**TEXT, "format": "color"}),
    "choices": an_object(a={"anyOf": [TEXT, {"type": "null"}]}, b={"oneOf": [TEXT, {"type": "integer"}]}),
    "references": {**an_object(a={"$ref": "#/$defs/A"}), "$defs": {"A": an_object(b=TEXT)}},
    "a reference at the top": {"$ref": "#/$defs/A", "$defs": {"A": an_object(b=TEXT)}},
    "other properties": {**an_object(a=TEXT), "additionalProperties": True},
    "titles": {**an_object(a={**TEXT, "title": "A"}), "title": "T", "description": "D."},
    "defaults": an_object(a={**TEXT, "default": "x", "examples": ["y"]}),
}


def without_words(schema: Any) -> Any:
    """The schema without the words for the model, which are ours; a type beside listed values says nothing more."""
    if isinstance(schema, list):
        return [without_words(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: without_words(value) for key, value in schema.items() if key != "description"}


@pytest.mark.parametrize("schema", SAME.values(), ids=SAME)
def test_a_schema_is_enforced_as_far_as_the_package_of_anthropic_does(schema: Json) -> None:
    from anthropic import transform_schema  # noqa: PLC0415 — only the worker that runs this loads it

    got = EnforcedSchema(copy.deepcopy(schema)).schema
    assert without_words(got) == without_words(transform_schema(schema))
    assert schema_faults(of_format(got)) == []


def test_what_is_not_enforced_is_described() -> None:
    schema = an_object(
        a={"type": "integer", "minimum": 1, "maximum": 9, "description": "A number.", "default": 3},
        b={**TEXT, "maxLength": 5},
    )
    own = EnforcedSchema(schema)
    assert own.schema["properties"] == {
        "a": {"type": "integer", "description": 'A number.\n\n{"minimum":1,"maximum":9,"default":3}'},
        "b": {**TEXT, "description": '{"maxLength":5}'},
    }
    assert [*own.moved] == ["minimum", "maximum", "maxLength"], "a default limits nothing"


OTHERS: Final[dict[str, tuple[Json, Json]]] = {
    "a list of types": (an_object(a={"type": ["string", "null"]}), an_object(a={"type": ["string", "null"]})),
    "listed values of a type": (an_object(a={**TEXT, "enum": ["x"]}), an_object(a={**TEXT, "enum": ["x"]})),
    "listed values": (an_object(a={"enum": ["x", 1, None]}), an_object(a={"enum": ["x", 1, None]})),
    "no type": (an_object(a={"properties": {"b": TEXT}}), an_object(a={**an_object(b=TEXT), "required": None})),
    "a reference with words": (
        {**an_object(a={"$ref": "#/$defs/A", "description": "D."}), "$defs": {"A": TEXT}},
        {**an_object(a={"anyOf": [{"$ref": "#/$defs/A"}], "description": "D."}), "$defs": {"A": TEXT}},
    ),
    "a reference in brackets": (
        {**an_object(a={"allOf": [{"$ref": "#/$defs/A"}]}), "$defs": {"A": TEXT}},
        {**an_object(a={"anyOf": [{"$ref": "#/$defs/A"}]}), "$defs": {"A": TEXT}},
    ),
    "keys that say nothing": ({**an_object(a=TEXT), "$schema": "x", "$id": "y"}, an_object(a=TEXT)),
}


@pytest.mark.parametrize(("schema", "wanted"), OTHERS.values(), ids=OTHERS)
def test_more_than_the_package_knows(schema: Json, wanted: Json) -> None:
    got = EnforcedSchema(schema).schema
    assert got == _without_none(wanted)
    assert schema_faults(of_format(got)) == []


def _without_none(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    return {key: _without_none(value) for key, value in schema.items() if value is not None}


DEEP: Final[Json] = {}
_at = DEEP
for _ in range(60):
    _at |= {"type": "array", "items": {}}
    _at = _at["items"]
_at |= TEXT
UNENFORCEABLE: Final[dict[str, Json]] = {
    "recursion": {"$ref": "#/$defs/A", "$defs": {"A": an_object(a={"$ref": "#/$defs/A"})}},
    "recursion by a way round": {
        **an_object(a={"$ref": "#/$defs/A"}),
        "$defs": {"A": an_object(a={"$ref": "#/$defs/B"}), "B": an_object(a={"$ref": "#/$defs/A"})},
    },
    "a reference to the root": an_object(a={"$ref": "#"}),
    "a reference to a place": an_object(a=TEXT, b={"$ref": "#/properties/a"}),
    "a reference to the web": an_object(a={"$ref": "https://a.example/schema"}),
    "any object": an_object(a={"type": "object"}),
    "a map": an_object(a={"type": "object", "additionalProperties": TEXT}),
    "names by a pattern": an_object(a={"type": "object", "properties": {"x": TEXT}, "patternProperties": {"y": TEXT}}),
    "anything": an_object(a={}),
    "anything at all": an_object(a=True),
    "values that are objects": an_object(a={"enum": [{"x": 1}]}),
    "no values": an_object(a={"enum": []}),
    "several at once": an_object(a={"allOf": [an_object(b=TEXT), an_object(c=TEXT)]}),
    "a choice beside properties": {**an_object(a=TEXT), "anyOf": [{"required": ["a"]}]},
    "two choices": an_object(a={"anyOf": [TEXT], "oneOf": [TEXT]}),
    "no choice": an_object(a={"anyOf": []}),
    "an unknown property demanded": {**an_object(a=TEXT), "required": ["b"]},
    "a type of the future": an_object(a={"type": "date"}),
    "too deep": DEEP,
}


@pytest.mark.parametrize("schema", UNENFORCEABLE.values(), ids=UNENFORCEABLE)
def test_a_schema_that_cannot_be_enforced_is_known(schema: Json) -> None:
    with pytest.raises(UnenforceableError):
        EnforcedSchema(schema)


def request(*tools: Json, schema: Json | None = None) -> Json:
    """A request with these schemas of strict tools, and this format."""
    fields: Json = {
        "tools": [
            {"type": "function", "name": f"f{number}", "parameters": parameters, "strict": True}
            for number, parameters in enumerate(tools)
        ]
    }
    if schema is not None:
        fields["text"] = {"format": {"type": "json_schema", "name": "n", "schema": schema, "strict": True}}
    return fields


def test_a_format_that_cannot_be_enforced_is_an_instruction() -> None:
    got = asked(request(schema=UNENFORCEABLE["recursion"]))
    assert "output_config" not in got.body
    assert "#/$defs/A" in got.body["system"][0]["text"]
    [warning] = got.warnings
    assert warning == (
        "'text.format: json_schema' is sent to the model as an instruction: its server cannot enforce it, "
        "it refers to itself."
    )


def test_a_tool_that_cannot_be_enforced_is_offered_without_strict() -> None:
    got = asked(request(an_object(a=TEXT), UNENFORCEABLE["a map"]))
    assert [tool.get("strict") for tool in got.body["tools"]] == [True, None]
    assert got.body["tools"][1]["input_schema"] == UNENFORCEABLE["a map"]
    [warning] = got.warnings
    assert warning.startswith("'strict' has no effect on tools that this model's server cannot enforce: 'f1' (it has")


def test_limits_that_are_only_described_are_said() -> None:
    limited = an_object(a={**TEXT, "minLength": 1})
    got = asked(request(limited, schema=limited))
    assert got.warnings == [
        "'minLength' in the schema of 'text.format': the model reads it, but its server does not enforce it.",
        "'minLength' in schemas of tools: the model reads it, but its server does not enforce it.",
    ]
    assert schema_faults(got.body) == []


OPTIONAL: Final = {**an_object(**{f"p{number}": TEXT for number in range(10)}), "required": []}
UNION: Final = an_object(**{f"p{number}": {"type": ["string", "null"]} for number in range(10)})


@pytest.mark.parametrize(
    ("tools", "strict"),
    [
        ([an_object(a=TEXT)] * 25, 20),
        ([OPTIONAL] * 3, 2),
        ([UNION] * 3, 1),
        ([OPTIONAL, OPTIONAL, OPTIONAL, an_object(a=TEXT)], 3),
    ],
    ids=["too many tools", "too many optional properties", "too many types", "a smaller one fits"],
)
def test_the_server_is_asked_to_enforce_no_more_than_it_can(tools: list[Json], strict: int) -> None:
    got = asked(request(*tools))
    assert len(got.body["tools"]) == len(tools)
    assert sum("strict" in tool for tool in got.body["tools"]) == strict
    assert schema_faults(got.body) == []
    assert "too many" in got.warnings[0]


TOP: Final[dict[str, tuple[Json, Json]]] = {
    "one of two sets": (
        {**an_object(a=TEXT, b=TEXT), "required": [], "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {"a": TEXT, "b": TEXT},
    ),
    "variants": ({"oneOf": [an_object(a=TEXT), an_object(b=TEXT)]}, {"a": TEXT, "b": TEXT}),
    "definitions": ({"allOf": [{"$ref": "#/$defs/A"}], "$defs": {"A": an_object(a=TEXT)}}, {"a": TEXT}),
    "nonsense": ({"anyOf": [True, {"$ref": 1}, {"properties": []}], "oneOf": {}}, {}),
}


@pytest.mark.parametrize(("parameters", "properties"), TOP.values(), ids=TOP)
@pytest.mark.parametrize("strict", [True, False])
def test_a_choice_at_the_top_of_parameters_is_described(parameters: Json, properties: Json, *, strict: bool) -> None:
    tool = {"type": "function", "name": "f", "parameters": parameters, "strict": strict}
    got = asked({"tools": [tool]})
    schema = got.body["tools"][0]["input_schema"]
    assert (schema["type"], schema["properties"]) == ("object", properties)
    assert all(f'"{key}":' in schema["description"] for key in parameters if key.endswith("Of"))
    assert got.warnings[-1] == "Choices between schemas at the top of parameters are only described to the model: 'f'."
    assert schema_faults(got.body) == []


def test_other_models_get_their_schemas_as_they_are() -> None:
    parameters = {"type": "object", "oneOf": [{"required": ["a"]}]}
    got = asked({"tools": [{"type": "function", "name": "f", "parameters": parameters}]}, "kimi-k2")
    assert got.body["tools"][0]["input_schema"] == parameters


_LIMITS: Final = ("minItems", "minimum", "additionalProperties", "not", "pattern", "format")
_WORDS: Final = ("description", "title", "default")
_PARTS: Final = ("type", "properties", "items", "anyOf", "oneOf", "allOf", "$ref", "$defs", "required", "enum", "const")
KEYS: Final = st.sampled_from([*_LIMITS, *_WORDS, *_PARTS])
VALUES: Final = st.recursive(
    st.sampled_from(["object", "array", "string", "null", "a", "#/$defs/a", "email", True, False, None, 0, 1, 7]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.sampled_from("ab"), inner, max_size=5),
    max_leaves=12,
)


@given(st.dictionaries(KEYS, VALUES, max_size=6))
def test_whatever_a_schema_is_the_server_takes_what_is_sent(schema: Json) -> None:
    before = copy.deepcopy(schema)
    try:
        got = EnforcedSchema(schema).schema
    except UnenforceableError:
        return
    assert schema == before
    assert [fault for fault in schema_faults(of_format(got)) if "too complex" not in fault] == []
