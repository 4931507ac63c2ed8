"""The tables of a configuration, and the kinds of values in them."""

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr


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


def _without_slash(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise ValueError("must begin with http:// or https://")
    return url.rstrip("/")


Secret = Annotated[SecretStr, BeforeValidator(_referred), Field(strict=False)]
Words = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Seconds = Annotated[float, Field(gt=0, le=86_400, strict=False)]
Count = Annotated[int, Field(ge=0, strict=False)]
Url = Annotated[str, AfterValidator(_without_slash)]


class ServerSettings(Table):
    """What concerns all requests."""

    host: str = "127.0.0.1"
    port: Count = 8080
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
    guest_requests_per_minute: Count = 60
    guest_concurrency: Count = 10
    fetch_urls: Literal["auto", "always", "never"] = "auto"
    allow_private_urls: bool = False
    allowed_hosts: Words = ()
    cors_origins: Words = ()
    shutdown_grace: Seconds = 30
    log_format: Literal["auto", "json", "text"] = "auto"
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    metrics: bool = True
    traces: bool = False
    watch: Count | None = None
    """Turns that the record keeps. By default 200 where only this machine can call, else none."""
    record: str | None = None
    insecure_no_auth: bool = False

    @property
    def is_local(self) -> bool:
        """Whether only this machine can call."""
        return self.host in {"127.0.0.1", "::1", "localhost"}

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

    when: Literal["asked", "always"] = "asked"
    keys: Annotated[tuple[Secret, ...], Field(strict=False)] = ()
    max_age_days: Count | None = None


class SearchSettings(Table):
    """The server behind `POST /v1/alpha/search`."""

    backend: Literal["none", "searxng", "brave", "exa", "tavily"] = "none"
    base_url: Url | None = None
    api_key: Secret | None = None
    results: Count = 5


class UpstreamSettings(Table):
    """A model server."""

    via: Literal["chat", "messages", "responses", "litellm"] | None = None
    provider: str | None = None
    api_key: Secret | None = None
    auth: Literal["own", "passthrough"] = "own"
    base_url: Url | None = None
    connect_timeout: Seconds = 5
    timeout: Seconds = 300
    """Longest silence: until the first payload, and between two."""
    turn_timeout: Seconds | None = None
    retries: Count = 2
    breaker_failures: Count = 5
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    system_role: Literal["system", "developer"] = "system"
    strict_tools: bool | None = None
    reasoning_field: Literal["reasoning_content", "reasoning", "none"] = "reasoning_content"
    hints: Words | None = None
    named_tool_choice: Literal["name", "required"] | None = None
    takes_image_urls: bool | None = None
    key_header: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+$")] = "authorization"
    betas: Words = ()


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
    structured_output: Words | bool | None = None
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
    cache_control: bool | None = None
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
