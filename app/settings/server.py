"""The tables of the server itself: how it listens, its limits, sealing, and the keys of clients."""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Literal, Self

from pydantic import Field, model_validator

from ..options import ServerOptions, Table
from .secret import Secret
from .values import Collector, Digest, Hosts, KeyName, Name, Origins, SealKey, Seconds, is_loopback


class _ServerLimits(Table):
    """How the server listens, its limits and its timeouts."""

    host: Name = "127.0.0.1"
    """The address to listen on. Any address other than this machine's own needs `[[keys]]`."""
    port: int = Field(default=8080, ge=0, le=65_535)
    """The port to listen on; 0: any free one."""
    keep_alive: Seconds = 15
    """Seconds of silence after which a client is sent a keep-alive."""
    first_payload_wait: float = Field(default=5, ge=0, le=600, allow_inf_nan=False)
    """Seconds for which the status line may be held back while the upstream has sent nothing."""
    strict: bool = False
    """True: a request that would get a warning is refused with a 400."""
    max_body_bytes: int = Field(default=32 * 1024 * 1024, ge=1024)
    """Largest request body, in bytes; a larger one is a 413. The contents of its sealed items may be as large again,
    and at least 4 MiB."""
    body_timeout: Seconds = 30
    """Seconds without data after which an incomplete request body is refused. A body that is slower than 1 KiB a second
    for as long is refused as well, and so is one that takes 20 times as long in all."""
    body_caller_bytes: int = Field(default=128 * 1024 * 1024, ge=0)
    """Bytes of one caller's requests that may be read, or translated for their upstream, at the same time; at least one
    of `max_body_bytes`. More is a 429; without keys only `body_total_bytes` applies. Four times as many may wait for
    their upstream to answer."""
    body_total_bytes: int = Field(default=512 * 1024 * 1024, ge=0)
    """The same for all callers together; at least two of `max_body_bytes`. More is a 503. Callers without a key of this
    server get at most half of it."""
    max_header_bytes: int = Field(default=64 * 1024, ge=1024)
    """Largest request headers, in bytes; larger ones are a 431."""
    header_timeout: Seconds = 15
    """Seconds within which the headers of a request must arrive."""
    max_items: int = Field(default=16_384, ge=1)
    """Most input items of a request."""
    max_parts: int = Field(default=32_768, ge=1)
    """Most content parts, thoughts, commands, outputs and tools inside the items of a request, all together."""
    max_tools: int = Field(default=1_024, ge=0)
    """Most tools of a request."""
    max_json_values: int = Field(default=250_000, ge=1000)
    """Most JSON values of a request: every object, list, string, number, `true`, `false` and `null` counts. A token of
    an earlier answer that is sent back with 20 `top_logprobs` has about 170 of them, so the default allows some 1,400
    such tokens: leave out `logprobs`, which no model reads, or raise this."""
    websocket: bool = True
    """False: no websocket at GET /v1/responses; whoever tries gets a 426 at once."""
    websocket_memory_bytes: int = Field(default=16 * 1024 * 1024, ge=0)
    """Bytes of its conversation that a connection remembers. A longer conversation must be sent whole each time."""
    websocket_caller_bytes: int = Field(default=64 * 1024 * 1024, ge=0)
    """Bytes that all connections of one caller remember together; when they are used up, nothing more is remembered. As
    many again may arrive, or wait for their turn. Without keys only `websocket_total_bytes` applies."""
    websocket_total_bytes: int = Field(default=256 * 1024 * 1024, ge=0)
    """The same for all callers together. If there are keys, callers without a key of this server get at most half of
    it."""
    max_websockets: int = Field(default=1000, ge=1)
    """Most open connections; one more is a 503. Callers without a key get at most half of them, as above."""
    max_caller_websockets: int = Field(default=250, ge=1)
    """Most open connections of one caller; one more is a 429. Without keys only `max_websockets` applies."""
    websocket_idle: Seconds = 600
    """Seconds for which a connection may be idle between two turns."""
    websocket_lifetime: Seconds = 3600
    """Seconds after which a connection is closed, as soon as no turn is running."""
    fetch_urls: Literal["never", "when_needed"] = "when_needed"
    """Whether this server fetches images and files for upstreams that do not fetch them."""
    fetch_timeout: Seconds = 10
    """Seconds for fetching one of them, from connecting to the last byte."""
    max_fetch_bytes: int = Field(default=32 * 1024 * 1024, ge=1024)
    """Most bytes fetched for one request; what is named in several places counts in each."""
    allowed_hosts: Hosts = ()
    """Host names by which clients may call a server that listens on this machine only. If given, clients of any other
    server must use them too."""
    cors_origins: Origins = ()
    """Origins of the web pages that may call this server from a browser; without any, none may."""
    upstream_idle: Seconds = 60
    """Seconds for which an idle connection to an upstream is kept open."""
    upstream_idle_connections: int = Field(default=32, ge=0, le=10_000)
    """Most idle connections to one upstream that are kept open."""
    max_turns: int = Field(default=1000, ge=1)
    """Most turns at the same time; one more is a 503. Callers without a key of this server get at most half of them.
    Where there are several callers, each may run at most as many as are free, so half of all while the others run none;
    one more is a 429. `concurrency` gives a key another share."""
    guest_requests_per_minute: int = Field(default=0, ge=0)
    """Turns that each caller of an `auth = "passthrough"` upstream, known by its own key, may start in a minute; 0: no
    limit."""
    guest_concurrency: int = Field(default=0, ge=0)
    """Turns of each such caller at the same time; 0: no limit."""
    send_timeout: Seconds = 60
    """Seconds for which a client may read nothing of what is sent to it; then its connection is closed."""
    drain_delay: float = Field(default=2, ge=0, le=600, allow_inf_nan=False)
    """Seconds for which a server that was told to stop reports that it is not ready, and still serves."""
    shutdown_grace: float = Field(default=6, ge=0, le=86_400, allow_inf_nan=False)
    """Seconds that running turns then have to end."""
    log_format: Literal["auto", "text", "json"] = "auto"
    """auto: text on a terminal, JSON elsewhere."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The lowest level that is logged. The line of a turn is info."""
    log_bodies: bool = False
    """True: requests and answers are logged, without files, images and seals. For finding faults."""
    metrics: Literal["key", "open", "off"] = "key"
    """Who may read `/metrics`: callers with a key (everyone, where there are no keys), everyone, or no one."""
    traces: Collector = ""
    """Where an OpenTelemetry collector takes spans over HTTP (`http://…/v1/traces`). Without it there are none."""
    ui: bool = True
    """False: no inspector at `/`. Where others can reach the server, and there are no keys, there is none in any
    case."""
    watch: int = Field(default=0, ge=0, le=10_000)
    """How many of the last turns the inspector shows, with their requests and answers. They are kept in memory only."""
    watch_bytes: int = Field(default=128 * 1024 * 1024, ge=0)
    """Most bytes of these turns together. Beyond them, the owner with the most loses its oldest turn."""
    insecure_no_auth: bool = False
    """True: serve without keys, even on an address that others can reach."""


