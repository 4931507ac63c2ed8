"""Eden AI."""

from typing import Final

from .provider import Litellm, Provider

PROVIDERS: Final = (
    Provider(
        name="edenai",
        key_variable="EDENAI_API_KEY",
        litellm=Litellm(chat_parsers=("EdenAIChatCompletionStreamingHandler",)),
    ),
)
