"""Microsoft Azure: OpenAI's models, and those of its AI Foundry."""

from typing import Final

from ..options import ChatCompat
from .openai import efforts
from .provider import ErrorWords, Litellm, Provider, SetupFault, Translation

_FILE: Final = frozenset({"file"})

PROVIDERS: Final = (
    Provider(
        name="azure",
        one_maker=True,
        takes_hints=True,
        call_ids="plain40",
        compat=ChatCompat(reasoning_field="none"),
        error_words=ErrorWords(policy=("content management policy", "ResponsibleAIPolicy")),
        litellm=Litellm(
            asks_responses=True,
            facts_of="openai",
            setup_faults=(
                SetupFault(
                    "Must provide one of the `base_url` or `azure_endpoint`",
                    "upstream_error",
                    "has no address for this model's provider.",
                ),
            ),
        ),
        translation=Translation(efforts=efforts),
    ),
    Provider(
        name="azure_ai",
        compat=ChatCompat(reasoning_field="none"),
        translation=Translation(lost_parts=_FILE),
    ),
)
