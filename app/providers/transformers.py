"""`transformers serve`. It does not read a tool_choice."""

from typing import Final

from .provider import Provider

PROVIDERS: Final = (
    Provider(
        name="transformers",
        base_url="http://127.0.0.1:8000/v1",
        named_tool_choice="required",
    ),
)
