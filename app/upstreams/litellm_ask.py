"""A chat-completions body as arguments of litellm's `acompletion`. Pure: it neither imports litellm nor does I/O.

There are two ways, chosen once per upstream:

- **as it is** (`provider` is None, `hosted_vllm`, or `openai` with an address of its own): any server that speaks chat
  completions. The whole body is passed as litellm's `extra_body`, which it does not read. Otherwise litellm would strip
  `strict` and `additionalProperties` from tools, join text parts, leave out `user`, and ask `/responses` for `gpt-5…`.
- **translated** (every other provider): litellm knows the provider's own format and what its models can do.
"""

from typing import Any, Final, assert_never
from urllib.parse import urlsplit

from ..protocol.problems import Problem
from ..providers.lookup import PROVIDERS, provider_of
from ..providers.provider import AskFacts
from ..providers.vllm import HOSTED
from .chat_compat import with_reasoning
from .port import UpstreamRefused

Json = dict[str, Any]

GENERIC_PROVIDER: Final = HOSTED.name
"""Speaks plain chat completions over one pool of connections, a third cheaper than litellm's `openai`."""

_NO_KEY: Final = "no-key"
"""Sent if no key is configured: litellm would otherwise take one from the environment, for any address."""

_BODY: Final = frozenset({"model", "messages", "stream", "stream_options"})
SETTINGS: Final = frozenset(
    {
        "frequency_penalty", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens", "modalities",
        "parallel_tool_calls", "presence_penalty", "prompt_cache_key", "prompt_cache_retention", "reasoning_effort",
        "response_format", "safety_identifier", "seed", "service_tier", "stop", "temperature", "tool_choice", "tools",
        "top_logprobs", "top_p", "user", "verbosity", "web_search_options",
    }
)  # fmt: skip
"""Settings that are passed to litellm. Others might redirect it (`api_base`, `fallbacks`) or break the upstream."""

_ONLY_AS_IT_IS: Final = frozenset({"metadata", "store"})
"""Settings that litellm would use for itself."""

_FORGOTTEN: Final = "prompt_cache_retention"
"""A setting that litellm knows and does not send, except in `extra_body`."""

_STEERING: Final = ("responses/", "ft:babbage-002", "ft:davinci-002")
"""Parts of a model's name by which litellm changes the route, whatever the provider."""

MANY: Final = 2_000
"""JSON values of a request from which on its arguments are made in a thread."""

_STEERING_SOME: Final = tuple(provider.name for provider in PROVIDERS if provider.litellm.routes_by_name)
"""The same, for providers that litellm compares later than these parts."""


def sends_as_is(provider: str | None, base_url: str | None) -> bool:
    """Whether this upstream gets the body unchanged. See the module's docstring."""
    known = provider_of(provider).litellm
    if provider is None or known.sends_as_is:
        return True
    host = urlsplit(base_url or "").hostname
    return bool(known.own_hosts) and host is not None and not f".{host}".endswith(known.own_hosts)


def address(provider: str | None, base_url: str | None) -> str | None:
    """The base URL in the form in which litellm wants it for this provider."""
    if not base_url:
        return None
    base_url = base_url.rstrip("/")
    known = provider_of(provider).litellm
    return known.address(base_url) if known.address else base_url


def key_for(provider: str | None, api_key: str | None, base_url: str | None) -> str | None:
    """The key to send: always an explicit one, so that a key of the environment is never sent to a foreign address."""
    if api_key:
        return api_key
    return None if provider_of(provider).litellm.own_credentials and not base_url else _NO_KEY


