"""The tables of a configuration. The text below a setting is also its row in docs/configuration.md."""

import re
from fnmatch import fnmatchcase
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from ..providers.provider import UNKNOWN, Via
from ..providers.table import PROVIDERS, provider_of
from .values import (
    LIST,
    Count,
    Digest,
    Host,
    KeyName,
    Name,
    Names,
    Origin,
    Positive,
    Price,
    SealKey,
    Seconds,
    Secret,
    Url,
    Word,
    Workers,
    address,
    completed,
    did_you_mean,
    is_loopback,
    like,
    via_of,
)


class Table(BaseModel):
    """A table of a configuration. An unknown name is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True, allow_inf_nan=False)


class ServerSettings(Table):
    """How the server listens, and its limits. Each setting is also an environment variable: `port` is `AM_PORT`."""

    host: Name = "127.0.0.1"
    """The address to listen on. An address that other machines can reach needs `[[keys]]`."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 8080
    """The port to listen on; 0: any free one."""
    workers: Workers = 1
    """Number of processes that share the port; `"auto"`: one for each processor core that this server may use."""
    keep_alive: Seconds = 15
    """Seconds of silence after which a client is sent a sign of life."""
    first_payload_wait: Annotated[float, Field(ge=0, le=600)] = 5
    """Longest time, in seconds, that the status line waits for the upstream's first data. An error until then is an
    HTTP status."""
    strict: bool = False
    """True: a request that would cause a warning is refused with a 400."""
    lenient: bool = False
    """True: input that the model does not support, such as images, is left out with a warning. False: such a request is
    a 400."""
    max_body_bytes: Annotated[int, Field(ge=1024)] = 32 * 1024 * 1024
    """Largest request body, in bytes; a larger one is a 413."""
    max_answer_bytes: Annotated[int, Field(ge=1024 * 1024)] = 64 * 1024 * 1024
    """Largest answer, in bytes; a larger one fails."""
    websocket: bool = True
    """False: no websocket at GET /v1/responses; a client that opens one gets a 426 at once."""
    max_websockets: Positive = 1000
    """Largest number of open websockets; one more is a 503."""
    max_turns: Positive = 1000
    """Largest number of turns at the same time; one more is a 503."""
    guest_requests_per_minute: Count = 0
    """Turns that each caller with its own upstream key (`auth = "passthrough"`) may start in a minute; 0: no limit."""
    guest_concurrency: Count = 0
    """Turns of each such caller at the same time; 0: no limit."""
    fetch_urls: Literal["never", "when_needed"] = "when_needed"
    """when_needed: this server downloads images and files for upstreams that do not download URLs."""
    allow_private_urls: bool = False
    """True: image and file URLs may point to private addresses."""
    allowed_hosts: Annotated[tuple[Host, ...], LIST] = ()
    """Values of the `Host` header that are accepted in addition to this machine's own names. A server that other
    machines can reach accepts any, unless this is set. `*`: any."""
    cors_origins: Annotated[tuple[Origin, ...], LIST] = ()
    """Origins of the web pages that may call this server from a browser; by default none. `*`: all."""
    shutdown_grace: Annotated[float, Field(ge=0, le=86_400)] = 6
    """Seconds after SIGTERM in which running turns may finish."""
    log_format: Literal["auto", "text", "json"] = "auto"
    """auto: text on a terminal, JSON elsewhere. text: one aligned line per turn, for people; json: every field, for
    programs."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The lowest level that is logged. The line of a turn is info."""
    metrics: Literal["key", "open", "off"] = "key"
    """Who may read `/metrics`: callers with a key that may use all models (everyone, where there are no keys),
    everyone, or no one."""
    traces: str = ""
    """Address of an OpenTelemetry collector that accepts spans over HTTP (`http://…/v1/traces`); empty: no traces."""
    watch: Annotated[int, Field(ge=0, le=10_000)] | None = None
    """Number of recent turns that the inspector keeps, with their requests and answers, in memory only. By default 200
    if only this machine can call the server (no `allowed_hosts`, no `cors_origins`), otherwise 0."""
    record: str | None = None
    """A folder to which every turn is written: requests, answers, and what upstreams are asked and send."""
    insecure_no_auth: bool = False
    """True: serve without keys, even on an address that other machines can reach."""

    @field_validator("traces")
    @classmethod
    def _of_a_collector(cls, url: str) -> str:
        try:
            if url:
                distribution("opentelemetry-exporter-otlp-proto-http")
        except PackageNotFoundError:
            raise ValueError("needs OpenTelemetry: pip install '.[otel]'") from None
        return url and address(url)

    @property
    def is_local(self) -> bool:
        """Whether only programs of this machine can call."""
        return is_loopback(self.host) and not self.allowed_hosts and not self.cors_origins

    @property
    def kept_turns(self) -> int:
        """Turns that the record keeps."""
        return (200 if self.is_local else 0) if self.watch is None else self.watch


