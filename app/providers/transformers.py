"""`transformers serve`. It does not read a tool_choice."""

from typing import Final

from .provider import Provider
from .responses_api import ResponsesApi

PROVIDERS: Final = (
    Provider(
        name="transformers",
        base_url="http://127.0.0.1:8000/v1",
        responses=ResponsesApi(functions_only=True, hosted_tools=()),
        named_tool_choice="required",
    ),
)
