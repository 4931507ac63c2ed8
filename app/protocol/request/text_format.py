"""How the answer's text is to look."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field, SkipValidation

from app.protocol.problems import refuse
from app.protocol.request.posted import Shape, an_object, type_of, validated


class PlainFormat(Shape):
    """Any text."""

    type: Literal["text"] = "text"


class JsonObjectFormat(Shape):
    """Any JSON object."""

    type: Literal["json_object"]


class JsonSchemaFormat(Shape):
    """JSON by a schema. `strict` asks the model's server to enforce it."""

    type: Literal["json_schema"]
    name: Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]{1,64}\z")]
    schema_: dict[str, Any] = Field(alias="schema")
    description: str | None = None
    strict: bool | None = None


TextFormat = PlainFormat | JsonObjectFormat | JsonSchemaFormat

_FORMATS: Final[dict[str, type[TextFormat]]] = {
    "text": PlainFormat,
    "json_object": JsonObjectFormat,
    "json_schema": JsonSchemaFormat,
}


class TextConfig(Shape):
    """Format and length of the answer's text."""

    format: Annotated[TextFormat, SkipValidation] = PlainFormat()
    verbosity: Literal["low", "medium", "high"] | None = None


def parse_text(raw: object) -> TextConfig:
    """The `text` parameter."""
    text = {key: value for key, value in an_object(raw, "text").items() if value is not None}
    if "format" in text:
        text["format"] = _parse_format(text["format"])
    return validated(TextConfig, text, "text")


def _parse_format(raw: object) -> TextFormat:
    path = "text.format"
    kind = type_of(an_object(raw, path), path)
    if kind not in _FORMATS:
        names = "', '".join(_FORMATS)
        raise refuse("invalid_value", f"Invalid value for '{path}.type': expected one of '{names}'.", f"{path}.type")
    return validated(_FORMATS[kind], an_object(raw, path), path)
