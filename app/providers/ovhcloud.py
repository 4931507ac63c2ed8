"""OVHcloud."""

from typing import Final

from .provider import Litellm, Provider

PROVIDERS: Final = (
    Provider(
        name="ovhcloud",
        key_variable="OVHCLOUD_API_KEY",
        litellm=Litellm(chat_parsers=("OVHCloudChatCompletionStreamingHandler",)),
    ),
)
