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
    dashscope,
    deepinfra,
    deepseek,
    docker_model_runner,
    edenai,
    fireworks_ai,
    gemini,
    gigachat,
    github,
    github_copilot,
    groq,
    heroku,
    huggingface,
    llama_cpp,
    lm_studio,
    minimax,
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
    sglang,
    snowflake,
    together_ai,
    transformers,
    vertex_ai,
    vllm,
    xai,
    zai,
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
    *dashscope.PROVIDERS,
    *deepinfra.PROVIDERS,
    *deepseek.PROVIDERS,
    *docker_model_runner.PROVIDERS,
    *edenai.PROVIDERS,
    *fireworks_ai.PROVIDERS,
    *gemini.PROVIDERS,
    *gigachat.PROVIDERS,
    *github.PROVIDERS,
    *github_copilot.PROVIDERS,
    *groq.PROVIDERS,
    *heroku.PROVIDERS,
    *huggingface.PROVIDERS,
    *llama_cpp.PROVIDERS,
    *lm_studio.PROVIDERS,
    *minimax.PROVIDERS,
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
    *sglang.PROVIDERS,
    *snowflake.PROVIDERS,
    *together_ai.PROVIDERS,
    *transformers.PROVIDERS,
    *vertex_ai.PROVIDERS,
    *vllm.PROVIDERS,
    *xai.PROVIDERS,
    *zai.PROVIDERS,
)

SPEAK_CHAT: Final = tuple(provider.name for provider in PROVIDERS if provider.speaks_chat)
"""Providers that may be asked directly, with `via = "chat"`."""

SPEAK_MESSAGES: Final = tuple(provider.name for provider in PROVIDERS if provider.speaks_messages)
"""Providers that may be asked directly, with `via = "messages"`."""

BY_NAME: Final = {name: provider for provider in PROVIDERS for name in (provider.name, *provider.aliases)}
"""Each provider that has a file, by each of its names."""


def provider_of(name: str | None) -> Provider:
    """The provider of this name. A provider without a file has all defaults."""
    if name is None:
        return _UNNAMED
    return BY_NAME.get(name) or Provider(name=name)


_UNNAMED: Final = Provider(name="")
