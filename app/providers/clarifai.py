"""Clarifai."""

from typing import Final

from app.providers.provider import Litellm, Provider

PROVIDERS: Final = (
    Provider(
        name="clarifai",
        litellm=Litellm(routes_by_name=True),
    ),
)
