"""NVIDIA NIM."""

from typing import Final

from .provider import Litellm, Provider

PROVIDERS: Final = (
    Provider(
        name="nvidia_nim",
        aliases=("nvidia",),
        base_url="https://integrate.api.nvidia.com/v1",
        key_variable="NVIDIA_NIM_API_KEY",
        litellm=Litellm(any_key=True),
    ),
)
