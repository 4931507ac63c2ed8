"""Fireworks AI."""

from typing import Final

from .provider import Litellm, Provider, Translation

PROVIDERS: Final = (
    Provider(
        name="fireworks_ai",
        aliases=("fireworks",),
        base_url="https://api.fireworks.ai/inference/v1",
        key_variable="FIREWORKS_API_KEY",
        litellm=Litellm(any_key=True, chat_parsers=("FireworksAIChatCompletionStreamingHandler",)),
        translation=Translation(
            drops_strict=True,
            formats_beside_tools=(),  # litellm drops the format when there are tools
        ),
    ),
)
