"""vLLM: a server of one's own, reached directly or as litellm's `hosted_vllm`. litellm's `vllm` runs it in-process."""

from typing import Final

from app.options import ChatCompat
from app.providers.provider import Litellm, Provider

_COMPAT: Final = ChatCompat(reasoning_field="reasoning")
_ADDRESS: Final = "http://127.0.0.1:8000/v1"

HOSTED: Final = Provider(
    name="hosted_vllm",
    base_url=_ADDRESS,
    speaks_chat=True,
    compat=_COMPAT,
    litellm=Litellm(sends_as_is=True, any_key=True),
)
"""The provider under whose name litellm is asked for every plain chat server."""

PROVIDERS: Final = (
    HOSTED,
    Provider(name="vllm", base_url=_ADDRESS, speaks_chat=True, compat=_COMPAT),
)
