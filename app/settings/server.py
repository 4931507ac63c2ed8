"""The tables of the server itself: how it listens, its limits, sealing, and the keys of clients."""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Literal, Self

from pydantic import Field, model_validator

from ..options import ServerOptions, Table
from .secret import Secret
from .values import Collector, Digest, Hosts, KeyName, Name, Networks, Origins, SealKey, Seconds, Workers, is_loopback


class _ServerLimits(Table):
    """How the server listens, its limits and its timeouts."""

    host: Name = "127.0.0.1"
    """The address to listen on. An address that other machines can reach needs `[[keys]]`."""
    port: int = Field(default=8080, ge=0, le=65_535)
    """The port to listen on; 0: any free one."""
    workers: Workers = 1
    """Number of processes that share the port, 64 at most; auto: one for each processor core that this server may use.
    See [scaling](scaling.md#workers)."""
    keep_alive: Seconds = 15
    """Seconds of silence after which a client is sent a keep-alive."""
    first_payload_wait: float = Field(default=5, ge=0, le=600, allow_inf_nan=False)
    """Longest time, in seconds, that the status line waits for the upstream's first data. An error until then is an
    HTTP status."""
    strict: bool = False
    """True: a request that would cause a warning is refused with a 400."""
    max_body_bytes: int = Field(default=32 * 1024 * 1024, ge=1024)
    """Largest request body, in bytes; a larger one is a 413. Its encrypted items may contain as much again, and at
    least 4 MiB."""
    body_timeout: Seconds = 30
    """Seconds without data after which an incomplete request body is refused. So is a body that stays slower than 1 KiB
    a second for that long, and one that takes 20 times that long in total."""
    body_caller_bytes: int = Field(default=128 * 1024 * 1024, ge=0)
    """Bytes of one caller's requests that are read or translated at the same time; at least `max_body_bytes`. More is a
    429. Four times as many may wait for their upstream to answer. Without keys, only `body_total_bytes` applies."""
    body_total_bytes: int = Field(default=512 * 1024 * 1024, ge=0)
    """The same for all callers together; at least twice `max_body_bytes`. More is a 503. Callers without a key of this
    server get at most half of it."""
    max_header_bytes: int = Field(default=64 * 1024, ge=1024)
    """Largest request headers, in bytes, also those behind a body; larger ones are a 431."""
    header_timeout: Seconds = 15
    """Seconds within which the headers of a request must arrive."""
    max_items: int = Field(default=16_384, ge=1)
    """Largest number of input items in a request."""
    max_parts: int = Field(default=32_768, ge=1)
    """Largest number of content parts, thoughts, commands, outputs and tools inside the items of a request, all
    together."""
    max_tools: int = Field(default=1_024, ge=0)
    """Largest number of tools in a request."""
    max_json_values: int = Field(default=250_000, ge=1000)
    """Largest number of JSON values in a request: each object, list, string, number, `true`, `false` and `null` counts.
    An earlier answer with 20 `top_logprobs` has about 170 values for each token, so the default allows about 1,400 such
    tokens: leave `logprobs` out of the history, because no model reads them, or raise this limit."""
    websocket: bool = True
    """False: no websocket at GET /v1/responses; a client that opens one gets a 426 at once."""
    websocket_memory_bytes: int = Field(default=16 * 1024 * 1024, ge=0)
    """Bytes of a conversation that a connection remembers: one for each `stream_id`, and one without. A longer one must
    be sent in full each time."""
    websocket_caller_bytes: int = Field(default=64 * 1024 * 1024, ge=0)
    """Bytes that all connections of one caller remember together; beyond that, nothing more is remembered. The same
    number again may be arriving or waiting. Without keys, only `websocket_total_bytes` applies."""
    websocket_total_bytes: int = Field(default=256 * 1024 * 1024, ge=0)
    """The same for all callers together. If there are keys, callers without one get at most half of it."""
    max_connections: int = Field(default=0, ge=0)
    """Largest number of open connections, websockets included; 0: twice as many as turns and websockets (`max_turns`,
    `max_websockets`). The limit on open files may lower it. If there is no room for one more, one of a client that has
    not shown a key is closed, or the one that has been idle longest. If all are busy, the new one gets a 503."""
    max_address_connections: int = Field(default=0, ge=0)
    """The same for one address (IPv4, or a /64 of IPv6); 0: half of all for a public address, and no limit for a
    private one, which may be that of a proxy."""
    proxies: Networks = ()
    """Addresses or networks of proxies in front of this server, for which there is no such limit."""
    max_websockets: int = Field(default=1000, ge=1)
    """Largest number of open connections; one more is a 503. If there are keys, callers without one get at most half of
    them."""
    max_caller_websockets: int = Field(default=250, ge=1)
    """Largest number of open connections of one caller; one more is a 429. Without keys, only `max_websockets`
    applies."""
    websocket_idle: Seconds = 600
    """Seconds that a connection may be idle between two turns."""
    websocket_lifetime: Seconds = 3600
    """Seconds after which a connection is closed, as soon as no turn is running."""
    fetch_urls: Literal["never", "when_needed"] = "when_needed"
    """when_needed: this server downloads images and files for upstreams that do not download URLs."""
    fetch_timeout: Seconds = 10
    """Seconds for one download, from connecting to the last byte."""
    max_fetch_bytes: int = Field(default=32 * 1024 * 1024, ge=1024)
    """Largest number of bytes downloaded for one request; a URL that occurs several times counts each time."""
    allowed_hosts: Hosts = ()
    """Values of the `Host` header that are accepted in addition to this machine's own names. A server that other
    machines can reach accepts any, unless this is set. `*`: any."""
    cors_origins: Origins = ()
    """Origins of the web pages that may call this server from a browser; by default none. `*`: all."""
    upstream_idle: Seconds = 60
    """Seconds that an idle connection to an upstream is kept open."""
    upstream_idle_connections: int = Field(default=32, ge=0, le=10_000)
    """Largest number of idle connections to one upstream that are kept open."""
    max_turns: int = Field(default=1000, ge=1)
    """Largest number of turns at the same time; one more is a 503. Callers without a key of this server get at most
    half of them. If there are several callers, each may run at most as many turns as are free, so half of all while the
    others run none; one more is a 429. `concurrency` gives a key another share."""
    guest_requests_per_minute: int = Field(default=0, ge=0)
    """Turns that each caller with its own upstream key (`auth = "passthrough"`) may start in a minute; 0: no limit."""
    guest_concurrency: int = Field(default=0, ge=0)
    """Turns of each such caller at the same time; 0: no limit."""
    send_timeout: Seconds = 60
    """Seconds that a client may go without reading what is sent to it; then its connection is closed."""
    drain_delay: float = Field(default=2, ge=0, le=600, allow_inf_nan=False)
    """Seconds after SIGTERM in which the server reports that it is not ready, but still serves."""
    shutdown_grace: float = Field(default=6, ge=0, le=86_400, allow_inf_nan=False)
    """Seconds that running turns then have to finish."""
    log_format: Literal["auto", "text", "json"] = "auto"
    """auto: text on a terminal, JSON elsewhere. text: one aligned line per turn, for people; json: every field, for
    programs."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The lowest level that is logged. The line of a turn is info."""
    metrics: Literal["key", "open", "off"] = "key"
    """Who may read `/metrics`: callers with a key (everyone, where there are no keys), everyone, or no one."""
    traces: Collector = ""
    """Address of an OpenTelemetry collector that accepts spans over HTTP (`http://…/v1/traces`); empty: no traces."""
    ui: bool = True
    """False: no inspector at `/`. If other machines can reach the server and there are no keys, or if there are several
    workers, it is off in any case."""
    watch: int | None = Field(default=None, ge=0, le=10_000)
    """Number of recent turns that the inspector keeps, with their requests and answers, in memory only. By default 1000
    if only this machine can call the server (no `allowed_hosts`, no `cors_origins`), otherwise 0."""
    watch_bytes: int = Field(default=128 * 1024 * 1024, ge=0)
    """Bytes of memory for all of these turns. Beyond that, the caller with the most turns loses its oldest one."""
    record: str = ""
    """A folder in which every turn is recorded: requests, answers, and what upstreams are asked and send; empty:
    nothing is. See [recordings](recordings.md)."""
    record_bytes: int = Field(default=1024 * 1024 * 1024, ge=0)
    """Bytes of all recordings in this folder. Then no more are made, and none is deleted. If there are several callers,
    each may fill a quarter of it. Each process of the server counts for itself."""
    record_turn_bytes: int = Field(default=16 * 1024 * 1024, ge=1024)
    """Bytes of one recording. The rest of a longer turn is left out, and the recording says so."""
    insecure_no_auth: bool = False
    """True: serve without keys, even on an address that other machines can reach."""


