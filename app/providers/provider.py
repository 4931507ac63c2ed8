"""What a provider is: how its servers differ from others that speak chat completions."""

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Literal, NamedTuple

Via = Literal["chat", "messages", "responses", "litellm"]
"""How an upstream is asked: in which dialect, or by litellm."""
CallIds = Literal["keep", "plain40", "alphanumeric9"]
"""The form of ids of calls: unchanged; at most 40 letters, digits, `_` and `-` (OpenAI); nine letters and digits
(Mistral)."""

HINTS = (
    "metadata", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier", "user",
)  # fmt: skip
"""Parameters of a request that do not change the answer: only some servers take them."""


class ErrorWords(NamedTuple):
    """How a provider's server words some errors, as regular expressions without regard to case."""

    too_long: tuple[str, ...] = ()
    """The input is longer than the model's context."""
    policy: tuple[str, ...] = ()
    """The content policy forbids the input."""
    quota: tuple[str, ...] = ()
    """The quota is used up."""
    bad_key: tuple[str, ...] = ()
    """The key is not valid."""
    model_failed: tuple[str, ...] = ()
    """The model wrote a call that its server could not read: the request is correct and may be repeated."""
    state: tuple[str, ...] = ()
    """It does not take back what it gave out in an earlier turn, such as signed reasoning, or misses some of it."""
    schemas: tuple[str, ...] = ()
    """It cannot enforce the schemas of a request."""


class Provider(NamedTuple):
    """What is known of one provider. Without an address of its own, each operator has another."""

    name: str
    base_url: str | None = None
    key_variable: str | None = None
    """The environment variable that holds its key."""
    via: Via = "chat"
    """How it is asked unless a setting says otherwise."""
    messages_url: str | None = None
    """Where it has the Messages API, if that is elsewhere."""
    aliases: tuple[str, ...] = ()
    settings: Mapping[str, Any] = {}
    """Settings of its upstreams where they are not given, such as `max_tokens_field`."""
    can: Mapping[str, Any] = {}
    """The same for `can` of its models."""
    efforts: tuple[str, ...] = ()
    """The efforts that its models know, if not all."""
    call_ids: CallIds = "keep"
    """The ids of calls that it accepts. A conversation may have begun at another provider."""
    one_maker: bool = False
    """All its models are of one maker: each accepts the reasoning of the others."""
    needs_tools: bool = False
    """It refuses past calls in a request without tools."""
    blank_reasoning: bool = False
    """It refuses a message of the assistant without reasoning in a loop of tools: a blank one is accepted."""
    functions_only: bool = False
    """Its Responses API knows no tools but functions: it is asked by chat completions."""
    stream_options: bool = True
    """It takes `stream_options`. Others refuse an unknown key."""
    error_words: ErrorWords = ErrorWords()


UNKNOWN = Provider("", via="litellm")
"""One of which nothing is known here."""


_PLAIN = re.compile(r"[a-zA-Z0-9_-]{1,40}")
_NINE = re.compile(r"[a-zA-Z0-9]{9}")


def id_for(kind: CallIds, call_id: str, attempt: int) -> str:
    """The id upstream of the call with this id, the same in every turn; another one with each further attempt."""
    wanted = call_id if attempt == 1 else f"{call_id}_{attempt}"
    plain = _NINE if kind == "alphanumeric9" else _PLAIN
    if kind == "keep" or plain.fullmatch(wanted):
        return wanted
    mark = sha256(wanted.encode()).hexdigest()[:9]
    return mark if plain is _NINE else f"{re.sub('[^a-zA-Z0-9_-]', '_', wanted)[:30]}_{mark}"
