"""How the Responses API of one provider differs from OpenAI's."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsesApi:
    """A Responses API of another server. With the defaults requests are sent as they are."""

    functions_only: bool = False
    """It gets the tools that a client runs as functions: it does not know every other type."""
    hosted_tools: tuple[str, ...] | None = None
    """How the types of tools begin that it runs itself. None: it may run any, so all are sent."""
    explicit_items: bool = False
    """It takes input items only with their type, and reasoning only with its text in `content`."""


COMPLETE: Final = ResponsesApi()
