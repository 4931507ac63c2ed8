"""Replicate."""

from typing import Final

from .provider import Litellm, Provider

PROVIDERS: Final = (
    Provider(
        name="replicate",
        litellm=Litellm(routes_by_name=True),
    ),
)
