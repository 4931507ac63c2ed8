"""OpenAI."""

from typing import Final

from ..options import ChatCompat
from .provider import LEVELS, ErrorWords, Litellm, ModelFacts, Provider, SetupFault, Translation


def efforts(facts: ModelFacts) -> tuple[str, ...] | None:
    """The efforts that the model map contains."""
    if not facts.supports("reasoning"):
        return None
    least = [name for name in ("none", "minimal") if facts.supports(f"{name}_reasoning_effort")]
    most = [name for name in ("xhigh", "max") if facts.supports(f"{name}_reasoning_effort")]
    return (*least, *LEVELS, *most)


OPENAI: Final = Provider(
    name="openai",
    base_url="https://api.openai.com/v1",
    key_variable="OPENAI_API_KEY",
    prefers_responses=True,
    one_maker=True,
    takes_hints=True,
    call_ids="plain40",
    compat=ChatCompat(max_tokens_field="max_completion_tokens", reasoning_field="none"),
    error_words=ErrorWords(
        too_long=("input tokens exceed the configured",),
        state=(
            r"\bencrypted content .{1,200} could not be verified",
            r"\bencrypted content (?:could not be (?:decrypted|parsed)|organization_id did not match)",
        ),
    ),
    litellm=Litellm(
        own_hosts=".openai.com",
        any_key=True,
        asks_responses=True,
        setup_faults=(
            SetupFault(
                "OpenAIError",
                "upstream_auth_error",
                "has no key, or no complete settings, for this model's provider.",
            ),
        ),
    ),
    translation=Translation(efforts=efforts),
)

PROVIDERS: Final = (OPENAI,)
