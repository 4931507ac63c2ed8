"""Scripted upstreams on a real socket of this machine, one for each wire format. They VALIDATE every ask, always.

    with ChatUpstream([says("Hi"), stops("stop")]) as upstream:
        ...                            # talk to upstream.url (it ends in /v1)
    assert upstream.asks[0].body["model"] == "m"

One script per ask: `ChatUpstream(first, second)`; the last one is used again for every further ask. A script is a list
of steps, or a function that gets the `Ask` and returns one. An ask that the real server would not accept is answered
with a 400 and fails the test when the `with` block ends; `violations` holds them.

Most of them can also play a model that is scripted in no wire format: see `model`.
"""

from tests.support.servers.anthropic import AnthropicUpstream
from tests.support.servers.chat import ChatUpstream
from tests.support.servers.cohere import CohereUpstream
from tests.support.servers.deepseek import DeepSeekUpstream
from tests.support.servers.gemini import GeminiUpstream
from tests.support.servers.groq import GroqUpstream
from tests.support.servers.mistral import MistralUpstream
from tests.support.servers.model import KEY, Answer, Calls, Count, Hides, ModelUpstream, Says, Thinks, Word
from tests.support.servers.ollama import OllamaUpstream
from tests.support.servers.ollama_compatible import OllamaCompatibleUpstream
from tests.support.servers.openai import OpenAIUpstream
from tests.support.servers.openrouter import OpenRouterUpstream
from tests.support.servers.responses import ResponsesUpstream
from tests.support.servers.server import ScriptedUpstream
from tests.support.servers.steps import (
    Ask,
    Cut,
    End,
    Hang,
    Json,
    Latch,
    Leave,
    LongLine,
    Pause,
    Reset,
    Script,
    Status,
    Step,
)
from tests.support.servers.vllm import OlderVllmUpstream, VllmUpstream

__all__ = [
    "KEY",
    "Answer",
    "AnthropicUpstream",
    "Ask",
    "Calls",
    "ChatUpstream",
    "CohereUpstream",
    "Count",
    "Cut",
    "DeepSeekUpstream",
    "End",
    "GeminiUpstream",
    "GroqUpstream",
    "Hang",
    "Hides",
    "Json",
    "Latch",
    "Leave",
    "LongLine",
    "MistralUpstream",
    "ModelUpstream",
    "OlderVllmUpstream",
    "OllamaCompatibleUpstream",
    "OllamaUpstream",
    "OpenAIUpstream",
    "OpenRouterUpstream",
    "Pause",
    "Reset",
    "ResponsesUpstream",
    "Says",
    "Script",
    "ScriptedUpstream",
    "Status",
    "Step",
    "Thinks",
    "VllmUpstream",
    "Word",
]
