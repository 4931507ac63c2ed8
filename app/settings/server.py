"""The server itself: how it listens, what it seals with, who may come in."""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Literal, Self

from pydantic import Field, model_validator

from app.options import Table
from app.settings.secret import Secret
from app.settings.values import Collector, Digest, Hosts, KeyName, Name, Origins, SealKey, Seconds, is_loopback


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
    """Bytes of a request; a larger one is a 413. What its sealed items hold may be as much again, and 4 MiB anyway."""
    body_timeout: Seconds = 30
    """Seconds of silence while a body arrives. One that comes more slowly than 1 KiB a second, for as long, is refused
    as well, and so is one that takes 20 times as long in all."""
    body_caller_bytes: int = Field(default=128 * 1024 * 1024, ge=0)
    """Bytes of one caller's requests that are read, or translated for their upstream, at once; at least one of
    `max_body_bytes`. More is a 429; without keys only `body_total_bytes` holds. Four times as much may wait for its
    upstream to answer."""
    body_total_bytes: int = Field(default=512 * 1024 * 1024, ge=0)
    """The same of all callers; at least two of `max_body_bytes`. More is a 503. Half of it at most is for callers
    without a key of this server."""
    max_header_bytes: int = Field(default=64 * 1024, ge=1024)
    """Bytes of its headers; larger ones are a 431."""
    header_timeout: Seconds = 15
    """Seconds for the headers of a request."""
    max_items: int = Field(default=16_384, ge=1)
    """Input items of a request."""
    max_parts: int = Field(default=32_768, ge=1)
    """Content parts, thoughts, commands, outputs and tools inside its items, all together."""
    max_tools: int = Field(default=1_024, ge=0)
    """Tools of a request."""
    max_json_values: int = Field(default=250_000, ge=1000)
    """JSON values of a request: every object, list, string, number, `true`, `false` and `null` in it.
    A token of an earlier answer that comes back with 20 `top_logprobs` is about 170 of them, so that some 1,400 such
    tokens are the most by default: leave `logprobs`, which no model reads, out of what is sent back, or raise this."""
    max_answer_bytes: int = Field(default=64 * 1024 * 1024, ge=1024 * 1024)
    """Bytes that one answer may hold (text, thoughts, arguments, images, items); a longer one fails."""
    websocket: bool = True
    """False: no websocket at GET /v1/responses; whoever tries gets a 426 at once."""
    websocket_memory_bytes: int = Field(default=16 * 1024 * 1024, ge=0)
    """What a connection remembers of its conversation. A longer one must be sent whole each time."""
    websocket_caller_bytes: int = Field(default=64 * 1024 * 1024, ge=0)
    """What all connections of one caller remember; where that is used up, nothing more is remembered. As much again
    may wait on them, or be on its way. Without keys only `websocket_total_bytes` holds."""
    websocket_total_bytes: int = Field(default=256 * 1024 * 1024, ge=0)
    """The same of all callers; half of it at most for callers without a key of this server, if there are keys."""
    max_websockets: int = Field(default=1000, ge=1)
    """Open connections; one more is a 503. Half of them at most for callers without a key, as above."""
    max_caller_websockets: int = Field(default=250, ge=1)
    """Open connections of one caller; one more is a 429. Without keys only `max_websockets` holds."""
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
    """Bytes of all that is fetched for one request, counted at each place that names it."""
    allowed_hosts: Hosts = ()
    """Names by which clients may call a server that listens on this machine alone. Given, they bind any other too."""
    cors_origins: Origins = ()
    """Origins of the web pages that may come in; without any, none."""
    upstream_idle: Seconds = 60
    """Seconds for which an idle connection to an upstream is kept."""
    upstream_idle_connections: int = Field(default=32, ge=0, le=10_000)
    """How many idle connections to one upstream are kept."""
    max_turns: int = Field(default=1000, ge=1)
    """Turns at once; one more is a 503. Half of them at most are for callers without a key of this server. Where there
    are several callers, each runs at most as many as are free, so half of all while nobody else asks; beyond it is a
    429. `concurrency` gives a key another share."""
    guest_requests_per_minute: int = Field(default=0, ge=0)
    """Turns that each caller of an `auth = "passthrough"` upstream, known by its own key, may begin in a minute; 0: any
    number."""
    guest_concurrency: int = Field(default=0, ge=0)
    """Turns of each such caller at once; 0: any number."""
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
    traces: Collector = ""
    """Where a collector of OpenTelemetry takes spans over HTTP (`http://…/v1/traces`). Without one there are none."""
    ui: bool = True
    """False: no inspector at `/`. Beyond this machine, without keys, there is none anyway."""
    watch: int = Field(default=0, ge=0, le=10_000)
    """How many of the last turns the inspector shows, with all that was said in them. They are kept in memory only."""
    watch_bytes: int = Field(default=128 * 1024 * 1024, ge=0)
    """What the turns that it shows may take together. Beyond it the owner with the most loses the oldest turn."""
    insecure_no_auth: bool = False
    """True: without keys, and yet on an address that others can reach."""

    @property
    def hosts(self) -> tuple[str, ...] | None:
        """Whom a Host header may name beside this machine; none where it may name anybody."""
        if "*" in self.allowed_hosts or not (self.allowed_hosts or is_loopback(self.host)):
            return None
        return (*self.allowed_hosts, self.host.strip("[]").lower())


