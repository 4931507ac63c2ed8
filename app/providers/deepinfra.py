"""DeepInfra."""

from typing import Final

from .provider import Litellm, Provider

PROVIDERS: Final = (
    Provider(
        name="deepinfra",
        base_url="https://api.deepinfra.com/v1/openai",
        key_variable="DEEPINFRA_API_KEY",
        litellm=Litellm(any_key=True),
    ),
)
