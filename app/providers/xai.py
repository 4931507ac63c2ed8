"""xAI."""

from typing import Final

from .provider import ErrorWords, Litellm, Provider, Translation

PROVIDERS: Final = (
    Provider(
        name="xai",
        base_url="https://api.x.ai/v1",
        key_variable="XAI_API_KEY",
        one_maker=True,
        error_words=ErrorWords(
            state=(r"\bcould not decrypt the provided encrypted_content", r"\bcould not decode the compaction blob")
        ),
        litellm=Litellm(any_key=True, chat_parsers=("XAIChatCompletionStreamingHandler",)),
        translation=Translation(drops_strict=True),
    ),
)
