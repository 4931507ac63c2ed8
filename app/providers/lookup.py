"""All providers, and the search for one by its name. A new one needs a file next to this one, and its name here."""

from typing import Final

from . import (
    anthropic,
    azure,
    bedrock,
    cerebras,
    clarifai,
    cohere,
    cometapi,
    databricks,
    deepinfra,
    deepseek,
    edenai,
    fireworks_ai,
    gemini,
    gigachat,
    github_copilot,
    groq,
    heroku,
    llama_cpp,
    lm_studio,
    mistral,
    moonshot,
    nvidia_nim,
    oci,
    ollama,
    openai,
    openrouter,
    ovhcloud,
    perplexity,
    replicate,
    sagemaker,
    sambanova,
    snowflake,
    together_ai,
    transformers,
    vertex_ai,
    vllm,
    xai,
)
from .provider import Provider

PROVIDERS: Final[tuple[Provider, ...]] = (
    *anthropic.PROVIDERS,
    *azure.PROVIDERS,
    *bedrock.PROVIDERS,
    *cerebras.PROVIDERS,
    *clarifai.PROVIDERS,
    *cohere.PROVIDERS,
    *cometapi.PROVIDERS,
    *databricks.PROVIDERS,
    *deepinfra.PROVIDERS,
    *deepseek.PROVIDERS,
    *edenai.PROVIDERS,
    *fireworks_ai.PROVIDERS,
    *gemini.PROVIDERS,
    *gigachat.PROVIDERS,
    *github_copilot.PROVIDERS,
    *groq.PROVIDERS,
    *heroku.PROVIDERS,
    *llama_cpp.PROVIDERS,
    *lm_studio.PROVIDERS,
    *mistral.PROVIDERS,
    *moonshot.PROVIDERS,
    *nvidia_nim.PROVIDERS,
    *oci.PROVIDERS,
    *ollama.PROVIDERS,
    *openai.PROVIDERS,
    *openrouter.PROVIDERS,
    *ovhcloud.PROVIDERS,
    *perplexity.PROVIDERS,
    *replicate.PROVIDERS,
    *sagemaker.PROVIDERS,
    *sambanova.PROVIDERS,
    *snowflake.PROVIDERS,
    *together_ai.PROVIDERS,
    *transformers.PROVIDERS,
    *vertex_ai.PROVIDERS,
    *vllm.PROVIDERS,
    *xai.PROVIDERS,
)

SPEAK_CHAT: Final = tuple(provider.name for provider in PROVIDERS if provider.speaks_chat)
"""Providers that may be asked directly, with `via = "chat"`."""

_BY_NAME: Final = {name: provider for provider in PROVIDERS for name in (provider.name, *provider.aliases)}


def provider_of(name: str | None) -> Provider:
    """The provider of this name. A provider without a file has all defaults."""
    if name is None:
        return _UNNAMED
    return _BY_NAME.get(name) or Provider(name=name)


_UNNAMED: Final = Provider(name="")
