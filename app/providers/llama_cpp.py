"""llama.cpp, and llamafile, which is made from it. It takes a tool_choice in words only."""

from typing import Final

from .provider import ErrorWords, Provider
from .responses_api import ResponsesApi

PROVIDERS: Final = (
    Provider(
        name="llama_cpp",
        at_any_address=True,
        messages_at_any_address=True,
        responses=ResponsesApi(functions_only=True, hosted_tools=(), explicit_items=True),
        error_words=ErrorWords(too_long=("exceed_context_size", "available context size")),
        named_tool_choice="required",
        takes_image_urls=False,
    ),
    Provider(
        name="llamafile",
        named_tool_choice="required",
    ),
)
