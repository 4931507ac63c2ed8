"""GitHub Models, which run at Azure."""

from typing import Final

from ..options import ChatCompat
from .provider import Provider

PROVIDERS: Final = (
    Provider(
        name="github",
        base_url="https://models.github.ai/inference",
        key_variable="GITHUB_TOKEN",
        call_ids="plain40",
        compat=ChatCompat(reasoning_field="none"),
    ),
)
