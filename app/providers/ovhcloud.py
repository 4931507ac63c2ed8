"""OVHcloud."""

from typing import Final

from .provider import Litellm, Provider

PROVIDERS: Final = (
    Provider(
        name="ovhcloud",
        litellm=Litellm(chat_parsers=("OVHCloudChatCompletionStreamingHandler",)),
    ),
)
