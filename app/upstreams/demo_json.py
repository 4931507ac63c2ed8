"""A small value that fits a JSON schema, for the demo's calls and structured answers."""

from typing import Any, Final

DEPTH: Final = 8
"""Schemas may refer to themselves; nothing deeper is filled in."""
MOST: Final = 500
"""Values in one sample, and characters in one string: a schema may ask for millions."""
FORMATTED: Final = {
    "date": "2026-01-31",
    "time": "12:00:00Z",
    "date-time": "2026-01-31T12:00:00Z",
    "duration": "PT1H",
    "email": "demo@example.com",
    "uri": "https://example.com/",
    "hostname": "example.com",
    "ipv4": "127.0.0.1",
    "ipv6": "::1",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
"""What a string of each format is."""


def sample(schema: Any) -> Any:
    """One value of `schema`, always the same; None for a schema that cannot be read."""
    return _Sampler(schema).value(schema, 0)


class _Sampler:
    def __init__(self, root: Any) -> None:
        self._root = root
        self._left = MOST

    def value(self, schema: Any, depth: int) -> Any:
        self._left -= 1
        if not isinstance(schema, dict) or depth > DEPTH or self._left < 0:
            return None
        if "$ref" in schema:
            return self.value(_referred(self._root, schema["$ref"]), depth + 1)
        for key in ("const", "default"):
            if key in schema:
                return schema[key]
        for key in ("enum", "anyOf", "oneOf", "allOf"):
            choices = schema.get(key)
            if isinstance(choices, list) and choices:
                return choices[0] if key == "enum" else self.value(_preferred(choices), depth + 1)
        return self._of_type(schema, depth)

    def _of_type(self, schema: dict[str, Any], depth: int) -> Any:
        kind = schema.get("type", "object")
        match kind[0] if isinstance(kind, list) and kind else kind:
            case "string":
                return FORMATTED.get(str(schema.get("format")), "demo").ljust(_count(schema.get("minLength"), 0), ".")
            case "integer" | "number":
                return _between(schema.get("minimum"), schema.get("maximum"))
            case "boolean":
                return True
            case "null":
                return None
            case "array":
                items = schema.get("items", {"type": "string"})
                return [self.value(items, depth + 1) for _ in range(max(_count(schema.get("minItems"), 1), 1))]
            case _:
                return self._object(schema, depth)

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties")
        known = properties if isinstance(properties, dict) else {}
        required = schema.get("required")
        names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else list(known)
        return {name: self.value(known.get(name), depth + 1) for name in names[:MOST]}


def _preferred(choices: list[Any]) -> Any:
    """The first choice that is not null."""
    return next((each for each in choices if each != {"type": "null"}), choices[0])


def _count(value: Any, default: int) -> int:
    return min(value, MOST) if type(value) is int else default


def _between(least: Any, most: Any) -> Any:
    """1, or the bound that excludes 1."""
    if type(least) in (int, float) and least > 1:
        return least
    return most if type(most) in (int, float) and most < 1 else 1


def _referred(root: Any, reference: Any) -> Any:
    schema = root
    for step in filter(None, str(reference).removeprefix("#").split("/")):
        schema = schema.get(step) if isinstance(schema, dict) else None
    return schema
