"""CometAPI."""

from typing import Final

from app.providers.provider import Litellm, Provider

PROVIDERS: Final = (
    Provider(
        name="cometapi",
        litellm=Litellm(chat_parsers=("CometAPIChatCompletionStreamingHandler",)),
    ),
)