class Seal(Table):
    """What clients carry from turn to turn sealed: reasoning, and what upstreams want back with it."""

    when: Literal["asked", "always", "never"] = "asked"
    """asked: for clients that include `reasoning.encrypted_content`."""
    keys: tuple[SealKey, ...] = ()
    """The first seals, every one opens. Without any, one is made at start that no other process has."""
    max_age_days: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Days after which a seal no longer opens; without it all do."""
    shared: bool = False
    """True: every key of this server opens what was sealed for another, for conversations that change keys, and what
    earlier releases sealed, which is bound to none. False: only a key of the same name does."""


class KeyTable(Table):
    """A client's key as it is written: its digest, or itself."""

    name: KeyName
    """What the log calls its owner; not `guest` or `anyone`, which it calls callers without a key of this server."""
    sha256: Digest | None = None
    """The SHA-256 of the key, in 64 hexadecimal digits."""
    value: Secret | None = None
    """Or the key itself; only its SHA-256 is kept."""
    models: tuple[Name, ...] = ("*",)
    """Which public names it may use; patterns such as `gpt-*` work."""
    requests_per_minute: int | None = Field(default=None, ge=1)
    """Turns that may begin in a minute; without it any number. Each process counts for itself."""
    concurrency: int | None = Field(default=None, ge=1)
    """Turns at once; without it what `max_turns` leaves to each caller, or all of them where there is one key."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.sha256 is None) == (self.value is None):
            message = "needs either sha256 or value, and not both"
            raise ValueError(message)
        return self

    def key(self) -> "Key":
        """The key as it is kept."""
        if self.value is not None:
            digest = sha256(self.value.reveal().encode()).digest()
        elif self.sha256 is not None:
            digest = bytes.fromhex(self.sha256)
        else:
            raise AssertionError  # pragma: no cover — refused when it was read
        return Key(
            name=self.name,
            digest=digest,
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
    owner: str = field(init=False, compare=False)
    """The caller that limits, seals and remembered turns belong to; empty where no keys are configured.

    Callers with a key of their own are told apart by it, and no configured name equals such a caller's.
    """

    def __post_init__(self) -> None:
        """Names the owner once: a request asks for it many times."""
        owner = f"key:{self.name}" if self.digest else ""
        if self.own is not None:
            owner = f"guest:{sha256(b'am-proxy owner ' + self.own.reveal().encode()).hexdigest()}"
        object.__setattr__(self, "owner", owner)

    @property
    def may_use_all(self) -> bool:
        """Whether no public name is closed to this key."""
        return "*" in self.models

    def may_use(self, model: str) -> bool:
        """Whether one of the patterns covers this public name."""
        return any(fnmatchcase(model, pattern) for pattern in self.models)
