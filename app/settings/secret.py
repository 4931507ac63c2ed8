"""`Secret`, a text that is never printed, logged or dumped."""

from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


class Secret:
    """A key. Only `reveal()` returns its text; printing, logging or dumping it does not show it.

    It must not be empty, and may only hold printable ASCII without spaces: it is sent in an HTTP header.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        if not text:
            message = "must not be empty"
            raise ValueError(message)
        if not all("!" <= letter <= "~" for letter in text):
            message = "must not hold spaces, line breaks or anything but printable ASCII"
            raise ValueError(message)
        self._text = text

    def reveal(self) -> str:
        """The secret itself."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> str:
        message = "a Secret cannot be pickled"
        raise TypeError(message)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Accepts a string, or a `Secret` unchanged."""
        from_text = core_schema.no_info_after_validator_function(cls, core_schema.str_schema())
        unchanged = core_schema.is_instance_schema(cls)
        return core_schema.lax_or_strict_schema(
            core_schema.no_info_before_validator_function(
                lambda value: value.reveal() if isinstance(value, cls) else value, from_text
            ),
            unchanged,
            serialization=core_schema.plain_serializer_function_ser_schema(repr),
        )
