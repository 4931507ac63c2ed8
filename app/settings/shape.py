"""What a configuration may say: every setting, its default and its limits. Frozen; values come checked."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from hashlib import sha256
from ipaddress import ip_address
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from app.settings.secret import Secret

SEAL_KEY_LENGTH: Final = 32
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]


def _told(text: str) -> str:
    """A name: not empty, not endless, nothing invisible in it."""
    if not text or text != text.strip() or not text.isprintable():
        message = "must be a name without spaces around it and without control characters"
        raise ValueError(message)
    return text


def _address(url: str) -> str:
    """An upstream's address, without the slash at its end."""
    wrong = "must be an address that starts with http:// or https://"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError(wrong) from None
    if parts.scheme not in {"http", "https"} or not parts.hostname or port == 0 or " " in url or not url.isprintable():
        raise ValueError(wrong)
    if parts.username is not None or parts.password is not None:
        message = "must not hold a user name or password: use api_key"
        raise ValueError(message)
    if parts.query or parts.fragment:
        message = "must end with its path, without ? or #"
        raise ValueError(message)
    return url.rstrip("/")


def _collector(url: str) -> str:
    """An address, or nothing."""
    return url and _address(url)


def _digest(text: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{64}", text):
        message = "must be the SHA-256 of the key: 64 hexadecimal digits"
        raise ValueError(message)
    return text.lower()


def _origin(text: str) -> str:
    """A web page's origin, as browsers send it; or all of them."""
    if text == "*":
        return text
    if not re.fullmatch(r"[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?", text.lower()):
        message = 'must be an origin such as "https://example.com", without a path, or "*"'
        raise ValueError(message)
    return text.lower()


def _host(text: str) -> str:
    """A name or address as it stands in a Host header, without the port."""
    if text != "*" and not re.fullmatch(r"[A-Za-z0-9._-]+|\[?[0-9A-Fa-f:.]+\]?", text):
        message = 'must be a host name or address without a port, or "*"'
        raise ValueError(message)
    return text.strip("[]").lower()


def _split(value: object) -> object:
    """A list, also as an environment variable holds one: with commas."""
    return [word.strip() for word in value.split(",") if word.strip()] if isinstance(value, str) else value


Name = Annotated[str, Field(max_length=256), AfterValidator(_told)]
Origins = Annotated[tuple[Annotated[str, AfterValidator(_origin)], ...], BeforeValidator(_split)]
Hosts = Annotated[tuple[Annotated[str, AfterValidator(_host)], ...], BeforeValidator(_split)]


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens on `host`. Of names, only localhost is sure."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class Table(BaseModel):
    """A table of the file: frozen, and a key it does not know is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Server(Table):
    """How the server listens and how patient it is. Every field is also an environment variable, `AM_<NAME>`."""

    host: Name = "127.0.0.1"
    """Where it listens. Any address but this machine's own needs `[[keys]]`."""
    port: int = Field(default=8080, ge=0, le=65_535)
    """0: any free one."""
    keep_alive: Seconds = 15
    """Seconds of silence before a keep-alive."""
    first_payload_wait: float = Field(default=5, ge=0, le=600, allow_inf_nan=False)
    """Seconds for which the status line may be held back until the upstream speaks."""
    strict: bool = False
    """True: every warning is a 400."""
    lenient: bool = False
    """True: what a model is known not to take is left out with a warning. False: a request that holds it is a 400."""
    max_body_bytes: int = Field(default=32 * 1024 * 1024, ge=1024)
    """Bytes of a request; a larger one is a 413."""
    body_timeout: Seconds = 30
    """Seconds of silence while a body arrives; one that comes very slowly has a bound as well."""
    max_header_bytes: int = Field(default=64 * 1024, ge=1024)
    """Bytes of its headers; larger ones are a 431."""
    header_timeout: Seconds = 15
    """Seconds for the headers of a request."""
    max_items: int = Field(default=16_384, ge=1)
    """Input items of a request."""
    max_tools: int = Field(default=1_024, ge=0)
    """Tools of a request."""
    websocket: bool = True
    """False: no websocket at GET /v1/responses; whoever tries gets a 426 at once."""
    websocket_memory_bytes: int = Field(default=16 * 1024 * 1024, ge=0)
    """What a connection remembers of its conversation. A longer one must be sent whole each time."""
    websocket_idle: Seconds = 600
    """Seconds for which a connection may be quiet between two turns."""
    websocket_lifetime: Seconds = 3600
    """Seconds after which a connection is closed, behind the turn that is running."""
    allow_private_urls: bool = False
    """True: image and file URLs may point to private addresses."""
    fetch_urls: Literal["never", "when_needed"] = "when_needed"
    """Whether images and files are fetched for upstreams that fetch none themselves."""
    fetch_timeout: Seconds = 10
    """Seconds for one of them, from the first word to the last byte."""
    max_fetch_bytes: int = Field(default=32 * 1024 * 1024, ge=1024)
    """Bytes of all that is fetched for one request."""
    allowed_hosts: Hosts = ()
    """Names by which clients may call a server that listens on this machine alone. Given, they bind any other too."""
    cors_origins: Origins = ()
    """Origins of the web pages that may come in; without any, none."""
    max_turns: int = Field(default=1000, ge=1)
    """Turns at once; one more is a 503."""
    send_timeout: Seconds = 60
    """Seconds for which a client may read nothing of what is sent to it."""
    drain_delay: float = Field(default=2, ge=0, le=600, allow_inf_nan=False)
    """Seconds for which the server, told to stop, says that it is not ready and serves on."""
    shutdown_grace: float = Field(default=6, ge=0, le=86_400, allow_inf_nan=False)
    """Seconds that turns then have to end."""
    log_format: Literal["auto", "text", "json"] = "auto"
    """auto: text on a terminal, JSON elsewhere."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Below which the log says nothing. A turn's line is info."""
    log_bodies: bool = False
    """True: the log holds all that is said, without files, pictures and seals. For hunting a fault."""
    metrics: Literal["key", "open", "off"] = "key"
    """Who may read `/metrics`: who has a key (everybody, where there are none), everybody, or nobody."""
    traces: Annotated[str, AfterValidator(_collector)] = ""
    """Where a collector of OpenTelemetry takes spans over HTTP (`http://…/v1/traces`). Without one there are none."""
    ui: bool = True
    """False: no inspector at `/`. Beyond this machine, without keys, there is none anyway."""
    watch: int = Field(default=0, ge=0, le=10_000)
    """How many of the last turns the inspector shows, with all that was said in them. They are kept in memory only."""
    insecure_no_auth: bool = False
    """True: without keys, and yet on an address that others can reach."""

    @property
    def hosts(self) -> tuple[str, ...] | None:
        """Whom a Host header may name beside this machine; none where it may name anybody."""
        if "*" in self.allowed_hosts or not (self.allowed_hosts or is_loopback(self.host)):
            return None
        return (*self.allowed_hosts, self.host.strip("[]").lower())


def _long(key: Secret) -> Secret:
    if len(key.reveal()) < SEAL_KEY_LENGTH:
        message = f"must be at least {SEAL_KEY_LENGTH} characters that nobody can guess: `openssl rand -hex 32`"
        raise ValueError(message)
    return key


class Seal(Table):
    """What clients carry from turn to turn sealed: reasoning, and what upstreams want back with it."""

    when: Literal["asked", "always", "never"] = "asked"
    """asked: for clients that include `reasoning.encrypted_content`."""
    keys: tuple[Annotated[Secret, AfterValidator(_long)], ...] = ()
    """The first seals, every one opens. Without any, one is made at start that no other process has."""
    max_age_days: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Days after which a seal no longer opens; without it all do."""


class KeyTable(Table):
    """A client's key as it is written: its digest, or itself."""

    name: Name
    """What the log calls its owner."""
    sha256: Annotated[str, AfterValidator(_digest)] | None = None
    """The SHA-256 of the key, in 64 hexadecimal digits."""
    value: Secret | None = None
    """Or the key itself; only its SHA-256 is kept."""
    models: tuple[Name, ...] = ("*",)
    """Which public names it may use; patterns such as `gpt-*` work."""
    requests_per_minute: int | None = Field(default=None, ge=1)
    """Turns that may begin in a minute; without it any number. Each process counts for itself."""
    concurrency: int | None = Field(default=None, ge=1)
    """Turns at once; without it any number."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.sha256 is None) == (self.value is None):
            message = "needs either sha256 or value, and not both"
            raise ValueError(message)
        return self

    def key(self) -> "Key":
        """The key as it is kept."""
        digest = self.sha256 or sha256((self.value or Secret("-")).reveal().encode()).hexdigest()
        return Key(
            name=self.name,
            digest=bytes.fromhex(digest),
            models=self.models,
            requests_per_minute=self.requests_per_minute,
            concurrency=self.concurrency,
        )


@dataclass(frozen=True, slots=True)
class Key:
    """A client that may come in. Only the SHA-256 of its key is kept."""

    name: str
    digest: bytes
    models: tuple[str, ...] = ("*",)
    """Patterns of public model names: `*`, `gpt-*`."""
    is_guest: bool = False
    """Not one of ours: the key they came with opens nothing here, but perhaps an upstream that is given it."""
    own: Secret | None = None
    """The key they came with, where it is none of ours and some upstream is given its callers' keys."""
    requests_per_minute: int | None = None
    """Turns that may begin in a minute; none: any number. Each process counts for itself."""
    concurrency: int | None = None
    """Turns at once; none: any number."""

    def may_use(self, model: str) -> bool:
        """Whether one of the patterns covers this public name."""
        return any(fnmatchcase(model, pattern) for pattern in self.models)


_ONLY: Final = {
    "stream_options": "chat",
    "max_tokens_field": "chat",
    "system_role": "chat",
    "strict_tools": "chat",
    "reasoning_field": "chat",
    "blank_reasoning": "chat",
    "takes_image_urls": "chat",
    "ids": "responses",
}
"""Settings of one kind of upstream."""


TAKES_ANY_KEY: Final = frozenset(
    {
        "anthropic", "cerebras", "codestral", "deepinfra", "deepseek", "fireworks_ai", "gemini", "groq", "hosted_vllm",
        "mistral", "moonshot", "nvidia_nim", "openai", "openrouter", "perplexity", "sambanova", "together_ai", "xai",
    }
)  # fmt: skip
"""Providers for which litellm sends the key it is given, and nothing else that could open a door."""


Hint = Literal["metadata", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier", "user"]


class Upstream(Table):
    """A server that runs models, and how it is spoken to."""

    via: Literal["litellm", "chat", "responses", "demo"] = "litellm"
    """How it is spoken to: through litellm, as a chat-completions or as a Responses server; or the embedded model."""
    provider: Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,64}$")] | None = None
    """litellm's provider prefix. Without one the server at `base_url` speaks OpenAI's chat completions."""
    api_key: Secret | None = None
    """What it wants as a key."""
    auth: Literal["key", "passthrough"] = "key"
    """Whose key is sent: this upstream's own, or that of the caller, who then needs none of this server's."""
    base_url: Annotated[str, AfterValidator(_address)] | None = None
    """Its address, up to and without `/chat/completions` or `/responses`."""
    connect_timeout: Seconds = 5
    """Seconds for finding and reaching the upstream, TLS included."""
    first_payload_timeout: Seconds | None = None
    """Seconds until its first word, after which there is a 504; the same as `timeout` unless given."""
    timeout: Seconds = 120
    """Seconds for which the upstream may be silent. Comments that it sends to be kept alive are silence."""
    turn_timeout: Seconds = 1800
    """Seconds for one whole turn."""
    retries: int = Field(default=1, ge=0, le=1)
    """How often it is asked again what it could not take: not reached, or 429, 502, 503, 529. One in ten at most."""
    breaker_failures: int = Field(default=10, ge=0)
    """Failures in a row after which it is left alone; 0: never."""
    breaker_pause: Seconds = 30
    """Seconds for which it is; then one turn tries."""
    stream_options: bool = True
    """False: the upstream is never asked to count tokens. True: it is, until it refuses."""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What the upstream calls the limit of an answer."""
    system_role: Literal["system", "developer"] = "system"
    """Under which role instructions go."""
    strict_tools: bool = True
    """False: `strict` is taken off tools."""
    reasoning_field: Literal["reasoning_content", "reasoning", "none"] = "reasoning_content"
    """Under which name earlier thoughts go back; none: they do not."""
    blank_reasoning: bool = False
    """True: where they are missing a blank one goes back, for servers that demand them (DeepSeek)."""
    hints: tuple[Hint, ...] | None = None
    """Parameters that do not change the answer and that this upstream takes. OpenAI and Azure take all, others none,
    unless it is said here."""
    takes_image_urls: bool = True
    """False: the upstream fetches no images, so this server does (Ollama, llama.cpp)."""
    ids: Literal["am", "keep"] = "am"
    """Ids of responses and items: marked as this server's, the original inside, or as the upstream gave them."""

    def takes(self, name: str) -> bool:
        """Whether this setting means anything to an upstream of this kind."""
        return _ONLY.get(name, self.via) == self.via

    @model_validator(mode="after")
    def _knows_its_settings(self) -> Self:
        for name in type(self).model_fields:
            if name in self.model_fields_set and not self.takes(name):
                message = f'{name} means nothing here: it is a setting of via = "{_ONLY[name]}"'
                raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        message = ""
        match self.via:
            case "demo" if self.provider or self.api_key or self.base_url:
                message = 'via = "demo" takes no provider, api_key or base_url: it runs inside this server'
            case "chat" | "responses" if self.provider:
                message = 'provider is litellm\'s: leave it out, or say via = "litellm"'
            case "chat" | "responses" if not self.base_url:
                message = f'via = "{self.via}" needs a base_url'
            case "demo" if self.auth == "passthrough":
                message = 'via = "demo" asks for no key: leave auth out'
            case _ if self.auth == "passthrough" and self.api_key:
                message = 'takes either api_key or auth = "passthrough"'
            case "litellm" if self.auth == "passthrough" and self.provider not in {None, *TAKES_ANY_KEY}:
                message = f'litellm finds keys of its own for {self.provider}: auth = "passthrough" is not safe there'
            case "litellm" if not self.provider and not self.base_url:
                message = 'needs a provider (litellm\'s prefix, such as "deepseek") or a base_url'
        if message:
            raise ValueError(message)
        return self


class Can(Table):
    """What a model takes, where that is known better here than by litellm's model map. The rest is passed on."""

    vision: bool | None = None
    """Images."""
    files: bool | None = None
    """Files, such as PDF."""
    audio: bool | None = None
    """Sound."""
    tools: bool | None = None
    """Calling tools."""
    parallel_calls: bool | None = None
    """Whether it can be told to call one tool at a time (`parallel_tool_calls`)."""
    strict_tools: bool | None = None
    """Whether its server holds calls to the schema of a strict tool."""
    reasoning: bool | None = None
    """Whether it can be told how much to think; how much, say `reasoning_efforts`."""
    structured_output: tuple[Literal["json_schema", "json_object"], ...] | None = None
    """The formats its server holds an answer to. Others are told to the model in words."""
    verbosity: bool | None = None
    """Being told how much to say."""


class Model(Table):
    """A model under its public name."""

    upstream: Name
    """Which of `[upstreams]` runs it."""
    upstreams: tuple[Name, ...] = ()
    """Instead of one, several: each is asked when those before it failed before their first word."""
    name: Name | None = None
    """Its name upstream; the public one unless given."""
    names: dict[Name, Name] = {}
    """Its name at some of its upstreams, where they differ."""
    system_messages: Literal["keep", "merge_head", "as_user"] = "keep"
    """System messages where they stand, all in one at the head, or as user messages."""
    reasoning: Literal["summary", "text", "on_request"] = "summary"
    """How what the model thinks is told: as a summary, which every client shows; as raw text; or, on request, as a
    summary to clients that ask for one, or for encrypted reasoning, and not at all to others."""
    give_back_reasoning: bool = True
    """Whether earlier thoughts go back to the upstream."""
    think_tags: bool = False
    """True: `<think>…</think>` at the start of the text is reasoning."""
    call_ids: Literal["auto", "keep", "plain64", "plain40", "alphanumeric9"] = "auto"
    """Ids of past calls: as litellm's provider is known to want them, as the client has them, at most 64 plain
    characters, or 40 (OpenAI), or nine letters and digits (Mistral)."""
    web_search: bool = False
    """True: the upstream searches the web itself, when the client offers `web_search`."""
    cache_control: Literal["off", "auto"] = "off"
    """auto: mark what is to be cached (the system message, and all that was said), for Claude, wherever it runs."""
    image_output: bool = False
    """True: the model writes images beside text, and is asked to."""
    context_window: int | None = Field(default=None, ge=1)
    """Tokens; told to clients that ask for a catalogue of models, as Codex does."""
    reasoning_efforts: tuple[Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"], ...] = ()
    """Efforts the model knows; others are lowered to one of these. Told to the same clients."""
    apply_patch: bool = True
    """Whether Codex should offer this model its free-form `apply_patch`; for the same catalogue."""
    can: Can = Can()
    """What it is able to do, where that is not what litellm says of it; see `[models.NAME.can]`."""

    @model_validator(mode="before")
    @classmethod
    def _first_of_several(cls, data: Any) -> Any:
        """With a list of upstreams, the first one is the upstream."""
        several = data.get("upstreams") if isinstance(data, dict) else None
        if not several:
            return data
        if "upstream" in data:
            message = "needs either upstream or upstreams, and not both"
            raise ValueError(message)
        return {**data, "upstream": several[0]} if isinstance(several, list | tuple) else data


class Tables(Table):
    """The whole file."""

    server: Server = Server()
    seal: Seal = Seal()
    keys: tuple[KeyTable, ...] = ()
    upstreams: dict[Name, Upstream] = {}
    models: dict[Name, Model] = {}


DEMO_UPSTREAMS: Mapping[str, Upstream] = {"demo": Upstream(via="demo")}
DEMO_MODELS: Mapping[str, Model] = {"demo": Model(upstream="demo")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything the server was told. `Settings()` is the server without any configuration: the embedded model."""

    server: Server = field(default_factory=Server)
    seal: Seal = field(default_factory=Seal)
    keys: tuple[Key, ...] = ()
    upstreams: Mapping[str, Upstream] = field(default_factory=lambda: dict(DEMO_UPSTREAMS))
    models: Mapping[str, Model] = field(default_factory=lambda: dict(DEMO_MODELS))
    """By public name; `*` is any other name, passed on unchanged unless it has a `name` of its own."""
    file: str | None = None
    """The file that was read."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Where each value was said, by its path: `{"server.port": "--port", "upstreams.x.api_key": "env:X_KEY"}`."""
    notes: tuple[str, ...] = ()
    """What is no mistake, but worth a look."""

    @property
    def serves_page(self) -> bool:
        """Whether the inspector is there: it is told not to be, or strangers could use it."""
        return self.server.ui and (bool(self.keys) or is_loopback(self.server.host))
