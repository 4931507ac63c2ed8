"""The tables of a configuration, and the kinds of values in them."""

import os
from fnmatch import fnmatchcase
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator

from ..providers.table import provider_of
from .addresses import completed, via_of


class Table(BaseModel):
    """A table of a configuration. An unknown name is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True)


def _referred(value: Any) -> Any:
    """The value itself, or what `env:NAME` or `file:PATH` refers to."""
    if not isinstance(value, str):
        return value
    kind, _, name = value.partition(":")
    if kind == "env":
        if not os.environ.get(name):
            raise ValueError(f"the environment has no variable {name}")
        return os.environ[name]
    if kind == "file":
        try:
            return Path(name).expanduser().read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ValueError(f"{name} cannot be read: {error.strerror}") from None
    return value


def _listed(value: Any) -> Any:
    """TOML has arrays only; environment variables hold words, separated by commas."""
    if isinstance(value, str):
        return tuple(word.strip() for word in value.split(",") if word.strip())
    return tuple(value) if isinstance(value, list) else value


def _address(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise ValueError("must begin with http:// or https://")
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise ValueError("must not hold a user name or password: use api_key")
    if parts.query or parts.fragment:
        raise ValueError("must end with its path, without ? or #")
    return url.rstrip("/")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens here. Of names, only localhost is sure."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


Secret = Annotated[SecretStr, BeforeValidator(_referred), Field(strict=False)]
Words = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Seconds = Annotated[float, Field(gt=0, le=86_400, strict=False)]
Count = Annotated[int, Field(ge=0, strict=False)]
Url = Annotated[str, AfterValidator(_address)]


class ServerSettings(Table):
    """What concerns all requests."""

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535, strict=False)] = 8080
    workers: Count = 1
    keep_alive: Seconds = 15
    """Seconds of silence after which a client is sent a sign of life."""
    first_payload_wait: Annotated[float, Field(ge=0, le=600, strict=False)] = 5
    """Longest time that the status line waits for the upstream's first payload: an error until then is a status."""
    strict: bool = False
    """A request that would cause a warning is refused."""
    lenient: bool = False
    max_body_bytes: Count = 32 * 1024 * 1024
    max_answer_bytes: Count = 64 * 1024 * 1024
    websocket: bool = True
    max_websockets: Count = 1000
    max_turns: Count = 1000
    guest_requests_per_minute: Count = 0
    """Of each guest; 0: any number. The same for its turns at once."""
    guest_concurrency: Count = 0
    fetch_urls: Literal["never", "when_needed"] = "when_needed"
    """Whether pictures and files are fetched for upstreams that fetch none."""
    allow_private_urls: bool = False
    allowed_hosts: Words = ()
    cors_origins: Words = ()
    shutdown_grace: Annotated[float, Field(ge=0, le=86_400, strict=False)] = 6
    log_format: Literal["auto", "json", "text"] = "auto"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    metrics: Literal["key", "open", "off"] = "key"
    """Who may read `/metrics`: callers with a key that may use all models, everyone, or no one."""
    traces: str = ""
    """Address of an OpenTelemetry collector; empty: no traces."""
    watch: Count | None = None
    """Turns that the record keeps. By default 200 where only this machine can call, else none."""
    record: str | None = None
    insecure_no_auth: bool = False

    @property
    def is_local(self) -> bool:
        """Whether only programs of this machine can call."""
        return is_loopback(self.host) and not self.allowed_hosts and not self.cors_origins

    @property
    def kept_turns(self) -> int:
        """Turns that the record keeps."""
        return (200 if self.is_local else 0) if self.watch is None else self.watch


class KeySettings(Table):
    """A key of this server."""

    name: str
    sha256: str | None = None
    value: Secret | None = None
    models: Words = ()
    requests_per_minute: Count | None = None
    concurrency: Count | None = None


class SealSettings(Table):
    """What clients carry for this server."""

    when: Literal["asked", "always", "never"] = "asked"
    keys: Annotated[tuple[Secret, ...], Field(strict=False)] = ()
    max_age_days: Annotated[float, Field(gt=0, strict=False)] | None = None


class SearchSettings(Table):
    """The server behind `POST /v1/alpha/search`."""

    backend: Literal["none", "searxng", "brave", "exa", "tavily"] = "none"
    base_url: Url | None = None
    api_key: Secret | None = None
    results: Annotated[int, Field(ge=1, le=20)] = 5

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.backend == "none" and (self.base_url or self.api_key):
            raise ValueError("needs a backend: the server that searches")
        if self.backend == "searxng" and not self.base_url:
            raise ValueError('backend = "searxng" needs a base_url')
        if self.backend in {"brave", "exa", "tavily"} and not self.api_key:
            raise ValueError(f'backend = "{self.backend}" needs an api_key')
        return self


_PASS_IMAGE_URLS = frozenset({"azure", "openai"})
"""Providers whose servers fetch pictures by themselves. For others litellm would, from any address."""


def _is_chat_server(provider: Any, url: Any) -> bool:
    """Whether litellm has nothing to translate here: the server is asked directly."""
    if provider == "openai" and isinstance(url, str):
        return not f".{urlsplit(url).hostname}".endswith(".openai.com")
    return provider == "hosted_vllm" or (provider is None and url is not None)


