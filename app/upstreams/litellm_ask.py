"""A chat-completions ask, as arguments of litellm's `acompletion`. Pure: it neither imports litellm nor does I/O.

Two ways to ask, chosen once per upstream:

- **as it is** (`provider` is none, `hosted_vllm`, or `openai` with an address of its own): any server that speaks chat
  completions. The whole body travels as litellm's `extra_body`, out of its sight. Otherwise litellm would strip
  `strict` and `additionalProperties` from tools, join text parts, leave out `user`, and ask `/responses` for `gpt-5…`.
- **translated** (every other provider): litellm knows the provider's own format and what its models can do.
"""

import re
from typing import Any, Final
from urllib.parse import urlsplit

from app.protocol.problems import Problem
from app.upstreams import litellm_cohere, litellm_gemini
from app.upstreams.chat_compat import thoughtful
from app.upstreams.litellm_can import is_claude, lost_parts
from app.upstreams.port import UpstreamRefused

Json = dict[str, Any]

GENERIC_PROVIDER: Final = "hosted_vllm"
"""Speaks plain chat completions over one pool of connections, a third cheaper than litellm's `openai`."""

OPENAI = ".openai.com"
"""Where OpenAI itself is. Anything else under its prefix only speaks like it."""

_NO_KEY: Final = "no-key"
"""Sent where none is configured: litellm would otherwise take one from the environment, for whatever address."""

_OWN_CREDENTIALS: Final = frozenset({"bedrock", "sagemaker", "sagemaker_chat", "vertex_ai", "vertex_ai_beta", "oci"})
"""Providers that find their credentials by a chain of their own, which a made-up key would break."""

_BODY: Final = frozenset({"model", "messages", "stream", "stream_options"})
SETTINGS: Final = frozenset(
    {
        "frequency_penalty", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens", "modalities",
        "parallel_tool_calls", "presence_penalty", "prompt_cache_key", "prompt_cache_retention", "reasoning_effort",
        "response_format", "safety_identifier", "seed", "service_tier", "stop", "temperature", "tool_choice", "tools",
        "top_logprobs", "top_p", "user", "verbosity", "web_search_options",
    }
)  # fmt: skip
"""What may reach litellm. Anything else might steer it (`api_base`, `fallbacks`) or break the upstream."""

_ONLY_AS_IT_IS: Final = frozenset({"metadata", "store"})
"""Settings that litellm would take for its own."""

_STEERING: Final = ("responses/", "ft:babbage-002", "ft:davinci-002")
"""Pieces of a name by which litellm changes the route, whatever the provider."""

_STEERING_SOME: Final = ("replicate", "clarifai")
"""The same, for providers that it looks at later than at these pieces."""

_FETCHING: Final = ("gemini", "vertex_ai", "bedrock", "ollama", "sagemaker", "gigachat", "snowflake")
"""Providers for which litellm itself would download an image by its URL."""

MANY: Final = 2_000
"""Values of an ask from which on its arguments are made in a thread."""

_WHOLE_WITH_FORMAT: Final = frozenset({"groq"})
"""Providers of which litellm wants a whole answer when there is a format, and forgets to take back `stream_options`."""

_CLAUDE: Final = re.compile(r"claude-(?:[a-z]{1,20}-)?(\d{1,2})(?!\d)")
"""The name of a Claude, and its version."""
_UNASKED_FROM: Final = 5

_STRICT_MESSAGES: Final = frozenset({"openai", "azure", "azure_ai", "mistral", "codestral", "groq", "cerebras"})
"""Providers that refuse keys they do not know in a message, such as `reasoning_content`."""


def sends_as_is(provider: str | None, base_url: str | None) -> bool:
    """Whether this upstream gets the body as it is. See the module."""
    if provider in (None, GENERIC_PROVIDER):
        return True
    host = urlsplit(base_url or "").hostname
    return provider == "openai" and host is not None and not f".{host}".endswith(OPENAI)


def address(provider: str | None, base_url: str | None) -> str | None:
    """The base URL in the form in which litellm wants it for this provider."""
    if not base_url:
        return None
    base_url = base_url.rstrip("/")
    if provider == "anthropic":
        return base_url.removesuffix("/v1")
    if provider in litellm_cohere.PROVIDERS:
        return litellm_cohere.address(base_url)
    if provider == "gemini" and not re.search(r"/v\d\w*$", base_url):
        return f"{base_url}/v1beta"
    return base_url


