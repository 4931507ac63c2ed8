"""Amazon Bedrock: models of many makers, and its own address for chat completions (Mantle)."""

from dataclasses import replace
from typing import Final

from .anthropic import CLAUDE, formats_beside_tools
from .provider import ErrorWords, Litellm, ModelFacts, Provider, SetupFault, Translation


def _drops_parallel_calls(facts: ModelFacts) -> bool:
    """Only the newer Claudes get the setting."""
    return not facts.supports("native_structured_output")


_FAULTS: Final = (
    ("NoCredentialsError", "has no credentials for this model's provider."),
    ("PartialCredentialsError", "has incomplete credentials for this model's provider."),
    ("CredentialRetrievalError", "cannot get its credentials for this model's provider."),
    ("NoRegionError", "has no region for this model's provider."),
    ("ProfileNotFound", "has no such profile of credentials for this model's provider."),
)
"""Errors of Amazon's library."""

PROVIDERS: Final = (
    Provider(
        name="bedrock",
        needs_tools=True,
        error_words=ErrorWords(too_long=("input is too long", "input tokens exceeded")),
        litellm=Litellm(
            own_credentials=True,
            fetches_images="always",
            setup_faults=tuple(SetupFault(error, "upstream_auth_error", words) for error, words in _FAULTS),
        ),
        translation=Translation(
            lost_parts=frozenset({"input_audio"}),
            refuses_blank=True,
            drops_strict=True,
            drops_parallel_calls=_drops_parallel_calls,
            formats=("json_schema",),  # it drops a plain `json_object`
            formats_beside_tools=formats_beside_tools,
        ),
        claude=replace(CLAUDE, drops_parallel_calls=_drops_parallel_calls),
    ),
    Provider(
        name="bedrock_mantle",
        litellm=Litellm(fetches_images="always"),
    ),
)
