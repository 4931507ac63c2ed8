"""Servers that speak what the providers really speak, and refuse what they really refuse.

    with DeepSeekWire([Thinks("Two cities."), Calls("get_weather", '{"city": "Rome"}')], [Says("Fine.")]) as wire:
        ...                          # configure provider="deepseek", base_url=wire.url, api_key=KEY; ask for wire.model
    assert wire.asks[1].body[...]    # leaving the block fails if any ask was one that the real server refuses

A script is in no wire format: one answer per ask, each a list of `Thinks`, `Hides`, `Says` and `Calls`; the last one is
given again for every further ask, and `wire.say(…)` begins anew. Each server says it in its own format, streamed or
whole as it is asked to, with ids, signatures and counts (`wire.count`) of its own, remembers what it said, and refuses
an ask that brings its calls back without what the real server wants to see again, unaltered.

A step of the wire format itself can stand for an answer, too: `wire.scripts = ([Status(429, …)],)`.
"""

from tests.wires.anthropic import AnthropicWire
from tests.wires.cohere import CohereWire
from tests.wires.deepseek import DeepSeekWire
from tests.wires.gemini import GeminiWire
from tests.wires.mistral import MistralWire
from tests.wires.ollama import OllamaWire
from tests.wires.ollama_compatible import OllamaCompatibleWire
from tests.wires.openai import OpenAIWire
from tests.wires.openrouter import OpenRouterWire
from tests.wires.vllm import OlderVllmWire, VllmWire
from tests.wires.wire import KEY, Answer, Calls, Count, Hides, Says, Thinks, Wire, Word

__all__ = [
    "KEY",
    "Answer",
    "AnthropicWire",
    "Calls",
    "CohereWire",
    "Count",
    "DeepSeekWire",
    "GeminiWire",
    "Hides",
    "MistralWire",
    "OlderVllmWire",
    "OllamaCompatibleWire",
    "OllamaWire",
    "OpenAIWire",
    "OpenRouterWire",
    "Says",
    "Thinks",
    "VllmWire",
    "Wire",
    "Word",
]
