"""What is to be known of a behaviour of a model server over a lane: its own ways, and what it cannot do."""

from collections.abc import Mapping
from typing import Final

from tests.conformance.clients import Note


def _cannot(text: str) -> Note:
    return Note(text, able=False)


def _untried(text: str) -> Note:
    return Note(text, tried=False, able=False)


Notes = Mapping[str, Note]
"""By behaviour."""

_NO_SCHEMA: Final = _cannot("this API of the server has no schema: AM Proxy describes it to the model in words")
_NO_LOGPROBS: Final = _cannot("this API has no logprobs")
_MESSAGES: Final = {"structured": _NO_SCHEMA, "bad_schema": _NO_SCHEMA, "logprobs": _NO_LOGPROBS}
_ESTIMATED: Final = {"counted": _cannot("AM Proxy estimates over this API")}

_ONE_MODEL: Final = {"unknown_model": _cannot("the server has one model, which answers to any name")}
_IGNORES_FORMAT: Final = _cannot("the server ignores `text.format`")
_LLAMA_RESPONSES: Final = {
    **_ONE_MODEL,
    "events": _cannot(
        "the events are the server's own: an item opens before the last one is done, and parts and `usage` lack fields"
    ),
    "structured": _IGNORES_FORMAT,
    "bad_schema": _IGNORES_FORMAT,
    "logprobs": _cannot("the server refuses `top_logprobs`, because it wants a field that this API does not have"),
    "limit": (completed := _cannot("the server says `completed` where it cut the answer")),
    "end_of_context": completed,
}
_NO_CUSTOM: Final = _cannot('the server ignores custom tools: `tools = "functions"` sends them as functions')

_LOOSE_ARGUMENTS: Final = {"named": Note("the server does not hold the arguments to the schema of the tool")}
_VLLM_RESPONSES: Final = {
    **_LOOSE_ARGUMENTS,
    **_ESTIMATED,
    "events": _cannot(
        "the events are the server's own: the `openai` package accepts them, but fields that the Open Responses schema "
        "demands are missing or null"
    ),
    "bad_schema": _cannot("the server closes the connection of a stream without a reason"),
}

_NO_GRAMMAR: Final = _cannot('the server refuses custom tools with a grammar: `tools = "functions"` sends functions')

_NO_CHOICE: Final = _cannot("the server ignores `tool_choice`")
_NO_FORMAT: Final = _cannot("the server enforces no schema")
_TRANSFORMERS: Final = {
    "required": _NO_CHOICE,
    "named": _NO_CHOICE,
    "structured": _NO_FORMAT,
    "bad_schema": _NO_FORMAT,
    "logprobs": _cannot("the server has no logprobs"),
    "end_of_context": _untried("the server ends an answer without a limit after 1,024 tokens"),
    "too_long": _cannot("the server has no limit of the context"),
    "unknown_model": _cannot("the server refuses it with 400 and no code"),
    "counted": _cannot("AM Proxy estimates: the server does not count"),
    "cancelled": _untried("the server does not say whether it is busy"),
}

_NO_METADATA: Final = _cannot("the server refuses fields that it does not know, such as Codex's `client_metadata`")

NOTES: Final[Mapping[tuple[str, str], Notes]] = {
    ("llama.cpp", "chat"): _ONE_MODEL,
    ("llama.cpp", "messages"): {**_ONE_MODEL, **_MESSAGES},
    ("llama.cpp", "responses"): _LLAMA_RESPONSES,
    ("llama.cpp", "native"): {
        **_LLAMA_RESPONSES,
        "named": _cannot('the server reads the name of a tool as `auto`: `tools = "functions"` offers this tool alone'),
        "custom": _NO_CUSTOM,
        "codex_patch": _NO_CUSTOM,
    },
    ("llama.cpp", "litellm"): {**_ONE_MODEL, **_ESTIMATED},
    ("vLLM", "chat"): _LOOSE_ARGUMENTS,
    ("vLLM", "messages"): {**_LOOSE_ARGUMENTS, **_MESSAGES},
    ("vLLM", "responses"): _VLLM_RESPONSES,
    ("vLLM", "native"): {
        **_VLLM_RESPONSES,
        "codex": _NO_GRAMMAR,
        "codex_command": _NO_GRAMMAR,
        "codex_patch": _NO_GRAMMAR,
    },
    ("vLLM", "litellm"): {**_LOOSE_ARGUMENTS, **_ESTIMATED},
    ("transformers serve", "chat"): _TRANSFORMERS,
    ("transformers serve", "responses"): {
        **_TRANSFORMERS,
        "events": _cannot("the events are the server's own: fields that the Open Responses schema demands are missing"),
        "limit": _cannot("the server says `completed` where it cut the answer"),
        "thought_back": _cannot("the server adds an empty message to each call, and reads it again with the history"),
        **dict.fromkeys(("codex", "codex_command", "codex_patch"), _NO_METADATA),
    },
    ("transformers serve", "litellm"): _TRANSFORMERS,
}
