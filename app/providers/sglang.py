"""SGLang."""

from typing import Final

from .provider import Provider

PROVIDERS: Final = (
    Provider(
        name="sglang",
        base_url="http://127.0.0.1:30000/v1",
    ),
)
