"""Groq. It follows a format only if the answer is not streamed, and never in a request with tools."""

from typing import Final

from ..options import ChatCompat
from .capabilities import Capabilities
from .provider import LEVELS, ErrorWords, Litellm, Provider, Translation, formats_of_map

PROVIDERS: Final = (
    Provider(
        name="groq",
        base_url="https://api.groq.com/openai/v1",
        key_variable="GROQ_API_KEY",
        compat=ChatCompat(reasoning_field="none"),
        error_words=ErrorWords(model_failed=("tool_use_failed",)),
        can=Capabilities(structured_output=()),
        litellm=Litellm(any_key=True, chat_parsers=("GroqChatCompletionStreamingHandler",)),
        translation=Translation(
            formats=formats_of_map, formats_beside_tools=(), efforts=LEVELS, whole_with_format=True
        ),
    ),
)
