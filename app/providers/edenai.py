"""Eden AI."""

from typing import Final

from .provider import Litellm, Provider

PROVIDERS: Final = (
    Provider(
        name="edenai",
        litellm=Litellm(chat_parsers=("EdenAIChatCompletionStreamingHandler",)),
    ),
)
