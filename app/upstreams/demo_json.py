"""A small value that fits a JSON schema, with what a message offers, for the demo's calls and structured answers."""

from collections.abc import Callable
from typing import Any, Final

from .demo_words import MessageWords

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
"""What a string of each format is, if the message offers none."""


def sample(schema: Any, message: str = "") -> Any:
    """One value of `schema`, the same every time for a message; None for a schema that cannot be read."""
    return _Sampler(schema, message).value(schema, "", 0)


class _Sampler:
    def __init__(self, root: Any, message: str) -> None:
        self._root = root
        self._left = MOST
        self._words = MessageWords(message)

    def value(self, schema: Any, name: str, depth: int) -> Any:
        self._left -= 1
        if not isinstance(schema, dict) or depth > DEPTH or self._left < 0:
            return None
        if "$ref" in schema:
            return self.value(_referred(self._root, schema["$ref"]), name, depth + 1)
        choices = schema.get("enum")
        named = [each for each in choices[:MOST] if self._words.mentions(each)] if isinstance(choices, list) else []
        for key, value in (
            ("const", schema.get("const")),
            ("enum", named and named[0]),
            ("default", schema.get("default")),
        ):
            if named if key == "enum" else key in schema:
                return value
        for key in ("enum", "anyOf", "oneOf", "allOf"):
            choices = schema.get(key)
            if isinstance(choices, list) and choices:
                return choices[0] if key == "enum" else self.value(_preferred(choices), name, depth + 1)
        return self._of_type(schema, name, depth)

    def _of_type(self, schema: dict[str, Any], name: str, depth: int) -> Any:
        kind = schema.get("type", "object")
        match kind[0] if isinstance(kind, list) and kind else kind:
            case "string":
                return self._string(schema, name)
            case "integer" | "number" as number:
                found = self._words.number(name, _fits_number(schema, number))
                return _between(schema.get("minimum"), schema.get("maximum")) if found is None else found
            case "boolean":
                return True
            case "null":
                return None
            case "array":
                return self._array(schema, name, depth)
            case _:
                return self._object(schema, depth)

    def _string(self, schema: dict[str, Any], name: str, *, in_order: bool = False) -> str:
        found = self._found(schema, name, in_order=in_order)
        if found is not None:
            return found
        usual = FORMATTED.get(str(schema.get("format")), "demo")
        return usual.ljust(_count(schema.get("minLength"), 0), ".")

    def _found(self, schema: dict[str, Any], name: str, *, in_order: bool = False) -> str | None:
        """What the message offers for this string. A pattern is not read, so it gets nothing from the message."""
        if "pattern" in schema:
            return None
        least, most = _count(schema.get("minLength"), 0), _count(schema.get("maxLength"), MOST)
        if "format" in schema:
            return self._words.of_format(str(schema["format"]))
        return self._words.string(name, lambda text: least <= len(text) <= most, in_order=in_order)

    def _array(self, schema: dict[str, Any], name: str, depth: int) -> list[Any]:
        items = schema.get("items", {"type": "string"})
        least = max(_count(schema.get("minItems"), 1), 1)
        made: list[Any] = []
        if (
            isinstance(items, dict)
            and items.get("type") == "string"
            and not {"enum", "const", "default"} & items.keys()
        ):
            most = _count(schema.get("maxItems"), MOST)
            while len(made) < most and (found := self._found(items, name, in_order=True)) not in (None, *made):
                made.append(found)
        return [*made, *(self.value(items, name, depth + 1) for _ in range(least - len(made)))]

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties")
        known = properties if isinstance(properties, dict) else {}
        required = schema.get("required")
        names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else list(known)
        return {name: self.value(known.get(name), name, depth + 1) for name in names[:MOST]}


def _preferred(choices: list[Any]) -> Any:
    """The first choice that is not null."""
    return next((each for each in choices if each != {"type": "null"}), choices[0])


def _count(value: Any, default: int) -> int:
    return min(value, MOST) if type(value) is int else default


def _fits_number(schema: dict[str, Any], kind: str) -> Callable[[float], bool]:
    bounds = {key: value for key, value in schema.items() if type(value) in (int, float)}

    def fits(value: float) -> bool:
        return (
            (kind == "number" or type(value) is int)
            and bounds.get("minimum", value) <= value <= bounds.get("maximum", value)
            and ("exclusiveMinimum" not in bounds or bounds["exclusiveMinimum"] < value)
            and ("exclusiveMaximum" not in bounds or value < bounds["exclusiveMaximum"])
            and "multipleOf" not in bounds
        )

    return fits


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
