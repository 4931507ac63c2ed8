"""Cerebras."""

from typing import Final

from app.options import ChatCompat
from app.providers.provider import LEVELS, Litellm, Provider, Translation

PROVIDERS: Final = (
    Provider(
        name="cerebras",
        base_url="https://api.cerebras.ai/v1",
        key_variable="CEREBRAS_API_KEY",
        speaks_chat=True,
        compat=ChatCompat(reasoning_field="none"),
        litellm=Litellm(any_key=True),
        translation=Translation(efforts=LEVELS),
    ),
)
