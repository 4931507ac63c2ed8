"""Perplexity."""

from typing import Final

from app.providers.provider import LEVELS, Litellm, Provider, Translation

PROVIDERS: Final = (
    Provider(
        name="perplexity",
        base_url="https://api.perplexity.ai",
        key_variable="PERPLEXITY_API_KEY",
        speaks_chat=True,
        litellm=Litellm(any_key=True),
        translation=Translation(efforts=LEVELS),
    ),
)
