"""Microsoft Azure: OpenAI's models, and those of its AI Foundry."""

from typing import Final

from app.options import ChatCompat
from app.providers.openai import efforts
from app.providers.provider import Litellm, Provider, Translation

_FILE: Final = frozenset({"file"})

PROVIDERS: Final = (
    Provider(
        name="azure",
        one_maker=True,
        takes_hints=True,
        call_ids="plain40",
        compat=ChatCompat(reasoning_field="none"),
        litellm=Litellm(asks_responses=True, facts_of="openai"),
        translation=Translation(efforts=efforts),
    ),
    Provider(
        name="azure_ai",
        compat=ChatCompat(reasoning_field="none"),
        translation=Translation(lost_parts=_FILE),
        claude=Translation(lost_parts=_FILE, replaces_references="old"),
    ),
)
