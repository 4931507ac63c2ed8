"""What Anthropic's server refuses in JSON schemas: of any tool, and of those that it enforces."""

from collections.abc import Iterator
from typing import Any, Final

Json = dict[str, Any]

MOST_STRICT: Final = 20
MOST_OPTIONAL: Final = 24
MOST_UNIONS: Final = 16
_TAKEN: Final = {
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "minItems"},
    "string": {"format"},
    **{name: set[str]() for name in ("integer", "number", "boolean", "null")},
}
_ANYWHERE: Final = {"$defs", "definitions", "type", "title", "description", "enum", "const", "anyOf", "$ref"}
_FORMATS: Final = {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}


def schema_faults(body: Json) -> list[str]:
    """What is wrong with the schemas of a request."""
    tools = [tool for tool in body.get("tools") or [] if "input_schema" in tool]
    found = [
        f"tools.{tool['name']}: input_schema does not support oneOf, allOf, or anyOf at the top level"
        for tool in tools
        if tool["input_schema"].keys() & {"oneOf", "allOf", "anyOf"}
    ]
    strict = [tool["input_schema"] for tool in tools if tool.get("strict")]
    if len(strict) > MOST_STRICT:
        found.append(f"Too many strict tools: {len(strict)}")
    form = ((body.get("output_config") or {}).get("format") or {}).get("schema")
    enforced = [*strict, *([] if form is None else [form])]
    nodes = [node for schema in enforced for node in _schemas(schema)]
    optional = sum(len(node.get("properties", {})) - len(node.get("required", [])) for node in nodes)
    unions = sum("anyOf" in node or isinstance(node.get("type"), list) for node in nodes)
    if optional > MOST_OPTIONAL or unions > MOST_UNIONS:
        found.append(f"Schema is too complex for compilation: {optional} optional parameters, {unions} unions")
    return [*found, *(fault for schema in enforced for fault in _faults(schema))]


def _faults(schema: Json) -> Iterator[str]:
    names = {f"#/{key}/{name}" for key in ("$defs", "definitions") for name in schema.get(key, {})}
    for node in _schemas(schema):
        if node is True or not isinstance(node, dict):
            yield "a schema must be an object"
            continue
        kinds = node["type"] if isinstance(node.get("type"), list) else [node.get("type")]
        if not node.keys() & {"type", "enum", "const", "anyOf", "$ref"}:
            yield "a schema must have a type"
        taken = _ANYWHERE.union(*(_TAKEN.get(str(kind), set()) for kind in kinds))
        if unknown := sorted(node.keys() - taken):
            yield f"For '{kinds[0]}' type, properties {', '.join(unknown)} are not supported"
        if "object" in kinds and "properties" in node and node.get("additionalProperties") is not False:
            yield "For 'object' type, 'additionalProperties' must be explicitly set to false"
        if node.get("minItems", 0) not in (0, 1):
            yield "For 'array' type, 'minItems' values other than 0 or 1 are not supported"
        if node.get("format", "date") not in _FORMATS:
            yield f"format {node['format']} is not supported"
        if "$ref" in node and (node["$ref"] not in names or node.keys() - {"$ref", "$defs", "definitions"}):
            yield f"reference {node['$ref']} is not supported"
    if _loops(schema, names):
        yield "Recursive schemas are not supported"


def _schemas(schema: Any) -> Iterator[Any]:
    """A schema and all in it."""
    yield schema
    if not isinstance(schema, dict):
        return
    within = [each for key in ("$defs", "definitions", "properties") for each in schema.get(key, {}).values()]
    within += [*schema.get("anyOf", []), *([schema["items"]] if "items" in schema else [])]
    for each in within:
        yield from _schemas(each)


def _loops(schema: Json, names: set[str]) -> bool:
    """Whether following references from a definition leads back to it."""

    def held(name: str) -> Any:
        _, key, own = name.split("/", 2)
        return schema[key][own]

    def reached(name: str, path: tuple[str, ...]) -> bool:
        if name in path:
            return True
        used = {node["$ref"] for node in _schemas(held(name)) if isinstance(node, dict) and "$ref" in node}
        return any(reached(each, (*path, name)) for each in used & names)

    return any(reached(name, ()) for name in names)
