"""Perplexity."""

from typing import Final

from .provider import LEVELS, ErrorWords, Litellm, Provider, Translation

PROVIDERS: Final = (
    Provider(
        name="perplexity",
        base_url="https://api.perplexity.ai",
        key_variable="PERPLEXITY_API_KEY",
        error_words=ErrorWords(too_long=("total length of all messages is too long",)),
        litellm=Litellm(any_key=True),
        translation=Translation(efforts=LEVELS),
    ),
)
