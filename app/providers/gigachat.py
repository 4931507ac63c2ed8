"""GigaChat."""

from typing import Final

from .provider import Litellm, Provider

PROVIDERS: Final = (
    Provider(
        name="gigachat",
        litellm=Litellm(fetches_images="always"),
    ),
)
