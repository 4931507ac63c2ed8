"""vLLM, asked directly or as litellm's `hosted_vllm`. litellm's own `vllm` runs a model inside of this process."""

from typing import Final

from ..options import ChatCompat
from .provider import Litellm, Provider
from .responses_api import ResponsesApi

HOSTED: Final = Provider(name="hosted_vllm", litellm=Litellm(sends_as_is=True, any_key=True))
"""The name that litellm is given for every plain chat server."""

PROVIDERS: Final = (
    HOSTED,
    Provider(
        name="vllm",
        base_url="http://127.0.0.1:8000/v1",
        messages_url="http://127.0.0.1:8000",
        responses=ResponsesApi(functions_only=True, hosted_tools=()),
        key_header="authorization",
        compat=ChatCompat(reasoning_field="reasoning"),
    ),
)