class KeySettings(Table):
    """Keys of the clients. Without any, everyone who can reach the address can use the server."""

    name: KeyName
    """The name of its owner in the log; not `guest` or `anyone`, which stand for callers without a key of this
    server."""
    sha256: Digest | None = None
    """The SHA-256 of the key, in 64 hexadecimal digits: `am-proxy keys create NAME` makes both."""
    value: Secret | None = None
    """The key itself, instead of `sha256`; only its SHA-256 is kept."""
    models: Names = ()
    """Public model names that it may use, by default all; patterns such as `gpt-*` are possible."""
    requests_per_minute: Positive | None = None
    """Turns that may start in a minute; without it, there is no limit. Each process counts separately."""
    concurrency: Positive | None = None
    """Turns at the same time; without it, there is no limit. Each process counts separately."""

    @model_validator(mode="after")
    def _digested(self) -> Self:
        if (self.sha256 is None) == (self.value is None):
            raise ValueError("needs either sha256 or value, and not both")
        if self.value is None:
            return self
        digest = sha256(self.value.get_secret_value().encode()).hexdigest()
        return self.model_copy(update={"sha256": digest, "value": None})


class SealSettings(Table):
    """Encryption of what clients send back to the model: [encrypted reasoning and state](long-conversations.md)."""

    when: Literal["asked", "always", "never"] = "asked"
    """asked: for clients that request it (`include` contains `reasoning.encrypted_content`)."""
    keys: Annotated[tuple[SealKey, ...], LIST] = ()
    """The first key encrypts, all keys decrypt. Without any, a random key is created at start: it is lost at the next
    start, and other copies of the server do not have it. `AM_SEAL_KEY` is used where the file names none."""
    max_age_days: Annotated[float, Field(gt=0)] | None = None
    """Days after which encrypted content is no longer accepted; without it, there is no limit."""


