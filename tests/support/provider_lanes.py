"""Every way to a provider that a configuration can name, and one server of ours before all of them."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final, NamedTuple

from app.settings import Model, Secret, Settings, Upstream
from tests.support.providers import openai_is_here
from tests.support.servers import (
    KEY,
    AnthropicUpstream,
    CohereUpstream,
    DeepSeekUpstream,
    GeminiUpstream,
    GroqUpstream,
    MistralUpstream,
    ModelUpstream,
    OlderVllmUpstream,
    OllamaCompatibleUpstream,
    OllamaUpstream,
    OpenAIUpstream,
    OpenRouterUpstream,
    VllmUpstream,
)
from tests.support.servers.functions_only import FUNCTION_SERVERS
from tests.support.serving import serving


class Lane(NamedTuple):
    """A wire format, and how it is configured."""

    wire: type[ModelUpstream]
    upstream: dict[str, Any]
    model: dict[str, Any]


def _litellm(wire: type[ModelUpstream], provider: str | None) -> Lane:
    return Lane(wire, {"via": "litellm", "provider": provider}, {})


def _chat(wire: type[ModelUpstream], provider: str) -> Lane:
    return Lane(wire, {"via": "chat", "provider": provider}, {})


def _relayed(provider: str) -> Lane:
    return Lane(FUNCTION_SERVERS[provider], {"via": "responses", "provider": provider}, {})


LANES: Final[dict[str, Lane]] = {
    "openai": _litellm(OpenAIUpstream, "openai"),
    "openai, directly": _chat(OpenAIUpstream, "openai"),
    "deepseek": _litellm(DeepSeekUpstream, "deepseek"),
    "deepseek, directly": _chat(DeepSeekUpstream, "deepseek"),
    "anthropic": _litellm(AnthropicUpstream, "anthropic"),
    "anthropic, as messages": Lane(AnthropicUpstream, {"via": "messages", "provider": "anthropic"}, {}),
    "cohere": _litellm(CohereUpstream, "cohere_chat"),
    "groq, directly": _chat(GroqUpstream, "groq"),
    "gemini": _litellm(GeminiUpstream, "gemini"),
    "mistral": _litellm(MistralUpstream, "mistral"),
    "mistral, directly": _chat(MistralUpstream, "mistral"),
    "ollama": _litellm(OllamaUpstream, "ollama_chat"),
    "ollama, directly": _chat(OllamaCompatibleUpstream, "ollama"),
    "vllm": _litellm(VllmUpstream, "hosted_vllm"),
    "vllm, directly": _chat(VllmUpstream, "vllm"),
    "vllm before the field was renamed": _litellm(OlderVllmUpstream, "hosted_vllm"),
    "openrouter": _litellm(OpenRouterUpstream, "openrouter"),
    "openrouter, directly": _chat(OpenRouterUpstream, "openrouter"),
}

RELAYED: Final[dict[str, Lane]] = {f"{provider}, as responses": _relayed(provider) for provider in FUNCTION_SERVERS}
"""Lanes whose events are the server's own."""


class Wired(NamedTuple):
    """A server of ours, and what is behind it by the lane's name, which is the model's public name as well."""

    url: str
    wires: dict[str, ModelUpstream]


@contextmanager
def wired(lanes: Mapping[str, Lane] = LANES, **settings: Any) -> Iterator[Wired]:
    """All lanes at once. `wired.wires[lane].say(…)` scripts one.

    OpenAI is `localhost`: for other tests of the process, which know 127.0.0.1, it stays where it is.
    """
    with ExitStack() as stack:
        stack.enter_context(openai_is_here("localhost"))
        wires = {name: stack.enter_context(lane.wire().say()) for name, lane in lanes.items()}
        upstreams = {
            name: Upstream(
                base_url=wires[name].url.replace("127.0.0.1", "localhost"), api_key=Secret(KEY), **lane.upstream
            )
            for name, lane in lanes.items()
        }
        models = {name: Model(upstream=name, name=lane.wire.model, **lane.model) for name, lane in lanes.items()}
        yield Wired(stack.enter_context(serving(Settings(upstreams=upstreams, models=models, **settings))), wires)