class Server(ServerOptions, _ServerLimits):
    """All settings of the server. Every field is also an environment variable, `AM_<NAME>`."""

    @property
    def hosts(self) -> tuple[str, ...] | None:
        """The hosts that a Host header may name in addition to this machine; None if it may name any."""
        if "*" in self.allowed_hosts or not (self.allowed_hosts or is_loopback(self.host)):
            return None
        return (*self.allowed_hosts, self.host.strip("[]").lower())


class Seal(Table):
    """Sealing of what clients carry from turn to turn: reasoning, and the state that upstreams want back with it."""

    when: Literal["asked", "always", "never"] = "asked"
    """asked: for clients that include `reasoning.encrypted_content`."""
    keys: tuple[SealKey, ...] = ()
    """The first key seals, every one opens. Without any, a key is made at start that no other process has."""
    max_age_days: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Days after which a seal no longer opens; without it, all seals open."""
    shared: bool = False
    """True: every key of this server opens what was sealed for another key, for conversations that change keys, and
    what earlier releases sealed, which is bound to no key. False: only a key of the same name does."""


class KeyTable(Table):
    """A client's key as the configuration has it: its digest, or the key itself."""

    name: KeyName
    """What the log calls its owner; not `guest` or `anyone`, which stand for callers without a key of this server."""
    sha256: Digest | None = None
    """The SHA-256 of the key, in 64 hexadecimal digits."""
    value: Secret | None = None
    """Instead of it, the key itself; only its SHA-256 is kept."""
    models: tuple[Name, ...] = ("*",)
    """Public model names that it may use; patterns such as `gpt-*` work."""
    requests_per_minute: int | None = Field(default=None, ge=1)
    """Turns that may start in a minute; without it, no limit. Each process counts for itself."""
    concurrency: int | None = Field(default=None, ge=1)
    """Turns at the same time; without it, what `max_turns` leaves to each caller, or all of them where there is one
    key."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.sha256 is None) == (self.value is None):
            message = "needs either sha256 or value, and not both"
            raise ValueError(message)
        return self

    def key(self) -> "Key":
        """The key with its digest instead of its value."""
        if self.value is not None:
            digest = sha256(self.value.reveal().encode()).digest()
        elif self.sha256 is not None:
            digest = bytes.fromhex(self.sha256)
        else:
            raise AssertionError  # pragma: no cover — refused by `_one_of_both`
        return Key(
            name=self.name,
            digest=digest,
            models=self.models,
            requests_per_minute=self.requests_per_minute,
            concurrency=self.concurrency,
        )


@dataclass(frozen=True, slots=True)
class Key:
    """A client that may use the server. Only the SHA-256 of its key is kept."""

    name: str
    digest: bytes
    models: tuple[str, ...] = ("*",)
    """Patterns of public model names: `*`, `gpt-*`."""
    is_guest: bool = False
    """Not one of the configured keys: it gives no access here, but perhaps at an upstream that it is sent to."""
    own: Secret | None = None
    """The key that the caller sent, where it is not a configured one and some upstream is sent its callers' keys."""
    requests_per_minute: int | None = None
    """Turns that may start in a minute; None: no limit. Each process counts for itself."""
    concurrency: int | None = None
    """Turns at the same time; None: no limit."""
    owner: str = field(init=False, compare=False)
    """The caller that limits, seals and remembered turns belong to; empty where no keys are configured.

    Callers with a key of their own are distinguished by it, and no configured name equals such a caller's.
    """

    def __post_init__(self) -> None:
        """Computes the owner once: a request reads it many times."""
        owner = f"key:{self.name}" if self.digest else ""
        if self.own is not None:
            owner = f"guest:{sha256(b'am-proxy owner ' + self.own.reveal().encode()).hexdigest()}"
        object.__setattr__(self, "owner", owner)

    @property
    def may_use_all(self) -> bool:
        """Whether this key may use every public name."""
        return "*" in self.models

    def may_use(self, model: str) -> bool:
        """Whether one of the patterns covers this public name."""
        return any(fnmatchcase(model, pattern) for pattern in self.models)
