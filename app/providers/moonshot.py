"""Moonshot AI."""

from typing import Final

from .provider import ErrorWords, Litellm, Provider

PROVIDERS: Final = (
    Provider(
        name="moonshot",
        base_url="https://api.moonshot.ai/v1",
        messages_url="https://api.moonshot.ai/anthropic",
        key_variable="MOONSHOT_API_KEY",
        error_words=ErrorWords(state=(r"\breasoning_content is missing in assistant tool call",)),
        litellm=Litellm(any_key=True),
    ),
)
