"""Scripted upstreams on a real socket of this machine, one for each wire format. They VALIDATE every ask, always.

    with ChatUpstream([says("Hi"), stops("stop")]) as upstream:
        ...                            # talk to upstream.url (it ends in /v1)
    assert upstream.asks[0].body["model"] == "m"

One script per ask: `ChatUpstream(first, second)`; the last one is used again for every further ask. A script is a list
of steps, or a function that gets the `Ask` and returns one. An ask that the real server would not accept is answered
with a 400 and fails the test when the `with` block ends; `violations` holds them.

Most of them can also play a model that is scripted in no wire format: see `model`.
"""

from tests.wire.servers.anthropic import AnthropicUpstream
from tests.wire.servers.chat import ChatUpstream
from tests.wire.servers.deepseek import DeepSeekUpstream
from tests.wire.servers.gemini import GeminiUpstream
from tests.wire.servers.groq import GroqUpstream
from tests.wire.servers.mistral import MistralUpstream
from tests.wire.servers.model import KEY, Answer, Calls, Count, Hides, ModelUpstream, Says, Thinks
from tests.wire.servers.ollama_compatible import OllamaCompatibleUpstream
from tests.wire.servers.openai import OpenAIUpstream
from tests.wire.servers.openrouter import OpenRouterUpstream
from tests.wire.servers.responses import ResponsesUpstream
from tests.wire.servers.server import ScriptedUpstream
from tests.wire.servers.steps import (
    Ask,
    Cut,
    End,
    Hang,
    Json,
    Latch,
    Leave,
    Pause,
    Reset,
    Script,
    Status,
    Step,
)
from tests.wire.servers.vllm import VllmUpstream

__all__ = [
    "KEY",
    "Answer",
    "AnthropicUpstream",
    "Ask",
    "Calls",
    "ChatUpstream",
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
    "MistralUpstream",
    "ModelUpstream",
    "OllamaCompatibleUpstream",
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
]
