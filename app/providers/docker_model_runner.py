"""Docker Model Runner, which runs llama.cpp."""

from typing import Final

from .provider import Provider

PROVIDERS: Final = (
    Provider(
        name="docker_model_runner",
        base_url="http://127.0.0.1:12434/engines/v1",
        named_tool_choice="required",
        takes_image_urls=False,
    ),
)
