"""Oracle Cloud Infrastructure."""

from typing import Final

from .provider import Litellm, Provider, Translation

PROVIDERS: Final = (
    Provider(
        name="oci",
        litellm=Litellm(own_credentials=True),
        translation=Translation(replaces_references="all"),
    ),
)