class UpstreamSettings(Table):
    """A model server."""

    via: Literal["chat", "messages", "responses", "litellm", "demo"]
    """How it is asked. By default as its provider is; an address without a provider is a chat server."""
    provider: str | None = None
    api_key: Secret | None = None
    auth: Literal["key", "passthrough"] = "key"
    """Which key is sent: the upstream's, or the one that the caller sent."""
    base_url: Url | None = None
    connect_timeout: Seconds = 5
    timeout: Seconds = 120
    """Longest silence: until the first payload, and between two."""
    turn_timeout: Seconds | None = 1800
    retries: Annotated[int, Field(ge=0, le=1, strict=False)] = 1
    breaker_failures: Count = 10
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    system_role: Literal["system", "developer"] = "system"
    """The role of messages with instructions."""
    strict_tools: bool = True
    """False: `strict` is removed from tools, for servers that refuse unknown keys."""
    reasoning_field: Literal["reasoning_content", "reasoning", "none"] = "reasoning_content"
    """The field in which earlier reasoning is sent back; none: it is not sent."""
    hints: Words = ()
    """Parameters that do not change the answer and that it takes."""
    named_tool_choice: Literal["name", "required"] = "name"
    """How a call of one tool is asked for: by its name; or by offering that tool alone, with the word `required`."""
    takes_image_urls: bool = True
    """False: it does not fetch pictures, so this server does."""
    key_header: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+$")] = "authorization"
    betas: Words = ()

    @model_validator(mode="before")
    @classmethod
    def _with_facts(cls, given: Any) -> Any:
        """What is not given is as its provider has it. A provider's key goes to no address but the provider's."""
        if not isinstance(given, dict):
            return given
        provider, url = given.get("provider"), given.get("base_url")
        known = provider_of(provider if isinstance(provider, str) else None)
        facts: dict[str, Any] = {**known.settings, "via": known.via}
        if isinstance(url, str) and not provider:
            facts["via"] = via_of(url)
        if given.get("via", facts["via"]) == "messages":
            facts |= {"key_header": "x-api-key", "hints": ("safety_identifier", "service_tier", "user")}
        facts |= given
        if facts["via"] == "litellm" and _is_chat_server(provider, url):
            facts["via"] = "chat"
        if facts["via"] == "litellm":
            facts = {"takes_image_urls": provider in _PASS_IMAGE_URLS, **facts}
        elif isinstance(url, str):
            facts["base_url"] = completed(url)
        if "base_url" not in given:
            url = known.messages_url or known.base_url if facts["via"] == "messages" else known.base_url
            facts["base_url"] = None if facts["via"] == "litellm" else url
            if known.key_variable and facts.get("auth") != "passthrough":
                facts.setdefault("api_key", f"env:{known.key_variable}")
        return facts

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.via == "litellm" and not (self.provider or self.base_url):
            raise ValueError("needs a provider or a base_url")
        if self.via not in {"litellm", "demo"} and not self.base_url:
            raise ValueError(f'via = "{self.via}" needs a base_url')
        if self.via == "litellm" and self.auth == "passthrough" and not provider_of(self.provider).key_variable:
            raise ValueError('finds keys of its own for this provider: auth = "passthrough" is not safe there')
        if self.via == "responses" and provider_of(self.provider).functions_only:
            words = "its Responses API knows functions only. Leave via out, and it is asked by chat completions"
            raise ValueError(f'via = "responses" is not for {self.provider}: {words}')
        if self.auth == "passthrough" and self.api_key:
            raise ValueError('takes either api_key or auth = "passthrough"')
        return self


Price = Annotated[float, Field(ge=0, strict=False)]


class Can(Table):
    """What a model can do, where that is not known."""

    vision: bool | None = None
    files: bool | None = None
    audio: bool | None = None
    tools: bool | None = None
    parallel_calls: bool | None = None
    strict_tools: bool | None = None
    reasoning: bool | None = None
    structured_output: Words | None = None
    verbosity: bool | None = None


class ModelSettings(Table):
    """A model by the name that clients use; `*` is any other name."""

    upstream: str | None = None
    upstreams: Words = ()
    """Names of upstreams, or of other models that are asked instead, in order."""
    name: str | None = None
    """Its name at its upstream."""
    names: dict[str, str] = {}
    """The same by upstream."""
    system_messages: Literal["keep", "merge_head", "as_user"] = "keep"
    alternating_roles: bool | None = None
    reasoning: Literal["summary", "text", "on_request"] = "summary"
    give_back_reasoning: bool = True
    think_tags: bool = False
    web_search: bool = False
    cache_control: Literal["off", "auto"] | None = None
    cache_ttl: Literal["5m", "1h"] | None = None
    image_output: bool = False
    context_window: Count | None = None
    input_price: Price | None = None
    cached_input_price: Price | None = None
    output_price: Price | None = None
    reasoning_efforts: Words = ()
    codex: dict[str, Any] = {}
    can: Can = Can()

    @property
    def asked(self) -> tuple[str, ...]:
        """The names in `upstreams`, or the one in `upstream`."""
        return self.upstreams or ((self.upstream,) if self.upstream else ())


UNKNOWN_KEY = "AM Proxy does not know this API key."
"""The message of a refused key: a client may have keys of several servers."""


class Caller(NamedTuple):
    """A key of this server; a guest with a key for an upstream; or anybody, where there are no keys."""

    name: str = ""
    """In the log."""
    owner: str = ""
    """Whom limits count. Guests are told apart by their keys."""
    models: tuple[str, ...] = ()
    """Patterns of the names of models that it may use. Without any, it may use all."""
    requests_per_minute: int | None = None
    concurrency: int | None = None
    own: str | None = None
    """The key that it sent, where that is none of this server's, and an upstream is asked with such keys."""
    is_guest: bool = False
    """Whether it has no key of this server, which has keys."""
    may_know: bool = False
    """Whether it is this machine's own user, who may be told about upstreams."""

    def may_use(self, model: str) -> bool:
        """Whether it may use the model of this name."""
        return not self.models or any(fnmatchcase(model, pattern) for pattern in self.models)
