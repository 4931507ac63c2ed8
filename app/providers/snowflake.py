"""Snowflake Cortex."""

from typing import Final

from .provider import Litellm, Provider

PROVIDERS: Final = (
    Provider(
        name="snowflake",
        litellm=Litellm(
            fetches_images="always",
            mixed_parsers=("SnowflakeStreamingHandler",),  # it loses the token counts of chat completions
        ),
    ),
)