class SearchSettings(Table):
    """Web search for Codex: [search](codex.md#web-search)."""

    backend: Literal["none", "searxng", "brave", "exa", "tavily"] = "none"
    """Which server searches: a SearXNG, Brave, Exa or Tavily; none: this server searches nothing."""
    base_url: Url | None = None
    """Its address. SearXNG needs it: `http://127.0.0.1:8888`."""
    api_key: Secret = SecretStr("")
    """Its API key. Brave, Exa and Tavily need one."""
    results: Annotated[int, Field(ge=1, le=20)] = 5
    """Largest number of results of one search."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.backend == "none" and (self.base_url or self.api_key):
            raise ValueError("needs a backend: the server that searches")
        if self.backend == "searxng" and not self.base_url:
            raise ValueError('backend = "searxng" needs a base_url')
        if self.backend in {"brave", "exa", "tavily"} and not self.api_key:
            raise ValueError(f'backend = "{self.backend}" needs an api_key')
        return self


Hint = Literal["metadata", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "service_tier", "user"]
_PASS_IMAGE_URLS = ("azure", "openai")
"""Providers whose servers fetch pictures by themselves. For others litellm would, from any address."""


def _is_chat_server(provider: Any, url: Any) -> bool:
    """Whether litellm has nothing to translate here: the server is asked directly."""
    if provider == "openai" and isinstance(url, str):
        return not f".{urlsplit(url).hostname}".endswith(".openai.com")
    return provider == "hosted_vllm" or (provider is None and url is not None)


class UpstreamSettings(Table):
    """A server that runs models, and how it is asked: [providers](providers.md)."""

    via: Literal[Via, "demo"]
    """How it is asked: as a chat-completions server, by Anthropic's Messages API, as a Responses server, or through
    litellm; `demo` is the embedded model. By default as its provider needs it; an address without a provider is a
    chat-completions server."""
    provider: Word | None = None
    """The provider: one of those whose address, key variable and peculiarities are [known](providers.md), or litellm's
    prefix for any other."""
    api_key: Secret = SecretStr("")
    """Its API key. By default the one in the usual variable of its provider, unless `base_url` is given."""
    auth: Literal["key", "passthrough"] = "key"
    """Which key is sent: the upstream's `api_key`, or (passthrough) the key that the caller sent, who then needs no key
    of this server."""
    base_url: Url | None = None
    """Its address, without `/chat/completions`, `/messages` or `/responses` at the end."""
    connect_timeout: Seconds = 5
    """Seconds to look up its name and connect, including TLS."""
    timeout: Seconds = 120
    """Seconds that it may be silent, until its first data and after that. Keep-alive comments count as silence."""
    turn_timeout: Seconds | None = 1800
    """Seconds for one whole turn."""
    retries: Annotated[int, Field(ge=0, le=1)] = 1
    """How often a request that it could not accept (not reached, 429, 502, 503, 529) is repeated."""
    breaker_failures: Count = 10
    """Outages in a row (not reached, silent, 502, 503, 504, 529) after which no requests are sent to it for a while; 0:
    never."""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The name of the limit on an answer's length. OpenAI's newer models accept only the longer name, most other
    servers the shorter."""
    system_role: Literal["system", "developer"] = "system"
    """The role of the messages with instructions."""
    strict_tools: bool = True
    """False: `strict` is removed from tools, for servers that refuse unknown keys."""
    reasoning_field: Literal["reasoning_content", "reasoning", "none"] = "reasoning_content"
    """The field in which earlier reasoning is sent back; none: it is not sent."""
    hints: Annotated[tuple[Hint, ...], LIST] = ()
    """Parameters that do not change the answer and that this upstream accepts. By default all for OpenAI and Azure,
    none for others."""
    named_tool_choice: Literal["name", "required"] = "name"
    """How a call of one certain tool is required: by its name, or by offering only that tool, with the word `required`,
    for servers that accept only a word (llama.cpp, LM Studio). By default as the provider needs it."""
    takes_image_urls: bool = True
    """False: it does not download images, so this server does (Ollama, llama.cpp)."""
    key_header: Annotated[str, like("[A-Za-z0-9-]+", "must be the name of a header")] = "authorization"
    """The header with the key: `authorization`, as `Bearer` and the key, or another with the key alone. By default
    `x-api-key` with `via = "messages"`."""
    betas: Annotated[tuple[Word, ...], LIST] = ()
    """Beta features that each request names in the header `anthropic-beta`."""

    @model_validator(mode="before")
    @classmethod
    def _with_facts(cls, given: Any) -> Any:
        """What is not given is as its provider has it."""
        if not isinstance(given, dict):
            return given
        provider, url = given.get("provider"), given.get("base_url")
        known = provider_of(provider if isinstance(provider, str) else None)
        facts: dict[str, Any] = {**known.settings, "via": known.via}
        if isinstance(url, str) and not provider:
            facts["via"] = via_of(url)
        if given.get("via", facts["via"]) == "messages":
            facts |= {"key_header": "x-api-key", "hints": ["safety_identifier", "service_tier", "user"]}
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
        return facts

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        known = provider_of(self.provider)
        message = ""
        match self.via:
            case "demo" if self.provider or self.api_key or self.base_url or self.auth == "passthrough":
                message = 'via = "demo" takes no provider, api_key or base_url: it runs inside this server'
            case "litellm" if self.provider and known is UNKNOWN and not _litellm_knows(self.provider):
                near = did_you_mean(_MAKERS.get(self.provider, self.provider), _PROVIDERS)
                message = f'there is no provider "{self.provider}"{near}'
            case "litellm" if not self.provider and not self.base_url:
                message = "needs a provider or a base_url"
            case "chat" | "messages" | "responses" if self.provider and known is UNKNOWN:
                near = did_you_mean(self.provider, _PROVIDERS)
                message = f'there is no provider "{self.provider}"{near}: leave it out, and give a base_url'
            case "chat" | "messages" | "responses" if not self.base_url:
                message = f'via = "{self.via}" needs a base_url'
            case "responses" if known.functions_only:
                words = "its Responses API knows functions only. Leave via out, and it is asked by chat completions"
                message = f'via = "responses" is not for {self.provider}: {words}'
            case "litellm" if self.auth == "passthrough" and not known.key_variable:
                message = f'litellm finds keys of its own for {self.provider}: auth = "passthrough" is not safe there'
            case _ if self.auth == "passthrough" and self.api_key:
                message = 'takes either api_key or auth = "passthrough"'
        if message:
            raise ValueError(message)
        return self


