"""xAI."""

from typing import Final

from .provider import Litellm, Provider, Translation

PROVIDERS: Final = (
    Provider(
        name="xai",
        base_url="https://api.x.ai/v1",
        key_variable="XAI_API_KEY",
        one_maker=True,
        litellm=Litellm(any_key=True, chat_parsers=("XAIChatCompletionStreamingHandler",)),
        translation=Translation(drops_strict=True),
    ),
)
