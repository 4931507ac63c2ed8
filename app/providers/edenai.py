"""Eden AI."""

from typing import Final

from app.providers.provider import Litellm, Provider

PROVIDERS: Final = (
    Provider(
        name="edenai",
        litellm=Litellm(chat_parsers=("EdenAIChatCompletionStreamingHandler",)),
    ),
)
