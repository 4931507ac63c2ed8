"""JSON schemas in the form that Claude's server can hold a model to.

It refuses a request with any other schema. Of what it cannot enforce

    limits, such as `minimum` and `maxLength`      are moved to the description, where the model reads them
    `oneOf`, a single `allOf`                      become `anyOf`
    objects that may have other properties         may have no others, if they name any
    recursion, objects of any properties, …        make the whole schema unenforceable

As Anthropic's own library does, except for the last line: that removes what it does not know, and so allows nothing
but `{}` for an object of any properties.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

Json = dict[str, Any]

DEEPEST: Final = 50
"""Levels of schemas within schemas."""
_FORMATS: Final = frozenset(
    {"date", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "time", "uri", "uuid"}
)
_TYPES: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_DEFINITIONS: Final = ("$defs", "definitions")
_ANNOTATIONS: Final = frozenset({"title", "description"})
_UNREAD: Final = frozenset({"$schema", "$id", "$comment"})
"""Keys that tell a model nothing."""
_HINTS: Final = frozenset({"default", "deprecated", "example", "examples", "readOnly", "writeOnly"})
"""Keys that limit no value: moving them to the description loses nothing."""
_COMBINED: Final = ("anyOf", "oneOf", "allOf")


class UnenforceableError(Exception):
    """The server cannot enforce this schema. The text says why."""


class EnforcedSchema:
    """A schema in that form."""

    def __init__(self, schema: Json) -> None:
        """Raises `UnenforceableError`."""
        self.moved: dict[str, None] = {}
        """The keys that are not enforced but described, and those that mean less."""
        self.optional = 0
        """Properties that may be left out."""
        self.unions = 0
        """Schemas of several types."""
        self._names = {f"#/{key}/{name}" for key in _DEFINITIONS for name in _object(schema.get(key))}
        if _is_recursive(schema):
            raise UnenforceableError("it refers to itself")
        self.schema = self._enforced(schema, 0)

    def _enforced(self, schema: Any, depth: int) -> Json:
        if not isinstance(schema, dict):
            raise UnenforceableError("it allows any value somewhere")
        if depth > DEEPEST:
            raise UnenforceableError("it is too deep")
        rest = {key: value for key, value in schema.items() if key not in _UNREAD}
        made: Json = {}
        for key in _DEFINITIONS:
            if isinstance(held := rest.pop(key, None), dict):
                made[key] = {name: self._enforced(each, depth + 1) for name, each in held.items()}
        if "$ref" in rest:
            self._refer(rest, made)
        elif any(key in rest for key in _COMBINED):
            self._combine(rest, made, depth)
        else:
            self._of_type(rest, made, depth)
        return self._described(rest, made)

    def _refer(self, rest: Json, made: Json) -> None:
        reference = rest.pop("$ref")
        if str(reference) not in self._names:
            raise UnenforceableError("it refers to something that is not in its definitions")
        if rest:
            made["anyOf"] = [{"$ref": reference}]  # beside a reference nothing else may stand
        else:
            made["$ref"] = reference

    def _combine(self, rest: Json, made: Json, depth: int) -> None:
        [key, *others] = [key for key in _COMBINED if key in rest]
        variants = rest.pop(key)
        if others or not isinstance(variants, list) or not variants or (key == "allOf" and len(variants) > 1):
            raise UnenforceableError(f"it combines schemas by '{key}'")
        if rest.keys() & {"properties", "items", "additionalProperties"}:
            raise UnenforceableError(f"it combines schemas by '{key}' beside other conditions")
        rest.pop("type", None)  # the variants have types of their own
        made["anyOf"] = [self._enforced(variant, depth + 1) for variant in variants]
        self.unions += len(variants) > 1
        if key == "oneOf":
            self.moved[key] = None

    def _of_type(self, rest: Json, made: Json, depth: int) -> None:
        is_literal = _take_literals(rest, made)
        kind = rest.pop("type", None)
        if kind is None and not is_literal:
            kind = "object" if "properties" in rest else "array" if "items" in rest else None
            if kind is None:
                raise UnenforceableError("it allows any value somewhere")
        if kind is not None:
            made["type"] = kind
        kinds = kind if isinstance(kind, list) else [kind]
        if any(str(each) not in _TYPES for each in kinds if not (each is None and is_literal)):
            raise UnenforceableError("it has a type that does not exist")
        self.unions += len(kinds) > 1
        if "object" in kinds and not is_literal:
            self._object(rest, made, depth)
        if "array" in kinds and "items" in rest:
            made["items"] = self._enforced(rest.pop("items"), depth + 1)
        if "array" in kinds and rest.get("minItems") in (0, 1):
            made["minItems"] = rest.pop("minItems")
        if "string" in kinds and str(rest.get("format")) in _FORMATS:
            made["format"] = rest.pop("format")

    def _object(self, rest: Json, made: Json, depth: int) -> None:
        others = rest.pop("additionalProperties", None)
        properties = rest.pop("properties", {})
        if isinstance(others, dict) or "patternProperties" in rest or not isinstance(properties, dict):
            raise UnenforceableError("it has an object whose properties may have any name")
        if not properties and others is not False:
            raise UnenforceableError("it has an object of any properties")
        required = rest.pop("required", [])
        if not isinstance(required, list) or any(str(name) not in properties for name in required):
            raise UnenforceableError("it demands a property that it does not describe")
        made["properties"] = {name: self._enforced(each, depth + 1) for name, each in properties.items()}
        if required:
            made["required"] = required
        made["additionalProperties"] = False
        self.optional += len(properties) - len(required)
        if others is True:
            self.moved["additionalProperties"] = None

    def _described(self, rest: Json, made: Json) -> Json:
        """Adds the title, and the description with what is left."""
        left = {key: value for key, value in rest.items() if key not in _ANNOTATIONS}
        self.moved |= dict.fromkeys(key for key in left if key not in _HINTS)
        lines = [rest["description"]] if isinstance(rest.get("description"), str) else []
        if left:
            lines.append(msgspec.json.encode(left).decode())
        if lines:
            made["description"] = "\n\n".join(lines)
        if isinstance(rest.get("title"), str):
            made["title"] = rest["title"]
        return made


def _take_literals(rest: Json, made: Json) -> bool:
    """Takes the values that are allowed, if they are listed."""
    for key in ("enum", "const"):
        if key in rest:
            made[key] = rest.pop(key)
            values = made[key] if key == "enum" else [made[key]]
            if not isinstance(values, list) or not values or any(isinstance(each, dict | list) for each in values):
                raise UnenforceableError(f"its '{key}' holds more than plain values")
    return bool(made.keys() & {"enum", "const"})


def _is_recursive(schema: Json) -> bool:
    """Whether a definition is reached from itself, or the schema refers to its root."""
    held = {f"#/{key}/{name}": each for key in _DEFINITIONS for name, each in _object(schema.get(key)).items()}
    users: dict[str, list[str]] = {name: [] for name in held}
    uses: dict[str, int] = {}
    """How many definitions each one refers to that are not known to end."""
    for name, each in held.items():
        used = {reference for reference in _references(each) if reference in held}
        uses[name] = len(used)
        for reference in used:
            users[reference].append(name)
    ended = [name for name, count in uses.items() if not count]
    for name in ended:
        for user in users[name]:
            uses[user] -= 1
            if not uses[user]:
                ended.append(user)
    return len(ended) < len(held)


def _references(schema: Any) -> Iterator[str]:
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(reference := value.get("$ref"), str):
                yield reference
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
