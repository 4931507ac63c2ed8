"""Reads lists of models as servers send them: OpenAI's `/models`, and what each server adds to it. Without a network.

Nothing here raises: what cannot be read is left out. Lists and names are bounded, because a server may send anything.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, TypeGuard

from ..json_text import holds_more_values, json_value

Json = dict[str, Any]

MOST_MODELS: Final = 1000
"""Models of a list that are read."""
MOST_VALUES: Final = 200_000
"""Values in a body that is read."""
LONGEST_NAME: Final = 256
"""Characters of a model's name, as in the settings."""
_LARGEST_WINDOW: Final = 1_000_000_000

_WINDOWS: Final = (
    "max_model_len",  # vLLM, SGLang
    "loaded_context_length",  # LM Studio: what the model was loaded with, which may be less than it could have
    "context_length",  # OpenRouter, Together, Fireworks
    "context_window",  # Groq
    "max_context_length",  # LM Studio, Mistral
    "max_input_tokens",  # Anthropic
)
"""Keys of a model's context window in tokens. The first one counts."""
_NESTED_WINDOWS: Final = (("meta", "n_ctx"), ("meta", "n_ctx_train"), ("metadata", "context_length"))
"""The same inside of another object: llama.cpp, DeepInfra."""
_NOT_FOR_CHAT: Final = re.compile(r"embed|rerank|whisper|tts|dall-e|image|moderation|transcri", re.IGNORECASE)
_NUM_CTX: Final = re.compile(r"^num_ctx[ \t]+(\d{1,9})$", re.MULTILINE)
_OTHER_TYPES: Final = frozenset(
    {"audio", "embedding", "embeddings", "image", "moderation", "rerank", "transcribe", "video"}
)


class ListedModel(NamedTuple):
    """A model that a server lists, and what the server says about it. None: it does not say."""

    name: str
    context_window: int | None = None
    """In tokens: as it is served, where the server says so; otherwise the most that the model could have."""
    takes_images: bool | None = None
    calls_tools: bool | None = None
    thinks: bool | None = None
    """Whether its effort to think can be set. Ollama refuses a request that sets it for another model."""


def model_entries(body: bytes | None) -> list[Json] | None:
    """The entries of a list of models; None if this is no such list."""
    listed = _value(body)
    if isinstance(listed, dict):
        listed = listed["data"] if "data" in listed else listed.get("models")
    if not isinstance(listed, list):
        return None
    entries = (entry for entry in listed[:MOST_MODELS] if isinstance(entry, dict))
    return [entry for entry in entries if _name(entry) is not None]


def models_of(entries: Iterable[Json]) -> tuple[ListedModel, ...]:
    """The models for chat of these entries: embeddings and the like are left out, unless there is nothing else."""
    models = {model.name: (model, for_chat) for model, for_chat in map(_read, entries)}
    chosen = [model for model, for_chat in models.values() if for_chat]
    return tuple(chosen or [model for model, _ in models.values()])


def _read(entry: Json) -> tuple[ListedModel, bool]:
    name = _name(entry) or ""
    model = ListedModel(name, _window(entry), _takes_images(entry), _calls_tools(entry))
    chats = _member(entry, "capabilities", "completion_chat") is not False
    return model, chats and str(entry.get("type")) not in _OTHER_TYPES and not _NOT_FOR_CHAT.search(name)


def _name(entry: Json) -> str | None:
    for key in ("id", "key", "name"):  # `key` is LM Studio's newer list
        name = entry.get(key)
        if is_name(name):
            return name
    return None


def is_name(name: object) -> TypeGuard[str]:
    """Whether this can be the name of a model: a text that a terminal can show."""
    return isinstance(name, str) and 0 < len(name) <= LONGEST_NAME and name.isprintable() and name == name.strip()


def _window(entry: Json) -> int | None:
    found: list[object] = [_member(one, "config", "context_length") for one in _objects(entry.get("loaded_instances"))]
    found += [entry.get(key) for key in _WINDOWS]
    found += [_member(entry, *path) for path in _NESTED_WINDOWS]
    return next(filter(None, map(_tokens, found)), None)


def _takes_images(entry: Json) -> bool | None:
    if isinstance(seen := _member(entry, "capabilities", "vision"), bool):
        return seen
    if isinstance(parts := _member(entry, "architecture", "input_modalities"), list):
        return "image" in parts
    return {"vlm": True, "llm": False}.get(str(entry.get("type")))


def _calls_tools(entry: Json) -> bool | None:
    for key in ("trained_for_tool_use", "function_calling"):
        if isinstance(called := _member(entry, "capabilities", key), bool):
            return called
    if isinstance(capabilities := entry.get("capabilities"), list):
        return "tool_use" in capabilities
    if isinstance(parameters := entry.get("supported_parameters"), list):
        return "tools" in parameters
    return None


def with_ollama_facts(model: ListedModel, body: bytes | None, loaded: int | None) -> ListedModel | None:
    """The model with what Ollama's `/api/show` says; None if it is not for chat. `loaded` is the window in use."""
    shown = json_of(body)
    capabilities = shown.get("capabilities")
    known = capabilities if isinstance(capabilities, list) else []
    if known and "completion" not in known:
        return None
    info = shown.get("model_info")
    trained = (
        (value for key, value in info.items() if key.endswith(".context_length")) if isinstance(info, dict) else ()
    )
    chosen = _NUM_CTX.search(str(shown.get("parameters", "")))
    window = loaded or (int(chosen[1]) if chosen else None) or next(filter(None, map(_tokens, trained)), None)
    return model._replace(
        context_window=window or model.context_window,
        takes_images="vision" in known if known else model.takes_images,
        calls_tools="tools" in known if known else model.calls_tools,
        thinks="thinking" in known if known else model.thinks,
    )


def loaded_windows(body: bytes | None) -> dict[str, int]:
    """The windows of the models that Ollama has loaded, from its `/api/ps`."""
    found = {}
    for entry in _objects(json_of(body).get("models")):
        name, window = _name({"id": entry.get("name")}), _tokens(entry.get("context_length"))
        if name and window:
            found[name] = window
    return found


def with_llama_facts(model: ListedModel, body: bytes | None) -> ListedModel:
    """The model with what llama.cpp's `/props` says. It calls tools even where its template knows none."""
    props = json_of(body)
    window = _tokens(_member(props, "default_generation_settings", "n_ctx"))
    seen = _member(props, "modalities", "vision")
    return model._replace(
        context_window=window or model.context_window,
        takes_images=seen if isinstance(seen, bool) else model.takes_images,
        calls_tools=True if _member(props, "chat_template_caps", "supports_tools") is True else model.calls_tools,
    )


def json_of(body: bytes | None) -> Json:
    """A body that is a JSON object; an empty one for anything else."""
    value = _value(body)
    return value if isinstance(value, dict) else {}


def _value(body: bytes | None) -> object:
    try:
        return None if not body or holds_more_values(body, MOST_VALUES) else json_value(body)
    except (ValueError, RecursionError):
        return None


def _objects(value: object) -> Iterator[Json]:
    for item in value[:MOST_MODELS] if isinstance(value, list) else []:
        if isinstance(item, dict):
            yield item


def _member(value: object, *path: str) -> object:
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _tokens(value: object) -> int | None:
    """A number of tokens."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and isinstance(value, int) and 0 < value <= _LARGEST_WINDOW else None
