"""OpenRouter: models of many providers, asked in one way."""

from typing import Final

from .provider import LEVELS, Litellm, Provider, Translation
from .responses_api import ResponsesApi

PROVIDERS: Final = (
    Provider(
        name="openrouter",
        base_url="https://openrouter.ai/api/v1",
        key_variable="OPENROUTER_API_KEY",
        responses=ResponsesApi(functions_only=True),
        litellm=Litellm(any_key=True, chat_parsers=("OpenRouterChatCompletionStreamingHandler",)),
        translation=Translation(efforts=("none", "minimal", *LEVELS, "xhigh")),
    ),
)
