"""Names that there were, and what to use instead. A name that is known again, or still, is never looked up here."""

from typing import Final, Literal

Kind = Literal["setting", "flag", "command", "frame"]

_BOUND: Final = "leave it out: a fixed bound takes its place"
_TIME: Final = "leave it out: a fixed time takes its place"
_AT_THE_EDGE: Final = "leave it out: a proxy in front of this server limits connections and addresses"
_CODEX: Final = "write it into the table `codex` of the model"
_BY_CHAT: Final = 'leave it out: a server that knows only functions is asked by via = "chat"'
_NO_STORE: Final = "leave it out: limits count in each copy, and the balancer in front of them limits all"

ROWS: Final[tuple[tuple[Kind, str, str], ...]] = (
    ("setting", "server.body_timeout", _TIME),
    ("setting", "server.body_caller_bytes", _BOUND),
    ("setting", "server.body_total_bytes", _BOUND),
    ("setting", "server.max_header_bytes", _BOUND),
    ("setting", "server.header_timeout", _TIME),
    ("setting", "server.max_items", _BOUND),
    ("setting", "server.max_parts", _BOUND),
    ("setting", "server.max_tools", _BOUND),
    ("setting", "server.max_json_values", _BOUND),
    ("setting", "server.websocket_memory_bytes", _BOUND),
    ("setting", "server.websocket_caller_bytes", _BOUND),
    ("setting", "server.websocket_total_bytes", _BOUND),
    ("setting", "server.max_connections", _AT_THE_EDGE),
    ("setting", "server.max_address_connections", _AT_THE_EDGE),
    ("setting", "server.proxies", _AT_THE_EDGE),
    ("setting", "server.max_caller_websockets", "use max_websockets, which counts those of all callers"),
    ("setting", "server.websocket_idle", _TIME),
    ("setting", "server.websocket_lifetime", _TIME),
    ("setting", "server.fetch_timeout", _TIME),
    ("setting", "server.max_fetch_bytes", _BOUND),
    ("setting", "server.upstream_idle", _TIME),
    ("setting", "server.upstream_idle_connections", _BOUND),
    ("setting", "server.send_timeout", _TIME),
    ("setting", "server.drain_delay", "use shutdown_grace, the seconds that running turns have to end"),
    ("setting", "server.log_bodies", "use record, a folder in which every turn is recorded, or the inspector"),
    ("setting", "server.ui", "use watch = 0, with which no turns are kept and listed"),
    ("setting", "server.watch_bytes", "use watch, the number of turns that are kept"),
    ("setting", "server.record_bytes", _BOUND),
    ("setting", "server.record_turn_bytes", _BOUND),
    ("setting", "seal.shared", "leave it out: what was encrypted for one key is opened for that key alone"),
    ("setting", "limits", _NO_STORE),
    ("setting", "AM_LIMIT_STORE", _NO_STORE),
    ("setting", "AM_LIMIT_STORE_PASSWORD", _NO_STORE),
    ("setting", "search.key_header", "use one of the known backends: searxng, brave, exa, tavily"),
    ("setting", "search.results_path", "use one of the known backends: searxng, brave, exa, tavily"),
    ("setting", "search.timeout", _TIME),
    ("setting", "search.max_searches", "leave it out: this server searches for clients such as Codex, not in answers"),
    ("setting", "search.max_pages", "leave it out: this server opens no pages in answers"),
    ("setting", "upstreams.first_payload_timeout", "use timeout, the seconds that it may be silent"),
    ("setting", "upstreams.breaker_pause", _TIME),
    ("setting", "upstreams.tools", _BY_CHAT),
    ("setting", "upstreams.hosted_tools", _BY_CHAT),
    ("setting", "upstreams.stream_options", "leave it out: a server that refuses it is asked without it"),
    ("setting", "upstreams.blank_reasoning", 'use provider = "deepseek", which knows that it is needed'),
    ("setting", "upstreams.ids", "leave it out: ids pass as the upstream gave them"),
    ("setting", "upstreams.recordings", "leave it out: a recording is for reading, and not played back"),
    ("setting", "upstreams.recorded_pace", "leave it out: a recording is for reading, and not played back"),
    ("setting", "models.tools", _BY_CHAT),
    ("setting", "models.hosted_tools", _BY_CHAT),
    ("setting", "models.call_ids", "leave it out: the provider decides the form of ids"),
    ("setting", "models.search", "use web_search = true, if the upstream searches the web itself"),
    ("setting", "models.grammars", "leave it out: calls are not held against the grammar of their tool"),
    ("setting", "models.apply_patch", _CODEX),
    ("setting", "models.tool_search", _CODEX),
    ("setting", "models.auto_compact_token_limit", _CODEX),
    ("setting", "models.default_reasoning_summary", _CODEX),
    ("setting", "models.multi_agent_version", _CODEX),
    ("setting", "models.tool_mode", _CODEX),
    ("setting", "models.use_responses_lite", _CODEX),
    ("flag", "serve --log-format", "use log_format in [server], or AM_LOG_FORMAT"),
    ("flag", "serve --no-ui", "use watch = 0 in [server], or AM_WATCH=0"),
    ("flag", "serve --watch", "use watch in [server], or AM_WATCH"),
    ("flag", "launch --port", "leave it out: any free port is used"),
    ("flag", "launch --write", "use --print, and save what it prints"),
    ("flag", "launch --restore", "remove am.config.toml and am.models.json from ~/.codex"),
    ("flag", "check --all", "docs/configuration.md has the default values"),
    ("flag", "check --probe", "use am-proxy doctor, and try one `via` after the other"),
    ("flag", "check --host", "use am-proxy serve --host"),
    ("flag", "check --port", "use am-proxy serve --port"),
    ("flag", "check --workers", "use am-proxy serve --workers"),
    ("flag", "check --log-format", "use log_format in [server], or AM_LOG_FORMAT"),
    ("flag", "check --no-ui", "use watch = 0 in [server], or AM_WATCH=0"),
    ("flag", "check --watch", "use watch in [server], or AM_WATCH"),
    ("flag", "check --record", "use am-proxy serve --record"),
    ("flag", "check --strict", "use am-proxy serve --strict"),
    ("flag", "check --insecure-no-auth", "use am-proxy serve --insecure-no-auth"),
    ("flag", "keys create --name", "use the name itself: am-proxy keys create NAME"),
    ("flag", "keys create --models", "write models into the table that is printed"),
    ("command", "comply", "use python -m tests.judges URL, in a checkout"),
    ("command", "completion", "use --help of a command for its flags"),
    ("command", "help", "use --help"),
    ("command", "init", "use am-proxy serve --upstream URL, or write am-proxy.toml by hand: see docs/install.md"),
    ("command", "launch opencode", "use the address of this server in opencode's own file: see docs/clients.md"),
    ("command", "replay", "read the files of `--record`, or watch the turn in the inspector"),
    ("command", "version", "use --version"),
    ("frame", "response.steer", "interrupt the response, or wait for its end, and send a 'response.create'"),
    ("frame", "response.inject", "send the input in a 'response.create'"),
    ("frame", "stream_id", "leave it out: the turns of a connection run one after the other"),
)  # fmt: skip
"""A setting has its table before it: `models.x` for `[models.NAME]`; a flag its command."""


def instead_of(kind: Kind, name: str) -> str:
    """What to use instead of this name, as a part of a sentence; empty for a name that there was not."""
    return next((instead for each, gone, instead in ROWS if (each, gone) == (kind, name)), "")
