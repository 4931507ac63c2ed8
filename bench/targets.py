"""The measured programs: this server's lanes, the floors, and other bridges if they are installed."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
PEERS = Path(os.environ.get("AM_BENCH_PEERS", ROOT / ".cache" / "bench"))
"""Other bridges, each in its own folder (`make bench-peers` installs them)."""
OPENCODEX = PEERS / "opencodex" / "node_modules" / ".bin" / "ocx"

UPSTREAM_PORT = 9700
UPSTREAM = f"http://127.0.0.1:{UPSTREAM_PORT}/v1"

CONFIG = """
# turns are not kept for the inspector, as on a server for others: other bridges keep none either
[server]
port = {port}
watch = 0
[upstreams.it]
via = "{via}"
{url}
[models."*"]
upstream = "it"
"""

LITELLM = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_MODE": "PRODUCTION",
    "REPEATED_STREAMING_CHUNK_LIMIT": "1000000000",  # the upstream repeats one word
}
KEY = "sk-bench"
COUNTS = (1, 5, 8, 20, 200, 2000)
PACES = (0, 1, 20, 500)
"""The models of the workloads: some bridges need every model's name in their configuration."""
ROSETTA = {
    "providers": {"it": {"type": "openai_chat", "api_key": "none", "base_url": UPSTREAM}},
    "server": {"host": "127.0.0.1", "open_on_no_keys": True},
    "debug": {"log_bodies": False},
}


class Target(NamedTuple):
    """One program, its start command, and the form of its requests."""

    name: str
    port: int
    command: Callable[[Path], list[str]]
    ask: Callable[[str, bool, Any], tuple[str, dict[str, Any]]]
    """(model, stream, input messages) -> path and body."""
    at_hand: bool = True
    env: Mapping[str, str] = MappingProxyType({})
    asked_less: frozenset[str] = frozenset()
    """Workloads with fewer requests: it takes many times as long, or cannot handle so many at a time."""
    starts_only: bool = False
    """Only its start is measured."""


def as_chat(model: str, stream: bool, request: Any) -> tuple[str, dict[str, Any]]:  # noqa: FBT001 — a signature of the table
    """A chat-completions request, for the floors."""
    return "/v1/chat/completions", {"model": model, "stream": stream, "messages": request.messages}


def as_response(model: str, stream: bool, request: Any) -> tuple[str, dict[str, Any]]:  # noqa: FBT001 — as above
    """A Responses request, for the bridges."""
    return "/v1/responses", {"model": model, "stream": stream, "input": request.items, **request.more}


def ours(name: str, port: int, via: str, *, starts_only: bool = False) -> Target:
    """One of our lanes."""

    def command(folder: Path) -> list[str]:
        file = folder / f"{name}.toml"
        url = "" if via == "demo" else f'base_url = "{UPSTREAM}"'
        file.write_text(CONFIG.format(port=port, via=via, url=url))
        return [sys.executable, "-m", "app", "serve", "--config", str(file), "--log-format", "json"]

    return Target(name, port, command, as_response, starts_only=starts_only)


def floor(name: str, port: int, library: str) -> Target:
    """A byte copy, or litellm, under the same server."""
    return Target(
        name,
        port,
        lambda _folder: [sys.executable, "-m", "bench.floors", library, str(port), UPSTREAM],
        as_chat,
        env=LITELLM,
    )


def _litellm_proxy(folder: Path) -> list[str]:
    file = folder / "litellm.yaml"
    entry = {"model": "deepseek/*", "api_base": UPSTREAM, "api_key": "none"}
    settings = {"drop_params": True, "set_verbose": False, "telemetry": False}
    file.write_text(
        json.dumps({"model_list": [{"model_name": "*", "litellm_params": entry}], "litellm_settings": settings})
    )
    program = PEERS / "litellm-proxy" / "bin" / "litellm"
    return [str(program), "--config", str(file), "--host", "127.0.0.1", "--port", "9711", "--telemetry", "False"]


def _rosetta(folder: Path) -> list[str]:
    file = folder / "rosetta.jsonc"
    models = {f"b-{count}-{pace}": "it" for count in COUNTS for pace in PACES}
    file.write_text(json.dumps({**ROSETTA, "models": models}))
    program = PEERS / "llm-rosetta" / "bin" / "llm-rosetta-gateway"
    options = ["--port", "9712", "--no-banner", "--data-dir", str(folder / "rosetta"), "--log-level", "error"]
    return [str(program), "--config", str(file), "--host", "127.0.0.1", *options]


def _opencodex(folder: Path) -> list[str]:
    """opencodex, with temporary home folders, because it writes into those of its user and of Codex."""
    home = folder / "opencodex"
    (home / "codex").mkdir(parents=True, exist_ok=True)
    models = [f"b-{count}-{pace}" for count in COUNTS for pace in PACES]
    provider = {"adapter": "openai-chat", "baseUrl": UPSTREAM, "apiKey": "none", "allowPrivateNetwork": True}
    config = {
        "port": 9713,
        "hostname": "127.0.0.1",
        "defaultProvider": "it",
        "providers": {"it": {**provider, "defaultModel": models[0], "models": models}},
    }
    (home / "config.json").write_text(json.dumps(config))
    homes = [f"HOME={home}", f"OPENCODEX_HOME={home}", f"CODEX_HOME={home / 'codex'}"]
    return ["env", *homes, str(OPENCODEX), "start", "--port", "9713"]


def _as_opencodex(model: str, stream: bool, request: Any) -> tuple[str, dict[str, Any]]:  # noqa: FBT001 — as above
    return as_response(f"it/{model}", stream, request)


TARGETS = [
    floor("aiohttp copy", 9701, "aiohttp"),
    floor("httpx2 copy", 9702, "httpx2"),
    floor("httpx copy", 9703, "httpx"),
    ours("AM Proxy, chat", 9704, "chat"),
    ours("AM Proxy, messages", 9708, "messages"),
    ours("AM Proxy, relay", 9705, "responses"),
    ours("AM Proxy, litellm", 9706, "litellm"),
    ours("AM Proxy, demo", 9707, "demo", starts_only=True),
    floor("bare litellm", 9710, "litellm"),
    Target(
        "LiteLLM proxy",
        9711,
        _litellm_proxy,
        as_response,
        (PEERS / "litellm-proxy" / "bin" / "litellm").exists(),
        {**LITELLM, "LITELLM_MASTER_KEY": KEY},
        asked_less=frozenset({"small", "short", "waiting"}),
    ),
    Target(
        "llm-rosetta",
        9712,
        _rosetta,
        as_response,
        (PEERS / "llm-rosetta" / "bin" / "llm-rosetta-gateway").exists(),
    ),
    Target("opencodex", 9713, _opencodex, _as_opencodex, OPENCODEX.exists(), asked_less=frozenset({"waiting"})),
]
PROFILED = [target for target in TARGETS if target.name in {"AM Proxy, chat", "AM Proxy, relay"}]
