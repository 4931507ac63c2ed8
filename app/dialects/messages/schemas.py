"""JSON schemas as Claude's server enforces them: it refuses a request with any other.

    limits, such as `minimum` and `maxLength`      are moved to the description, where the model reads them
    `oneOf`, a single `allOf`                      become `anyOf`
    objects that may have other properties         may have no others, if they name any
    recursion, maps of any names, …                make the whole schema unenforceable

A tool that it cannot enforce is offered without `strict`; a format becomes an instruction. Whether all
schemas of a request are too much for it is found out by asking (`turns/attempts`).
"""

import re
from collections.abc import Set as AbstractSet
from graphlib import CycleError, TopologicalSorter
from typing import Any

from msgspec.structs import replace

from ...prompt.build import instructed, instruction
from ...prompt.nouns import Model, Prompt
from ...tools.base import FunctionSpec
from ...types.json import Json, as_object, encode, without
from ...types.problems import Warnings

_FORMATS = frozenset({"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uri", "uuid"})
_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_CHOICES = ("anyOf", "oneOf", "allOf")
_NEEDED = frozenset({*_CHOICES, "items", "patternProperties", "properties"})
"""Keys without which a schema means something else."""
_UNREAD = frozenset({"$schema", "$id", "$comment"})
"""Keys that tell a model nothing."""
_HINTS = frozenset({"default", "deprecated", "example", "examples", "readOnly", "writeOnly"})
"""Keys that limit no value: moving them to the description loses nothing."""
_REFERENCE = re.compile(rb'"\$ref":"([^"]*)"')
_NO_ARGUMENTS: Json = {"type": "object", "properties": {}, "additionalProperties": False}


class UnenforceableError(Exception):
    """The server cannot enforce this schema."""


def enforced(schema: Json, moved: dict[str, None]) -> Json:
    """The schema as the server takes it; `moved` gets the keys that are only described. Raises `UnenforceableError`."""
    uses = {name: _references(each) for name, each in _definitions(schema).items()}
    try:
        TopologicalSorter(uses).prepare()
    except CycleError:
        raise UnenforceableError from None
    if not _references(schema) <= uses.keys():
        raise UnenforceableError
    own: dict[str, None] = {}
    made = _made(schema, own)
    moved |= own
    return made


def _made(schema: Any, moved: dict[str, None]) -> Json:
    rest = without(as_object(schema), *_UNREAD)
    made: Json = {key: _each(rest.pop(key), moved) for key in ("$defs", "definitions") if key in rest}
    if "$ref" in rest:
        reference = {"$ref": rest.pop("$ref")}
        made |= {"anyOf": [reference]} if rest else reference  # nothing may stand beside it
    elif chosen := [key for key in _CHOICES if isinstance(rest.get(key), list)]:
        variants = rest.pop(chosen[0])
        if chosen[0] == "allOf" and len(variants) > 1:
            raise UnenforceableError
        rest.pop("type", None)  # the variants have types of their own
        made["anyOf"] = [_made(variant, moved) for variant in variants]
        moved |= {"oneOf": None} if chosen[0] == "oneOf" else {}
    elif "enum" in rest or "const" in rest:
        made |= {key: rest.pop(key) for key in ("type", "enum", "const") if key in rest}
    else:
        _type(rest, made, moved)
    if rest.keys() & _NEEDED:
        raise UnenforceableError
    made |= {"title": rest.pop("title")} if "title" in rest else {}
    lines = [rest.pop("description")] if isinstance(rest.get("description"), str) else []
    moved |= dict.fromkeys([key for key in rest if key not in _HINTS])
    lines += [encode(rest).decode()] if rest else []
    return {**made, "description": "\n\n".join(lines)} if lines else made


def _type(rest: Json, made: Json, moved: dict[str, None]) -> None:
    made["type"] = kind = rest.pop("type", "object" if "properties" in rest else "array" if "items" in rest else None)
    kinds = kind if isinstance(kind, list) else [kind]
    if not _TYPES.issuperset(map(str, kinds)):
        raise UnenforceableError
    if "object" in kinds:
        others, properties = rest.pop("additionalProperties", None), rest.pop("properties", {})
        if isinstance(others, dict) or not (properties or others is False):
            raise UnenforceableError
        made |= {"properties": _each(properties, moved), "additionalProperties": False}
        made |= {"required": rest.pop("required")} if "required" in rest else {}
        moved |= {"additionalProperties": None} if others is True else {}
    if "array" in kinds and "items" in rest:
        made["items"] = _made(rest.pop("items"), moved)
    if "array" in kinds and rest.get("minItems") in (0, 1):
        made["minItems"] = rest.pop("minItems")
    if "string" in kinds and rest.get("format") in _FORMATS:
        made["format"] = rest.pop("format")


def enforceable(prompt: Prompt, model: Model, warnings: Warnings) -> Prompt:
    """The prompt with schemas that the server takes."""
    output, entries = prompt.output, prompt.entries
    moved: dict[str, None] = {}
    if output is not None and output.schema is not None:
        try:
            output = replace(output, schema=enforced(output.schema, moved))
        except UnenforceableError:
            entries = tuple(instructed([*entries], instruction(output, tools=bool(prompt.functions)), model))
            output = None
            warnings.append(
                "'text.format: json_schema' is sent to the model as an instruction: its server cannot enforce it."
            )
    functions: list[FunctionSpec] = []
    lenient: list[str] = []
    chosen: list[str] = []
    for spec in prompt.functions:
        strict, parameters = spec.strict, spec.parameters
        try:
            parameters = enforced(parameters or _NO_ARGUMENTS, moved) if strict else parameters
        except UnenforceableError:
            strict = None
            lenient.append(spec.name)
        if any(key in (parameters or {}) for key in _CHOICES):
            strict, parameters = None, _merged(parameters or {})
            chosen.append(spec.name)
        functions.append(replace(spec, strict=strict, parameters=parameters))
    for names, what in (
        (moved, "Described to the model, but not enforced by its server, are these keys of schemas"),
        (lenient, "'strict' has no effect on tools that this model's server cannot enforce"),
        (chosen, "Choices between schemas at the top of parameters are only described to the model"),
    ):
        if names:
            told = ", ".join([f"'{name}'" for name in names])
            warnings.append(f"{what}: {told}.")
    return replace(prompt, entries=entries, functions=tuple(functions), output=output)


def _merged(schema: Json) -> Json:
    """Parameters without a choice between schemas at the top, which the server refuses: with the properties of all."""
    chosen = {key: schema[key] for key in _CHOICES if key in schema}
    rest = without(schema, *chosen)
    variants = [each for several in chosen.values() if isinstance(several, list) for each in several]
    properties: Json = {}
    for variant in map(as_object, (*variants, rest)):
        properties |= as_object(
            as_object(_definitions(schema).get(str(variant.get("$ref")), variant)).get("properties")
        )
    lines = [rest["description"]] if isinstance(rest.get("description"), str) else []
    return {**rest, "properties": properties, "description": "\n\n".join([*lines, encode(chosen).decode()])}


def _definitions(schema: Json) -> Json:
    """The definitions of a schema, by how they are referred to."""
    names = ("$defs", "definitions")
    return {f"#/{key}/{name}": each for key in names for name, each in as_object(schema.get(key)).items()}


def _references(schema: Any) -> AbstractSet[str]:
    return {found.decode() for found in _REFERENCE.findall(encode(schema))}


def _each(schemas: Any, moved: dict[str, None]) -> Json:
    return {name: _made(each, moved) for name, each in as_object(schemas).items()}
