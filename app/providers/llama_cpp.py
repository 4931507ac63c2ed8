"""llama.cpp, and llamafile, which is made from it. It takes a tool_choice in words only."""

from typing import Final

from app.providers.provider import Provider

PROVIDERS: Final = (
    Provider(
        name="llama_cpp",
        speaks_chat=True,
        named_tool_choice="required",
        takes_image_urls=False,
    ),
    Provider(
        name="llamafile",
        named_tool_choice="required",
    ),
)
