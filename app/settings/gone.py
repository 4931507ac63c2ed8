"""Names of version 0.1 that are gone, and what to use instead."""

_BOUND = "leave it out: a fixed bound takes its place"
_TIME = "leave it out: a fixed time takes its place"
_BY_CHAT = 'leave it out: a server that knows only functions is asked by via = "chat"'
_OF_SERVE = "it is a flag of am-proxy serve"

_GONE = {
    # settings: of [server] also as variables, AM_UI; [upstreams.NAME] and [models.NAME] without the name
    "server.body_caller_bytes, server.body_total_bytes, server.max_header_bytes, server.max_items": _BOUND,
    "server.max_tools, server.max_json_values, server.max_fetch_bytes, server.upstream_idle_connections": _BOUND,
    "server.websocket_memory_bytes, server.websocket_caller_bytes, server.websocket_total_bytes": _BOUND,
    "server.max_parts, server.record_bytes, server.record_turn_bytes": _BOUND,
    "server.body_timeout, server.header_timeout, server.websocket_idle, server.websocket_lifetime": _TIME,
    "server.fetch_timeout, server.upstream_idle, server.send_timeout, search.timeout, upstreams.breaker_pause": _TIME,
    "server.max_connections, server.max_address_connections, server.proxies": (
        "leave it out: a proxy in front of this server limits connections and addresses"
    ),
    "server.max_caller_websockets": "use max_websockets, which counts those of all callers",
    "server.drain_delay": "use shutdown_grace, the seconds that running turns have to end",
    "server.log_bodies": "use record, a folder in which every turn is recorded, or the inspector",
    "server.ui": "use watch = 0, with which no turns are kept and listed",
    "server.watch_bytes": "use watch, the number of turns that are kept",
    "seal.shared": "leave it out: what was encrypted for one key is opened for that key alone",
    "limits, server.limit_store, server.limit_store_password": (
        "leave it out: limits count in each copy, and the balancer in front of them limits all"
    ),
    "search.key_header, search.results_path, search.backend = url": (
        "use one of the known backends: searxng, brave, exa, tavily"
    ),
    "search.max_searches, search.max_pages": "leave it out: clients such as Codex search, and answers do not",
    "upstreams.first_payload_timeout": "use timeout, the seconds that it may be silent",
    "upstreams.tools, upstreams.hosted_tools, models.tools, models.hosted_tools": _BY_CHAT,
    "upstreams.stream_options": "leave it out: a server that refuses it is asked without it",
    "upstreams.blank_reasoning": 'use provider = "deepseek", which knows that it is needed',
    "upstreams.ids": "leave it out: ids pass as the upstream gave them",
    "upstreams.via = replay": 'use "demo", which answers without a server',
    "upstreams.recordings, upstreams.recorded_pace": "leave it out: a recording is for reading, and not played back",
    "models.call_ids": "leave it out: the provider decides the form of ids",
    "models.search": "use web_search = true, if the upstream searches the web itself",
    "models.grammars": "leave it out: calls are not held against the grammar of their tool",
    "models.apply_patch, models.tool_search, models.auto_compact_token_limit, models.default_reasoning_summary": (
        "write it into the table `codex` of the model"
    ),
    "models.multi_agent_version, models.tool_mode, models.use_responses_lite": (
        "write it into the table `codex` of the model"
    ),
    # flags, as they are typed
    "serve --log-format, check --log-format": "use log_format in [server], or AM_LOG_FORMAT",
    "serve --no-ui, check --no-ui": "use watch = 0 in [server], or AM_WATCH=0",
    "serve --watch, check --watch": "use watch in [server], or AM_WATCH",
    "check --host, check --port, check --workers, check --record, check --strict, check --insecure-no-auth": _OF_SERVE,
    "check --all": "docs/configuration.md has the default values",
    "check --probe": "use am-proxy doctor, and try one --via after the other",
    "launch --port": "leave it out: any free port is used",
    "launch --write": "use --print, and save what it prints",
    "launch --restore": "remove am.config.toml and am.models.json from ~/.codex",
    "keys --name": "use the name itself: am-proxy keys create NAME",
    "keys --models": "write models into the table that is printed",
    # commands
    "comply": "use python -m tests.judges URL, in a checkout",
    "completion": "use --help of a command for its flags",
    "help": "use --help",
    "init": "use am-proxy serve --upstream URL, or write am-proxy.toml by hand: see docs/install.md",
    "launch opencode": "use the address of this server in opencode's own file: see docs/clients.md",
    "replay": "read the files of --record, or watch the turn in the inspector",
    "version": "use --version",
    # frames of a websocket, and what they hold
    "response.steer": "interrupt the response, or wait for its end, and send a 'response.create'",
    "response.inject": "send the input in a 'response.create'",
    "stream_id": "leave it out: the turns of a connection run one after the other",
}
_BY_NAME = {name: instead for names, instead in _GONE.items() for name in names.split(", ")}


def instead_of(name: str) -> str:
    """What to use instead of a setting, flag, command or frame, as a part of a sentence; empty if there was none."""
    return _BY_NAME.get(name, "")