def key_for(provider: str | None, api_key: str | None, base_url: str | None) -> str | None:
    """The key to give: always an explicit one, so that a key of the environment never goes to a foreign address."""
    if api_key:
        return api_key
    return None if provider in _OWN_CREDENTIALS and not base_url else _NO_KEY


def arguments(
    provider: str | None,
    ask: Json,
    *,
    base_url: str | None,
    most_tokens: int | None = None,
    stops_thinking: bool = False,
) -> Json:
    """Arguments for `acompletion`, without the key. `most_tokens` is how much this model can write, where known.

    `stops_thinking` is whether a Claude that thinks unasked may be asked not to.

    Refuses names that steer and pictures that litellm would have to download.
    """
    check_name(str(ask["model"]), provider, base_url)
    shared = {"stream": True, "max_retries": 0, "api_base": address(provider, base_url)}
    if sends_as_is(provider, base_url):
        allowed = _BODY | SETTINGS | _ONLY_AS_IT_IS
        return shared | {
            # the prefix is ours, and litellm takes off one: the rest reaches the upstream, slashes and all
            "model": f"{GENERIC_PROVIDER}/{ask['model']}",
            "custom_llm_provider": GENERIC_PROVIDER,
            "messages": [{"role": "user", "content": "."}],
            "extra_body": {key: value for key, value in ask.items() if key in allowed and key != "model"},
        }
    name = str(provider)
    check_contents(ask["messages"], name, str(ask["model"]))
    # litellm edits tools and messages where they are, and the client is told its own tools again
    settings = {key: _copied(value) for key, value in ask.items() if key in SETTINGS}
    if name in _STRICT_MESSAGES:
        settings["messages"] = [_without_reasoning(message) for message in ask["messages"]]
    else:
        settings["messages"] = _copied(ask["messages"])
    if name == "deepseek" and ask.get("reasoning_effort") != "none":
        settings["messages"] = [thoughtful(message) for message in settings["messages"]]
    if litellm_gemini.serves_gemini(name, str(ask["model"])):
        twins = litellm_gemini.drops_equal_calls(name, str(ask["model"]))
        settings["messages"] = litellm_gemini.in_steps(settings["messages"], parts_equal_calls=twins)
    if name in litellm_cohere.PROVIDERS:
        settings = litellm_cohere.prepared(settings)
    if name == "anthropic":
        settings |= _room_to_think(ask, most_tokens)
    if is_claude(name, str(ask["model"])):
        settings = _as_claude_thinks(settings, ask, stops_thinking=stops_thinking)
    if not (name in _WHOLE_WITH_FORMAT and "response_format" in settings):
        settings["stream_options"] = {"include_usage": True}
    return shared | settings | {
        "model": f"{name}/{ask['model']}",
        "custom_llm_provider": name,
        "drop_params": True,
    }  # fmt: skip


def holds_many(ask: Json) -> bool:
    """Whether this ask holds so many values that its arguments take long to make. No more of them are counted."""
    waiting: list[Any] = [ask]
    count = 0
    while waiting and count <= MANY:
        value = waiting.pop()
        count += len(value)
        if count <= MANY:
            waiting += [held for held in (value.values() if isinstance(value, dict) else value) if _holds(held)]
    return count > MANY


def _holds(value: Any) -> bool:
    return isinstance(value, dict | list)


def check_name(model: str, provider: str | None, base_url: str | None) -> None:
    """Refuse a model name that could be read as an address or a route."""
    pieces = _STEERING if sends_as_is(provider, base_url) else _STEERING + _STEERING_SOME
    steers = any(piece in model for piece in pieces)
    if not model or steers or ".." in model or "://" in model or not model.isprintable() or model != model.strip():
        message = f"There is no model of this name here: {model[:100]!r}."
        raise UpstreamRefused(Problem(code="model_not_found", message=message, param="model"))


