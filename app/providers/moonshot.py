"""Moonshot AI."""

from typing import Final

from .provider import Litellm, Provider

PROVIDERS: Final = (
    Provider(
        name="moonshot",
        base_url="https://api.moonshot.ai/v1",
        messages_url="https://api.moonshot.ai/anthropic",
        key_variable="MOONSHOT_API_KEY",
        litellm=Litellm(any_key=True),
    ),
)