class Server(ServerOptions, _ServerLimits):
    """All settings of the server. Every field is also an environment variable, `AM_<NAME>`."""

    @property
    def hosts(self) -> tuple[str, ...] | None:
        """The hosts that a Host header may name in addition to this machine; None if it may name any."""
        if "*" in self.allowed_hosts or not (self.allowed_hosts or is_loopback(self.host)):
            return None
        return (*self.allowed_hosts, self.host.strip("[]").lower())

    @property
    def is_local(self) -> bool:
        """Whether only programs of this machine can call it, as far as the settings tell."""
        return is_loopback(self.host) and not self.allowed_hosts and not self.cors_origins


class Seal(Table):
    """Encryption of reasoning and other state that clients send back: see docs/sealed-content.md."""

    when: Literal["asked", "always", "never"] = "asked"
    """asked: for clients that request it (`include` contains `reasoning.encrypted_content`)."""
    keys: tuple[SealKey, ...] = ()
    """The first key encrypts, all keys decrypt. Without any, a random key is created at start: it is lost at the next
    start, and other copies of the server do not have it."""
    max_age_days: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Days after which encrypted content is no longer accepted; without it, there is no limit."""
    shared: bool = False
    """True: what was encrypted for one of the `[[keys]]` can be used with the others, for conversations that change
    keys. False: only with a key of the same name. Content of earlier releases, which belongs to no key, needs true."""


class KeyTable(Table):
    """A client's key as the configuration has it: its digest, or the key itself."""

    name: KeyName
    """The name of its owner in the log; not `guest` or `anyone`, which stand for callers without a key of this
    server."""
    sha256: Digest | None = None
    """The SHA-256 of the key, in 64 hexadecimal digits."""
    value: Secret | None = None
    """The key itself, instead of `sha256`; only its SHA-256 is kept."""
    models: tuple[Name, ...] = ("*",)
    """Public model names that it may use; patterns such as `gpt-*` are possible."""
    requests_per_minute: int | None = Field(default=None, ge=1)
    """Turns that may start in a minute; without it, there is no limit. Each process counts separately."""
    concurrency: int | None = Field(default=None, ge=1)
    """Turns at the same time; without it, the share that `max_turns` leaves to each caller, or all turns if there is
    only one key."""

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
    """Turns that may start in a minute; None: no limit."""
    concurrency: int | None = None
    """Turns at the same time; None: no limit."""
    sees_causes: bool = field(default=False, compare=False)
    """Whether errors may say why an upstream failed, and name its address: only this machine's own user can call."""
    owner: str = field(init=False, compare=False)
    """The caller that limits, seals and remembered turns belong to; empty where no keys are configured. Callers with a
    key of their own are distinguished by it, and no configured name equals such a caller's."""

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
        return self.may_use_all or any(fnmatchcase(model, pattern) for pattern in self.models)
