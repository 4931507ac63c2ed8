"""A server that runs models, and how it is asked."""

from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from ..options import ChatCompat, Hint, KeyHeader, NamedToolChoice, RelayedTools, ResponseIds, Table, Via
from ..providers.lookup import BY_NAME, SPEAK_CHAT, SPEAK_MESSAGES, provider_of
from .base_urls import base_of
from .mistakes import did_you_mean
from .secret import Secret
from .values import Address, Seconds

_ONLY: Final = {
    **dict.fromkeys(ChatCompat.model_fields, "chat"),
    "takes_image_urls": "chat or messages",
    "key_header": "messages",
    "betas": "messages",
    "named_tool_choice": "chat or litellm or messages or responses",
    "ids": "responses",
    **dict.fromkeys(RelayedTools.model_fields, "responses"),
}
"""Settings that only some kinds of upstream have, with these kinds."""


class _UpstreamConnection(Table):
    """How a server is reached, and how long it may take."""

    via: Via = "litellm"
    """How it is called: through litellm, as a chat-completions server, by Anthropic's Messages API, or as a Responses
    server; `demo` is the embedded model."""
    provider: Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,64}$")] | None = None
    """The provider. With `litellm`, litellm's prefix for it; with `chat`, `messages` or `responses`, one of the
    [providers](providers.md) whose address, key variable and compatibility settings are built in."""
    api_key: Secret | None = None
    """Its API key."""
    auth: Literal["key", "passthrough"] = "key"
    """Which key is sent: the upstream's `api_key`, or (passthrough) the key that the caller sent, who then needs no key
    of this server."""
    base_url: Address | None = None
    """Its address, without `/chat/completions`, `/messages` or `/responses` at the end."""
    connect_timeout: Seconds = 5
    """Seconds to look up its name and connect, including TLS."""
    first_payload_timeout: Seconds | None = None
    """Seconds until its first data, then a 504; by default the same as `timeout`."""
    timeout: Seconds = 120
    """Seconds that it may be silent. Keep-alive comments count as silence."""
    turn_timeout: Seconds = 1800
    """Seconds for one whole turn."""
    retries: int = Field(default=1, ge=0, le=1)
    """How often a request that it could not accept (not reached, 429, 502, 503, 529) is repeated; at most one request
    in ten is."""
    breaker_failures: int = Field(default=10, ge=0)
    """Outages in a row (not reached, silent, 502, 503, 504, 529) after which no requests are sent to it for a while; 0:
    never. If there are several keys, at least two must have had outages, unless it could not be reached. Other failures
    count if most callers have them: see [scaling](scaling.md)."""
    breaker_pause: Seconds = 30
    """Seconds without requests; then each caller may try with one turn."""


class Upstream(ChatCompat, RelayedTools, _UpstreamConnection):
    """A server that runs models, and how it is called."""

    hints: tuple[Hint, ...] | None = None
    """Parameters that do not change the answer and that this upstream accepts. By default all for OpenAI and Azure,
    none for others."""
    named_tool_choice: NamedToolChoice | None = None
    """How a call of one certain tool is required: by its name, or by offering only that tool, with the word `required`,
    for servers that accept only a word (llama.cpp, LM Studio). By default by name, except for providers that are known
    to accept only a word."""
    takes_image_urls: bool = True
    """False: it does not download images, so this server does (Ollama, llama.cpp)."""
    key_header: KeyHeader = "x-api-key"
    """The header with the key: `x-api-key`, as Anthropic wants it, or `authorization`, as `Bearer` and the key."""
    betas: tuple[Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,64}$")], ...] = ()
    """Beta features that each request names in the header `anthropic-beta`."""
    ids: ResponseIds = "am"
    """Ids of responses and items, and encrypted reasoning. am: with this server's prefix, and the original inside;
    keep: unchanged."""

    @field_validator("base_url")
    @classmethod
    def _ends_before_the_path(cls, url: str | None, info: ValidationInfo) -> str | None:
        """The address is not that of one request, which only litellm's own providers may want."""
        base, path = base_of(url or "")
        if base and not (info.data.get("via") == "litellm" and info.data.get("provider")):
            message = f"must not end with {path} (did you mean {base}?)"
            raise ValueError(message)
        return url

    @property
    def _sends_any_key(self) -> bool:
        return self.provider is None or provider_of(self.provider).litellm.any_key

    @property
    def _provider_fault(self) -> str:
        """Why this provider cannot be asked directly in this way; empty if it can, or none is named."""
        if self.provider is None:
            return ""
        known = provider_of(self.provider)
        if self.via == "chat" and not known.speaks_chat:
            return f"{self.provider} is not known to speak chat completions{did_you_mean(self.provider, SPEAK_CHAT)}"
        if self.via == "responses" and self.provider not in BY_NAME:
            return f"{self.provider} is not a known provider{did_you_mean(self.provider, BY_NAME)}"
        if self.via == "messages" and not known.speaks_messages:
            return f"{self.provider} is not known to have the Messages API{did_you_mean(self.provider, SPEAK_MESSAGES)}"
        return ""

    def takes(self, name: str) -> bool:
        """Whether this setting means anything to an upstream of this kind."""
        return self.via in _ONLY.get(name, self.via).split(" or ")

    @model_validator(mode="before")
    @classmethod
    def _with_settings_of_provider(cls, data: Any) -> Any:
        """Fills in settings that are not given with those of a known provider that is asked directly."""
        if not isinstance(data, dict) or not isinstance(data.get("provider"), str):
            return data
        return provider_of(data["provider"]).settings_for(data.get("via", "litellm")) | data

    @model_validator(mode="after")
    def _has_only_its_settings(self) -> Self:
        for name in type(self).model_fields:
            if name in self.model_fields_set and not self.takes(name):
                kinds = _ONLY[name].replace(" or ", '" or "')
                message = f'{name} means nothing here: it is a setting of via = "{kinds}"'
                raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        message = ""
        match self.via:
            case "demo" if self.provider or self.api_key or self.base_url:
                message = 'via = "demo" takes no provider, api_key or base_url: it runs inside this server'
            case "chat" | "messages" | "responses" if fault := self._provider_fault:
                message = f'{fault}: leave provider out and say base_url, or say via = "litellm"'
            case "chat" | "messages" | "responses" if not self.base_url:
                message = f'via = "{self.via}" needs a base_url'
            case "demo" if self.auth == "passthrough":
                message = 'via = "demo" asks for no key: leave auth out'
            case _ if self.auth == "passthrough" and self.api_key:
                message = 'takes either api_key or auth = "passthrough"'
            case "litellm" if self.auth == "passthrough" and not self._sends_any_key:
                message = f'litellm finds keys of its own for {self.provider}: auth = "passthrough" is not safe there'
            case "litellm" if not self.provider and not self.base_url:
                message = 'needs a provider (litellm\'s prefix, such as "deepseek") or a base_url'
        if message:
            raise ValueError(message)
        return self
