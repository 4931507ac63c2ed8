"""Alibaba's Model Studio with the Qwen models. Its API is called DashScope; keys of China have another address."""

from typing import Final

from .provider import Provider

PROVIDERS: Final = (
    Provider(
        name="dashscope",
        aliases=("qwen",),
        base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        key_variable="DASHSCOPE_API_KEY",
    ),
)