_PROVIDERS = [name for each in PROVIDERS for name in (each.name, *each.aliases)]
_MAKERS = {"amazon": "bedrock", "aws": "bedrock", "google": "gemini", "microsoft": "azure"}
"""Names that several providers could have."""


_LISTS = ("types/utils.py", "llms/openai_like/providers.json")


def _litellm_knows(provider: str) -> bool:
    """Whether litellm has this provider. To import it takes seconds, so its lists of providers are read."""
    files = [Path(str(distribution("litellm").locate_file(f"litellm/{name}"))) for name in _LISTS]
    if not all(file.is_file() for file in files):  # they may be in other places one day
        return True
    text = "".join([file.read_text() for file in files])
    names = re.findall(r'^  (?:  [A-Z0-9_]+ = )?"([\w-]+)"', text, re.MULTILINE)
    return provider in names or "openai" not in names


class Can(Table):
    """What the model supports, where that is not known. What nothing is known of is assumed to be supported."""

    vision: bool | None = None
    """Accepts images."""
    files: bool | None = None
    """Accepts files, such as PDF."""
    audio: bool | None = None
    """Accepts audio."""
    tools: bool | None = None
    """Calls tools."""
    parallel_calls: bool | None = None
    """Can be limited to one tool call at a time (`parallel_tool_calls`)."""
    strict_tools: bool | None = None
    """Its server enforces the schema of a strict tool."""
    reasoning: bool | None = None
    """Its reasoning effort can be set; `reasoning_efforts` lists the efforts that it supports."""
    structured_output: Annotated[tuple[Literal["json_schema", "json_object"], ...], LIST] | None = None
    """The formats that its server enforces. Others are described to the model as an instruction."""
    verbosity: bool | None = None
    """Has a setting for the length of its answers."""


