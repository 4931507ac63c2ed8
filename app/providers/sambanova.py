"""SambaNova. litellm joins the parts of a message into one text."""

from typing import Final

from .provider import EVERY_PART, Litellm, Provider, Translation

PROVIDERS: Final = (
    Provider(
        name="sambanova",
        base_url="https://api.sambanova.ai/v1",
        key_variable="SAMBANOVA_API_KEY",
        litellm=Litellm(any_key=True),
        translation=Translation(lost_parts=EVERY_PART),
    ),
)
