"""Clarifai."""

from typing import Final

from .provider import Litellm, Provider

PROVIDERS: Final = (
    Provider(
        name="clarifai",
        key_variable="CLARIFAI_API_KEY",
        litellm=Litellm(routes_by_name=True),
    ),
)
