"""What an operator is told: what to do, by the kind of failure and by the server."""

import sys
from collections.abc import Sequence
from shutil import get_terminal_size
from textwrap import fill
from typing import TextIO

from ..providers.table import provider_of
from ..settings.tables import UpstreamSettings

LEAST_CONTEXT = 32_000
"""Tokens that a coding agent needs: its instructions and tools alone take more than 10,000."""
_SHOWN = 6
"""Names in a sentence."""
_BY_CODE = {
    "content_policy_violation": "A harmless question was refused: look at the filters of that server.",
    "context_length_exceeded": "Even a few words are too long for it: its context is set too small.",
    "insufficient_quota": "The account behind the key has no credit left: top it up, or use another key.",
    "invalid_value": "Try another `via`, and see the settings for servers that refuse some parameters.",
    "model_not_found": "The `name` of a model must be what its server calls it.",
    "not_found": "Look at the port and the path: another program may listen there.",
    "rate_limit_exceeded": "It works, but its rate limit is used up: wait, or ask its owner for more.",
    "upstream_error": "Look at the log of that server.",
    "upstream_timeout": "It may be loading its model, or be overloaded: try again, or look at its log.",
}
_LONGER = {
    "llama_cpp": "Start llama-server with --ctx-size {}.",
    "lm_studio": "Load the model with a context of {} in LM Studio.",
    "ollama": "Start Ollama with OLLAMA_CONTEXT_LENGTH={}.",
    "sglang": "Start SGLang with --context-length {}.",
    "vllm": "Start vLLM with --max-model-len {}.",
}
"""How each server gets a longer context."""
_TOOLS = {
    "llama_cpp": "Start llama-server with --jinja, and with a model whose template has tools.",
    "sglang": "Start SGLang with the --tool-call-parser of this model.",
    "vllm": "Start vLLM with --enable-auto-tool-choice and the --tool-call-parser of this model.",
}
"""How each server gets to call tools."""
GET_MODEL = {
    "lm_studio": "Download or load one in LM Studio",
    "ollama": "Download one, for example with: ollama pull qwen3",
}
"""How each server gets a model."""


def wrapped(text: str, stream: TextIO, head: str = "", indent: str = "  ") -> str:
    """The text behind a head, as it fits on a terminal. What reads it elsewhere wants it in one line."""
    width = get_terminal_size().columns - 1 if stream.isatty() else sys.maxsize
    return fill(
        text, width, initial_indent=head, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def tell(text: str) -> None:
    """Tells the operator a sentence on stderr."""
    print(wrapped(text, sys.stderr), file=sys.stderr, flush=True)


def some(names: Sequence[str]) -> str:
    """The first of these names, and how many there are more."""
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def explained(code: str, cause: str, upstream: UpstreamSettings) -> str:
    """What failed, and what to do, where the cause does not say it."""
    if code != "upstream_auth_error":
        return cause if cause.endswith("?") else f"{cause} {_BY_CODE.get(code, '')}".strip()
    if upstream.api_key:
        return f"{upstream.base_url} refuses the API key. Is it the right one for this server, and still valid?"
    name = provider_of(upstream.provider).key_variable or "NAME"
    where = f"Give it with --upstream-key env:{name}, or with api_key in its table."
    return f"{upstream.base_url} needs an API key, and none is set. {where}"


def for_tools(provider: str | None) -> str:
    """What to do where a model calls no tools."""
    return f"Agents need tools. {_TOOLS.get(provider or '', 'Try another model: small ones often answer in words.')}"


def short_context(model: str, window: int | None, provider: str | None) -> str:
    """What is said of a context that is too short for coding agents; empty if it is long enough, or unknown."""
    if window is None or window >= LEAST_CONTEXT:
        return ""
    longer = _LONGER.get(provider or "", "Give it a context of {} at its server.").format(32_768)
    return f"{model} has a context of {window:,} tokens, and coding agents need about {LEAST_CONTEXT:,}. {longer}"
