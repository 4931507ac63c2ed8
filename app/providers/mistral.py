"""Mistral, and its address for Codestral. Call ids are nine letters and digits, and an unknown key is an error."""

from typing import Final

from ..options import ChatCompat
from .provider import Litellm, Provider, Translation

_SOUND: Final = frozenset({"input_audio"})

PROVIDERS: Final = (
    Provider(
        name="mistral",
        base_url="https://api.mistral.ai/v1",
        key_variable="MISTRAL_API_KEY",
        one_maker=True,
        call_ids="alphanumeric9",
        compat=ChatCompat(stream_options=False, reasoning_field="none"),
        litellm=Litellm(any_key=True, chat_parsers=("MistralChatResponseIterator",)),
        translation=Translation(lost_parts=_SOUND, effort_as_prompt=True),
    ),
    Provider(
        name="codestral",
        base_url="https://codestral.mistral.ai/v1",
        key_variable="CODESTRAL_API_KEY",
        call_ids="alphanumeric9",
        compat=ChatCompat(stream_options=False, reasoning_field="none"),
        litellm=Litellm(any_key=True),
        translation=Translation(lost_parts=_SOUND),
    ),
)
