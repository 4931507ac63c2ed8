"""Oracle Cloud Infrastructure."""

from typing import Final

from .provider import Litellm, Provider

PROVIDERS: Final = (
    Provider(
        name="oci",
        litellm=Litellm(own_credentials=True),
    ),
)