def arguments(
    provider: str | None,
    ask: Json,
    *,
    base_url: str | None,
    most_tokens: int | None = None,
    stops_thinking: bool = False,
) -> Json:
    """Arguments for `acompletion`, without the key. `most_tokens` is how much this model can write, where it is needed.

    `stops_thinking`: a model that thinks without being asked to may be asked not to.

    Refuses names that change the route, and images that litellm would download.
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
    known, model = provider_of(provider), str(ask["model"])
    translation = known.translation_of(model)
    check_contents(ask["messages"], known.name, model)
    # litellm edits tools and messages in place, and the response echoes the client's own tools
    settings = {key: _copied(value) for key, value in ask.items() if key in SETTINGS}
    if known.compat.reasoning_field == "none":
        settings["messages"] = [_without_reasoning(message) for message in ask["messages"]]
    else:
        settings["messages"] = _copied(ask["messages"])
    if known.compat.blank_reasoning and ask.get("reasoning_effort") != "none":
        settings["messages"] = [with_reasoning(message) for message in settings["messages"]]
    if translation.prepare is not None:
        settings = translation.prepare(settings, AskFacts(ask, most_tokens, stops_thinking))
    if known.takes_hints and _FORGOTTEN in settings:
        settings["extra_body"] = {_FORGOTTEN: settings.pop(_FORGOTTEN)}
    if not (translation.whole_with_format and "response_format" in settings):
        settings["stream_options"] = {"include_usage": True}
    return shared | settings | {
        "model": f"{provider}/{model}",
        "custom_llm_provider": provider,
        "drop_params": True,
    }  # fmt: skip


def holds_many(ask: Json) -> bool:
    """Whether this request has so many values that its arguments take long to make."""
    waiting: list[Any] = [ask]
    count = 0
    while waiting and count <= MANY:
        value = waiting.pop()
        count += len(value)
        if count <= MANY:
            members = value.values() if isinstance(value, dict) else value
            waiting += [member for member in members if isinstance(member, dict | list)]
    return count > MANY


def check_name(model: str, provider: str | None, base_url: str | None) -> None:
    """Refuse a model name that could be read as an address or a route."""
    pieces = _STEERING if sends_as_is(provider, base_url) else _STEERING + _STEERING_SOME
    redirects = any(piece in model for piece in pieces)
    if not model or redirects or ".." in model or "://" in model or not model.isprintable() or model != model.strip():
        message = f"There is no model of this name here: {model[:100]!r}."
        raise UpstreamRefused(Problem(code="model_not_found", message=message, param="model"))


def check_contents(messages: list[Json], provider: str, model: str) -> None:
    """Refuse what litellm would download, or leave out without an error."""
    translation = provider_of(provider).translation_of(model)
    for message in messages:
        content = message.get("content")
        blank = message.get("role") == "user" and isinstance(content, str) and not content.strip()
        if blank and translation.refuses_blank:
            raise _refused("This model does not accept empty input.")
        for part in content if isinstance(content, list) else ():
            kind = part.get("type")
            if kind in translation.lost_parts:
                raise _refused(f"This model does not accept parts of type {kind}.")
            if kind == "file" and "file_id" in part.get("file", {}):
                raise _refused("Files by id cannot be sent to this model. Send the file's data.")
            if kind == "image_url":
                _check_image(part.get("image_url"), provider)


def would_fetch(provider: str | None, base_url: str | None, url: str) -> bool:
    """Whether litellm would download this image itself, for this upstream."""
    if sends_as_is(provider, base_url):
        return False
    match provider_of(provider).litellm.fetches_images:
        case "never":
            return False
        case "http":
            return not url.strip().lower().startswith("https://")
        case "always":
            return True
        case other:
            assert_never(other)


def _check_image(image: Any, provider: str) -> None:
    url = str(image.get("url") if isinstance(image, dict) else image).strip()
    if url[:5].lower() != "data:" and would_fetch(provider, None, url):
        raise _refused("This model does not accept this image by URL. Send it as a data URI.")


def _refused(message: str) -> UpstreamRefused:
    return UpstreamRefused(Problem(code="unsupported_value", message=message, param="input"))


def _without_reasoning(message: Json) -> Json:
    return {key: _copied(value) for key, value in message.items() if key != "reasoning_content"}


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(held) for key, held in value.items()}
    if isinstance(value, list):
        return [_copied(held) for held in value]
    return value
