"""Hugging Face's Inference Providers: servers of many companies. Some refuse the reasoning of earlier turns."""

from typing import Final

from ..options import ChatCompat
from .provider import Provider

PROVIDERS: Final = (
    Provider(
        name="huggingface",
        base_url="https://router.huggingface.co/v1",
        key_variable="HF_TOKEN",
        compat=ChatCompat(reasoning_field="none"),
    ),
)
