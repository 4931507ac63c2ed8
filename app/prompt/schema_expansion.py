"""Counts how large the JSON Schemas of a request become when each reference is replaced by what it refers to.

litellm replaces them for some providers. A schema of which each definition refers twice to the next one doubles with
each definition: 17 of them block a process for ten seconds. So the replacement is counted first, value by value and
without building anything. The count ends at its limit, so that counting costs no more than the request and the limit.

It counts what litellm 1.106 does: a definition is found by the last part of the reference, in any object around it; a
reference to a definition that is being replaced stays; every object is visited with a copy of all definitions that it
sees.
"""

from typing import Any, Final, NamedTuple

from ..protocol.problems import refuse

Json = dict[str, Any]

MOST_VALUES: Final = 30_000
"""Values that the references of one request may add. They take litellm a few tenths of a second."""
MOST_COPIES: Final = 5_000_000
"""Definitions that objects may see, added up over the objects of one request: litellm copies them for each object."""
LETTERS: Final = 64
"""This many characters of a string count as one more value."""

_BLOCKS: Final = ("$defs", "definitions")


class _Node(NamedTuple):
    """A value of the schema, with the definitions that it can refer to."""

    value: Any
    definitions: Json
    replaced: frozenset[str]
    """The definitions that were replaced on the path to it."""


class SchemaExpansion:
    """Counts over all schemas of one request, and refuses the schema that exceeds the limit."""

    def __init__(self, replaces: str | None) -> None:
        """`replaces` is `Capabilities.replaces_references`."""
        self._replaces = replaces
        self._values = 0
        self._copies = 0

    def of_tool(self, parameters: Json | None, path: str) -> None:
        """Count the parameters of a tool."""
        if parameters is not None and (self._replaces == "all" or (self._replaces == "old" and _is_old(parameters))):
            self._check(parameters, path)

    def of_format(self, schema: Json, path: str) -> None:
        """Count the schema of an answer."""
        if self._replaces is not None:
            self._check(schema, path)

    def _check(self, schema: Json, path: str) -> None:
        if not self._fits(schema):
            message = (
                f"The references ($ref) in '{path}' are replaced by what they refer to for this model, and the schema "
                f"then holds too much: more than {MOST_VALUES} values for all schemas of a request, or too many "
                "definitions for its size. Use fewer references, or refer to smaller definitions."
            )
            raise refuse("invalid_value", message, path)

    def _fits(self, schema: Json) -> bool:
        components = schema.get("components")
        definitions = _seen(_object(_object(components).get("schemas")), schema)
        nodes = [
            _Node(value, definitions, frozenset())
            for value in (schema, *schema.values())
            if value is not components and value is not schema.get("$defs") and value is not schema
        ]
        if "$ref" in schema:
            nodes = [_Node(schema, definitions, frozenset())]
        while nodes:
            node = nodes.pop()
            if node.replaced:
                self._values += _size(node.value)
            if isinstance(node.value, dict):
                self._copies += len(node.definitions) + len(node.replaced)
            if self._values > MOST_VALUES or self._copies > MOST_COPIES:
                return False
            nodes += _within(node)
        return True


def _within(node: _Node) -> list[_Node]:
    """The values in this value, or the definition that replaces it if it is a reference."""
    if isinstance(node.value, list):
        return [node._replace(value=value) for value in node.value]
    if not isinstance(node.value, dict):
        return []
    reference = node.value.get("$ref")
    if not isinstance(reference, str):
        definitions = _seen(node.definitions, node.value)
        return [_Node(value, definitions, node.replaced) for value in node.value.values()]
    name = reference.rsplit("/", 1)[-1]
    target = node.definitions.get(name)
    if name in node.replaced or not isinstance(target, dict):
        return []
    return [_Node(target, _seen(node.definitions, target), node.replaced | {name})]


def _seen(definitions: Json, schema: Json) -> Json:
    """The definitions that apply inside this schema."""
    for block in _BLOCKS:
        if own := _object(schema.get(block)):
            definitions = definitions | own
    return definitions


def _is_old(schema: Json) -> bool:
    """Whether its definitions are where older versions of JSON Schema, or OpenAPI, have them."""
    return "definitions" in schema or bool(_object(_object(schema.get("components")).get("schemas")))


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _size(value: Any) -> int:
    if isinstance(value, str):
        return 1 + len(value) // LETTERS
    if isinstance(value, dict):
        return 1 + sum(len(key) // LETTERS for key in value)
    return 1
