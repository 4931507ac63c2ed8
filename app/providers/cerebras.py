"""Cerebras."""

from typing import Final

from ..options import ChatCompat
from .provider import LEVELS, ErrorWords, Litellm, Provider, Translation

PROVIDERS: Final = (
    Provider(
        name="cerebras",
        base_url="https://api.cerebras.ai/v1",
        key_variable="CEREBRAS_API_KEY",
        compat=ChatCompat(reasoning_field="none"),
        error_words=ErrorWords(too_long=("current length is.{0,40}while limit is",)),
        litellm=Litellm(any_key=True),
        translation=Translation(efforts=LEVELS),
    ),
)
