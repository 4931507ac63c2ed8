"""Z.ai: the GLM models."""

from typing import Final

from .provider import Provider

PROVIDERS: Final = (
    Provider(
        name="zai",
        base_url="https://api.z.ai/api/paas/v4",
        messages_url="https://api.z.ai/api/anthropic",
        key_variable="ZAI_API_KEY",
        one_maker=True,
    ),
)