class ModelSettings(Table):
    """A model under its public name, which clients use. `[models."*"]` stands for every other name."""

    upstream: Name | None = None
    """The table of `[upstreams]` that serves it. For several, with fallbacks, see `upstreams`."""
    upstreams: Names = ()
    """Several instead of one, tried in this order until one sends its first data: `upstreams = ["local", "cloud"]` with
    `names = { cloud = "gpt-5" }`. A name here may also be that of a model with an upstream of its own."""
    name: Name | None = None
    """Its name at the upstream; by default the public name."""
    names: dict[str, Name] = {}
    """Its name at single upstreams, where it differs."""
    system_messages: Literal["keep", "merge_head", "as_user"] = "keep"
    """Where system messages go. keep: they stay in place; merge_head: all are merged into one at the start; as_user:
    they become user messages."""
    alternating_roles: bool | None = None
    """True: its chat template requires that user and assistant messages alternate, so consecutive user messages are
    merged, and later system messages become user messages. By default true for models with `gemma` in their name."""
    reasoning: Literal["summary", "text", "on_request"] = "summary"
    """How its reasoning is sent to clients. summary: as a summary, which every client shows; text: as raw text;
    on_request: as a summary, but only to clients that request a summary or encrypted reasoning."""
    give_back_reasoning: bool = True
    """Whether earlier reasoning is sent back to the upstream."""
    think_tags: bool = False
    """True: `<think>…</think>` at the start of the text is reasoning."""
    web_search: bool = False
    """True: the upstream searches the web itself if the client offers `web_search`."""
    cache_control: Literal["off", "auto"] | None = None
    """auto: marks the part of a prompt to cache (tools, system message, and the conversation so far), for Claude at any
    provider; off: no marks. By default auto for Claude with `via = "messages"`, and over litellm at Anthropic, Bedrock
    and Vertex AI; off for others."""
    cache_ttl: Literal["5m", "1h"] | None = None
    """How long a prompt stays in the cache after its last use, by default `"5m"`. Anthropic charges more for prompts
    that it keeps for an hour."""
    image_output: bool = False
    """True: the model can create images, and is asked to."""
    context_window: Positive | None = None
    """Length of its context in tokens, for clients that request a catalogue of models, such as Codex, and for
    summaries. By default what its server says."""
    input_price: Price | None = None
    """Dollars for a million input tokens, for estimates of what turns cost; needs `output_price`. By default the
    provider's usual price, if that is known. Nothing is limited by it."""
    cached_input_price: Price | None = None
    """Dollars for a million input tokens that the upstream has read from its cache; by default as `input_price`."""
    output_price: Price | None = None
    """Dollars for a million output tokens."""
    reasoning_efforts: Annotated[
        tuple[Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"], ...], LIST
    ] = ()
    """Reasoning efforts that the model supports; any other is changed to one of these. Also in that catalogue."""
    codex: dict[str, Any] = {}
    """What its entry in Codex's catalogue says beside, as it is: `codex = { tool_mode = "direct" }`."""
    can: Can = Can()
    """What the model can do, where that is not known."""

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.upstream and self.upstreams:
            raise ValueError("needs either upstream or upstreams, and not both")
        if (self.input_price is None) != (self.output_price is None) or (
            self.cached_input_price is not None and self.input_price is None
        ):
            raise ValueError("needs both input_price and output_price, or no price at all")
        return self

    @property
    def asked(self) -> tuple[str, ...]:
        """The names in `upstreams`, or the one in `upstream`."""
        return self.upstreams or ((self.upstream,) if self.upstream else ())

    def called(self, upstream: str, public: str) -> str:
        """Its name at this upstream, where this is its public name."""
        return self.names.get(upstream) or self.name or public


class Settings(Table):
    """A whole configuration."""

    server: ServerSettings = ServerSettings()
    keys: list[KeySettings] = []
    upstreams: dict[str, UpstreamSettings] = {}
    models: dict[str, ModelSettings] = {}
    seal: SealSettings = SealSettings()
    search: SearchSettings = SearchSettings()


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
    knows_names: bool = False
    """Whether it is told the name of the upstream that answered."""

    def may_use(self, model: str) -> bool:
        """Whether it may use the model of this name."""
        return not self.models or any(fnmatchcase(model, pattern) for pattern in self.models)
