"""What a client probably wants that asks for a path which this server does not have."""

from typing import Final

_CHATS: Final = frozenset({"/chat/completions", "/completions", "/messages", "/api/chat", "/api/generate"})
"""Paths of chat completions, their predecessor, Anthropic's messages and Ollama's own API."""
_CHAT_ENDS: Final = (":generateContent", ":streamGenerateContent")
_OTHERS: Final = frozenset(
    {
        "assistants", "audio", "batches", "containers", "conversations", "embeddings", "evals", "files", "fine_tuning",
        "images", "moderations", "realtime", "rerank", "threads", "uploads", "vector_stores", "videos",
    }
)  # fmt: skip
"""The first words of the paths of OpenAI's other APIs."""
_OURS: Final = ("/responses", "/responses/compact", "/responses/input_tokens", "/models")


def advice(path: str) -> str:
    """A sentence or two for this path."""
    rest = path.removeprefix("/v1").rstrip("/")
    if rest in _CHATS or rest.endswith(_CHAT_ENDS):
        return (
            "AM Proxy speaks the Responses API: POST /v1/responses, with the conversation in `input`. "
            "docs/migrating.md shows what a client has to change."
        )
    first = rest.removeprefix("/").split("/")[0]
    if first in _OTHERS:
        return f"AM Proxy has the Responses API only: POST /v1/responses. It has no {first}."
    ours = next((each for each in _OURS if rest.endswith(each)), None)
    if ours is not None:
        return f"The path is /v1{ours}: a base URL ends with /v1, and with nothing after it."
    return "GET /openapi.json describes the paths of this server."
