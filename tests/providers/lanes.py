"""Every wire format of a provider, and one server of ours before all of them."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final, NamedTuple

from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.program import serving
from tests.wire.servers import (
    KEY,
    AnthropicUpstream,
    DeepSeekUpstream,
    GeminiUpstream,
    GroqUpstream,
    MistralUpstream,
    ModelUpstream,
    OllamaCompatibleUpstream,
    OpenAIUpstream,
    OpenRouterUpstream,
    VllmUpstream,
)


class Lane(NamedTuple):
    """A wire format, and how it is configured."""

    wire: type[ModelUpstream]
    upstream: dict[str, Any]


def litellm(wire: type[ModelUpstream], provider: str) -> Lane:
    """The way over litellm."""
    return Lane(wire, {"via": "litellm", "provider": provider})


def _chat(wire: type[ModelUpstream], provider: str) -> Lane:
    return Lane(wire, {"via": "chat", "provider": provider})


LANES: Final[dict[str, Lane]] = {
    "openai, directly": _chat(OpenAIUpstream, "openai"),
    "deepseek, directly": _chat(DeepSeekUpstream, "deepseek"),
    "anthropic": litellm(AnthropicUpstream, "anthropic"),
    "anthropic, as messages": Lane(AnthropicUpstream, {"via": "messages", "provider": "anthropic"}),
    "groq, directly": _chat(GroqUpstream, "groq"),
    "gemini": litellm(GeminiUpstream, "gemini"),
    "mistral, directly": _chat(MistralUpstream, "mistral"),
    "ollama, directly": _chat(OllamaCompatibleUpstream, "ollama"),
    "vllm, directly": _chat(VllmUpstream, "vllm"),
    "openrouter, directly": _chat(OpenRouterUpstream, "openrouter"),
}


class Wired(NamedTuple):
    """A server of ours, and what is behind it by the lane's name, which is the model's public name as well."""

    url: str
    wires: dict[str, ModelUpstream]


@contextmanager
def wired(lanes: Mapping[str, Lane]) -> Iterator[Wired]:
    """All lanes at once. `wired.wires[lane].say(…)` scripts one."""
    with ExitStack() as stack:
        wires = {name: stack.enter_context(lane.wire().say()) for name, lane in lanes.items()}
        upstreams = {
            name: Upstream(base_url=wires[name].url, api_key=KEY, breaker_failures=0, **lane.upstream)
            for name, lane in lanes.items()
        }
        models = {name: Model(upstream=name, name=lane.wire.model) for name, lane in lanes.items()}
        yield Wired(stack.enter_context(serving(Settings(upstreams=upstreams, models=models))), wires)
