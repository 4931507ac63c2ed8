"""Bodies for Claude that its server takes, blocks that come back as they were, and schemas that it enforces."""

import os
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.catalog import Catalog
from app.dialects.exchange import Exchange, new_exchange
from app.dialects.messages.schemas import UnenforceableError, enforced
from app.dialects.messages.server import MESSAGES
from app.emitter.response import Lifecycle
from app.history.sealing import Sealer, Seals
from app.prompt.nouns import Model
from app.settings.load import Settings
from app.settings.tables import Caller
from app.tools.table import SHAPES
from app.types.json import encode
from app.types.parse import decode, parse
from app.types.problems import ProblemError
from tests.core.test_prompt_property import ITEMS
from tests.wire.servers.anthropic import begins, block, ends, text, thinking, tool_use
from tests.wire.servers.anthropic_rules import body_faults
from tests.wire.servers.anthropic_schemas import schema_faults

Json = dict[str, Any]
VERSIONS: Final = (
    "claude-3-5-haiku-latest",
    "claude-sonnet-4-5",
    "claude-opus-4-6",
    "claude-opus-5",
    "claude-sonnet-5-5",
)
TOOL: Final = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}


def model_of(name: str) -> Model:
    there = {"via": "messages", "provider": "anthropic", "base_url": "http://a.example"}
    catalog = Catalog(Settings.model_validate({"upstreams": {"a": there}, "models": {"*": {"upstream": "a"}}}))
    return catalog.routes(name, Caller())[0].model


MODELS: Final = {name: model_of(name) for name in VERSIONS}


def turn(body: Json, model: Model) -> Exchange:
    request, _ = parse({"model": "m", "include": ["reasoning.encrypted_content"], **body}, SHAPES)
    sealer = Sealer(Seals(["key"]), "")
    return new_exchange(request, model, MESSAGES, Lifecycle(request), sealer)


@settings(max_examples=int(os.environ.get("EXAMPLES", "200")), deadline=None)
@given(ITEMS, st.sampled_from(VERSIONS), st.sampled_from([None, "none", "low"]), st.booleans())
def test_any_history_becomes_a_body_that_the_server_takes(
    items: list[Json],
    version: str,
    effort: str | None,
    tools: bool,
) -> None:
    asked: Json = {"input": items, "reasoning": {"effort": effort}, "tools": [TOOL] if tools else []}
    try:
        body = turn(asked, MODELS[version]).body
    except ProblemError:
        return
    assert body_faults(body) == []


def sent(kind: str, index: int) -> tuple[list[Json], list[Json]]:
    """The events of a block, or of two that belong together, and what must come back."""
    signature = f"s{index}+/="
    match kind:
        case "text":
            return text(index, f"t{index}", " \u2028"), [{"type": "text", "text": f"t{index} \u2028"}]
        case "thinking" | "silent":
            thought = f" {index}\n" if kind == "thinking" else ""
            whole = {"type": "thinking", "thinking": thought, "signature": signature}
            return thinking(index, *thought, signature=signature), [whole]
        case "redacted_thinking":
            return block(index, kind, data=signature), [{"type": kind, "data": signature}]
        case "search":
            search: Json = {"id": f"srvtoolu_{index}", "name": "web_search", "input": {"query": "q"}}
            found: Json = {
                "tool_use_id": search["id"],
                "content": [{"type": "web_search_result", "url": "https://a.b"}],
            }
            both = {"server_tool_use": search, "web_search_tool_result": found}
            events = [event for name, fields in both.items() for event in block(index, name, **fields)]
            return events, [{"type": name, **fields} for name, fields in both.items()]
        case _:
            call = {"type": "tool_use", "id": f"toolu_{index}", "name": "f", "input": {"n": index}}
            return tool_use(index, "f", f"toolu_{index}", f'{{"n": {index}}}'), [call]


KINDS: Final = st.sampled_from(["text", "thinking", "silent", "redacted_thinking", "tool_use", "search"])


@settings(deadline=None)
@given(st.lists(KINDS, min_size=1, max_size=12))
def test_any_sequence_of_blocks_comes_back_as_it_was(kinds: list[str]) -> None:
    """Only adjacent texts are joined."""
    pairs = [sent(kind, index) for index, kind in enumerate([*kinds, "text"])]
    first = turn({"input": "Hi", "tools": [TOOL], "reasoning": {"effort": "low"}}, MODELS["claude-opus-5"])
    for event in [*begins(), *[event for events, _ in pairs for event in events], *ends()]:
        first.receive(event)
    items = decode(encode(first.end()[-1]))["response"]["output"]
    outputs = [
        {"type": "function_call_output", "call_id": item["call_id"], "output": "done"}
        for item in items
        if item["type"] == "function_call"
    ]
    again = [{"role": "user", "content": "Hi"}, *items, *outputs, {"role": "user", "content": "Go"}]
    body = turn({"input": again, "tools": [TOOL], "reasoning": {"effort": "low"}}, MODELS["claude-opus-5"]).body
    joined: list[Json] = []
    for held in [held for _, several in pairs for held in several]:
        if joined and joined[-1]["type"] == held["type"] == "text":
            joined[-1] = {"type": "text", "text": joined[-1]["text"] + held["text"]}
        else:
            joined.append(held)
    assert body["messages"][1] == {"role": "assistant", "content": joined}


TEXT: Final = {"type": "string"}


def an_object(**properties: Any) -> Json:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


@pytest.mark.parametrize(
    "schema",
    [
        an_object(a=TEXT, b={"type": "integer", "maximum": 9}, c={"type": ["null", "string"], "format": "color"}),
        an_object(a={"type": "array", "items": TEXT, "minItems": 3}, b={"enum": ["x", 1]}, c={"const": None}),
        an_object(a={"anyOf": [TEXT, {"type": "null"}], "default": None}),
        an_object(a={"oneOf": [{"const": 1}, {"const": 2, "description": "Two."}]}, b={"allOf": [TEXT], "default": ""}),
        {**an_object(a={"$ref": "#/$defs/A", "description": "D."}), "$defs": {"A": {"properties": {"b": TEXT}}}},
    ],
)
def test_a_schema_is_made_as_the_server_enforces_it(schema: Json) -> None:
    assert schema_faults({"output_config": {"format": {"schema": enforced(schema, {})}}}) == []


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/A", "$defs": {"A": an_object(a={"$ref": "#/$defs/A"})}},
        an_object(a={"$ref": "#"}),
        an_object(a={"type": "object"}),
        an_object(a={"type": "object", "additionalProperties": TEXT}),
        an_object(a={}),
        an_object(a=True),
        an_object(a={"type": "date"}),
        {**an_object(a=TEXT), "anyOf": [{"required": ["a"]}]},
        an_object(a={"allOf": [TEXT, TEXT]}),
    ],
)
def test_a_schema_that_cannot_be_enforced_is_known(schema: Json) -> None:
    with pytest.raises(UnenforceableError):
        enforced(schema, {})
