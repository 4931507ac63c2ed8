"""The models that a server lists: OpenAI's `/models`, and what servers add to it. What cannot be read is left out."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..types.json import Json, decode

_MOST = 1000
"""Models of a list that are read."""
_LONGEST = 256
"""Characters of a name."""
_WINDOWS = (
    ("max_model_len",),  # vLLM, SGLang
    ("loaded_context_length",),  # LM Studio: what the model was loaded with, which may be less than it could have
    ("context_length",),  # OpenRouter, Together, Fireworks
    ("context_window",),  # Groq
    ("max_context_length",),  # LM Studio, Mistral
    ("max_input_tokens",),  # Anthropic
    ("meta", "n_ctx"),  # llama.cpp
    ("meta", "n_ctx_train"),
    ("metadata", "context_length"),  # DeepInfra
)
"""Where a model's context window stands, in tokens. The first one counts."""
_NOT_FOR_CHAT = re.compile(r"embed|rerank|whisper|tts|dall-e|image|moderation|transcri", re.IGNORECASE)
_OTHER_TYPES = frozenset({"audio", "embedding", "embeddings", "image", "moderation", "rerank", "transcribe", "video"})


class ListedModel(NamedTuple):
    """A model that a server lists. None: it does not say."""

    name: str
    context_window: int | None = None
    takes_images: bool | None = None
    calls_tools: bool | None = None
    owner: str = ""
    """What it says for `owned_by`, which tells servers apart."""


def models_of(body: str) -> list[ListedModel]:
    """The models for chat in this list; all of them if none is. Empty if it is no list."""
    value = decode(body)
    entries = list(_entries(value.get("data", value.get("models")) if isinstance(value, dict) else value))
    return [_read(entry) for entry in entries if _chats(entry)] or [_read(entry) for entry in entries]


def _entries(value: Any) -> Iterator[Json]:
    for entry in value[:_MOST] if isinstance(value, list) else ():
        name = entry.get("id") if isinstance(entry, dict) else None
        if isinstance(name, str) and 0 < len(name) <= _LONGEST and name.isprintable() and name == name.strip():
            yield entry


def _read(entry: Json) -> ListedModel:
    windows = [member(entry, *path) for path in _WINDOWS]
    window = next((each for each in windows if type(each) is int and each > 0), None)
    return ListedModel(entry["id"], window, _takes_images(entry), _calls_tools(entry), str(entry.get("owned_by")))


def _chats(entry: Json) -> bool:
    if member(entry, "capabilities", "completion_chat") is False or str(entry.get("type")) in _OTHER_TYPES:
        return False
    return not _NOT_FOR_CHAT.search(entry["id"])


def _takes_images(entry: Json) -> bool | None:
    if isinstance(seen := member(entry, "capabilities", "vision"), bool):
        return seen
    if isinstance(parts := member(entry, "architecture", "input_modalities"), list):
        return "image" in parts
    return {"vlm": True, "llm": False}.get(str(entry.get("type")))


def _calls_tools(entry: Json) -> bool | None:
    for key in ("trained_for_tool_use", "function_calling"):
        if isinstance(called := member(entry, "capabilities", key), bool):
            return called
    if isinstance(capabilities := entry.get("capabilities"), list):
        return "tool_use" in capabilities  # LM Studio
    parameters = entry.get("supported_parameters")  # OpenRouter
    return "tools" in parameters if isinstance(parameters, list) else None


def member(value: Any, *path: str) -> Any:
    """What lies at this path of JSON; None if nothing does."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
