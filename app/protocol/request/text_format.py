"""The format of the answer's text."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field, SkipValidation

from .shape import OneOf, Shape


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

FORMATS: Final[dict[str, type[TextFormat]]] = {
    "text": PlainFormat,
    "json_object": JsonObjectFormat,
    "json_schema": JsonSchemaFormat,
}


class TextConfig(Shape):
    """Format and length of the answer's text."""

    format: Annotated[TextFormat, SkipValidation, OneOf(FORMATS)] = PlainFormat()
    verbosity: Literal["low", "medium", "high"] | None = None
