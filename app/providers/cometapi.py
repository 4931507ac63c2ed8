"""CometAPI."""

from typing import Final

from .provider import Litellm, Provider

PROVIDERS: Final = (
    Provider(
        name="cometapi",
        litellm=Litellm(chat_parsers=("CometAPIChatCompletionStreamingHandler",)),
    ),
)
