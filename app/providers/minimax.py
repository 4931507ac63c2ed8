"""MiniMax. In its chat completions the reasoning is a part of the text, in `<think>` tags."""

from typing import Final

from .provider import Provider

PROVIDERS: Final = (
    Provider(
        name="minimax",
        base_url="https://api.minimax.io/v1",
        messages_url="https://api.minimax.io/anthropic",
        key_variable="MINIMAX_API_KEY",
        prefers_messages=True,
        one_maker=True,
    ),
)
