"""Amazon SageMaker."""

from typing import Final

from .provider import Litellm, Provider

PROVIDERS: Final = (
    Provider(
        name="sagemaker",
        aliases=("sagemaker_chat",),
        litellm=Litellm(own_credentials=True, fetches_images="always"),
    ),
    Provider(
        name="sagemaker_nova",
        litellm=Litellm(fetches_images="always"),
    ),
)
