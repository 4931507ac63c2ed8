"""LM Studio. It refuses a tool_choice that names a tool."""

from typing import Final

from .provider import Provider
from .responses_api import ResponsesApi

PROVIDERS: Final = (
    Provider(
        name="lm_studio",
        base_url="http://127.0.0.1:1234/v1",
        messages_url="http://127.0.0.1:1234",
        responses=ResponsesApi(functions_only=True, hosted_tools=("mcp",)),
        named_tool_choice="required",
    ),
)
