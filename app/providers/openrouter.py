"""OpenRouter: models of many providers, asked in one way."""

from typing import Final

from .provider import LEVELS, Litellm, Provider, Translation
from .responses_api import ResponsesApi

_HOSTED: Final = (
    "openrouter:",
    "web_search",
    "code_interpreter",
    "computer_use_preview",
    "file_search",
    "image_generation",
    "mcp",
)
"""The types that its documentation of requests lists, beside those that a client runs."""

PROVIDERS: Final = (
    Provider(
        name="openrouter",
        base_url="https://openrouter.ai/api/v1",
        key_variable="OPENROUTER_API_KEY",
        responses=ResponsesApi(functions_only=True, hosted_tools=_HOSTED),
        litellm=Litellm(any_key=True, chat_parsers=("OpenRouterChatCompletionStreamingHandler",)),
        translation=Translation(efforts=("none", "minimal", *LEVELS, "xhigh")),
    ),
)
