"""Together AI."""

from typing import Final

from .provider import LEVELS, Litellm, Provider, Translation

PROVIDERS: Final = (
    Provider(
        name="together_ai",
        aliases=("together",),
        base_url="https://api.together.ai/v1",
        key_variable="TOGETHER_API_KEY",
        litellm=Litellm(any_key=True),
        translation=Translation(efforts=LEVELS),
    ),
)