def check_contents(messages: list[Json], provider: str, model: str) -> None:
    """Refuse what litellm would download, or leave out without a word."""
    lost = lost_parts(provider, model)
    for message in messages:
        content = message.get("content")
        blank = message.get("role") == "user" and isinstance(content, str) and not content.strip()
        if blank and (provider == "bedrock" or is_claude(provider, model)):  # litellm puts words of its own there
            raise _refused("This model takes no empty input.")
        for part in content if isinstance(content, list) else ():
            kind = part.get("type")
            if kind in lost:
                raise _refused(f"This model cannot be given a part of type {kind}.")
            if kind == "file" and "file_id" in part.get("file", {}):
                raise _refused("Files by id cannot be sent to this model. Send the file's data.")
            if kind == "image_url":
                _check_image(part.get("image_url"), provider)


def would_fetch(provider: str | None, base_url: str | None, url: str) -> bool:
    """Whether litellm would download this image itself, for this upstream."""
    if sends_as_is(provider, base_url):
        return False
    http = provider == "anthropic" and not url.strip().lower().startswith("https://")
    return http or str(provider).startswith(_FETCHING)


def _check_image(image: Any, provider: str) -> None:
    url = str(image.get("url") if isinstance(image, dict) else image).strip()
    if url[:5].lower() != "data:" and would_fetch(provider, None, url):
        raise _refused("This model cannot be given this image by its URL. Send it as a data URI.")


def _refused(message: str) -> UpstreamRefused:
    return UpstreamRefused(Problem(code="unsupported_value", message=message, param="input"))


def _without_reasoning(message: Json) -> Json:
    return {key: _copied(value) for key, value in message.items() if key != "reasoning_content"}


def may_think(ask: Json) -> bool:
    """Whether Claude may think now. It refuses to in the midst of a tool loop that it did not begin with thoughts.

    Another model may have begun it, or the client may have forgotten what was thought. Most models think only where
    a loop begins: what comes later in it may lack thoughts.
    """
    loop: list[Json] = []
    before = ""
    for message in ask["messages"]:
        if message["role"] == "user" and before != "tool":  # behind outputs it shows what they could not hold
            loop = []
        elif message["role"] == "assistant":
            loop.append(message)
        before = message["role"]
    return not loop or "tool_calls" not in loop[-1] or any("thinking_blocks" in loop[end] for end in (0, -1))


def unheeded_effort(ask: Json, *, stops_thinking: bool) -> bool:
    """Whether the effort that this ask names has no effect on its Claude."""
    effort = ask.get("reasoning_effort")
    if effort == "none":
        return thinks_unasked(str(ask["model"])) and not stops_thinking
    return effort is not None and not may_think(ask)


def _as_claude_thinks(settings: Json, ask: Json, *, stops_thinking: bool) -> Json:
    """These settings, with no effort that it would refuse, and with earlier thoughts only if it thinks now."""
    effort = ask.get("reasoning_effort")
    settings = {key: value for key, value in settings.items() if value is not None}
    if effort not in (None, "none") and may_think(ask):
        return settings
    settings.pop("reasoning_effort", None)
    if thinks_unasked(str(ask["model"])):
        if effort != "none" or not stops_thinking:
            return settings
        settings["thinking"] = {"type": "disabled"}
    settings["messages"] = [_without_blocks(message) for message in settings["messages"]]
    return settings


def thinks_unasked(model: str) -> bool:
    """Whether this Claude thinks without being asked to, and therefore takes earlier thoughts back at any time."""
    version = _CLAUDE.search(model)
    return version is not None and int(version[1]) >= _UNASKED_FROM


def _without_blocks(message: Json) -> Json:
    """Without earlier thoughts, which Claude refuses to be shown when it may not think."""
    return {key: value for key, value in message.items() if key != "thinking_blocks"}


def _room_to_think(ask: Json, most_tokens: int | None) -> Json:
    """Room for an answer beside the thoughts, where the client set no limit: litellm would leave it 4,096 tokens."""
    limit = ask.get("max_tokens") or ask.get("max_completion_tokens")
    if ask.get("reasoning_effort") in (None, "none") or limit or not most_tokens:
        return {}
    return {"max_tokens": most_tokens}


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(held) for key, held in value.items()}
    if isinstance(value, list):
        return [_copied(held) for held in value]
    return value
