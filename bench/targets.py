"""The measured programs: this server's lanes, the floors, and other bridges if they are installed."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from bench import balancers, peers

UPSTREAM_PORT = 9700
UPSTREAM = f"http://127.0.0.1:{UPSTREAM_PORT}/v1"

CONFIG = """
[server]
port = {port}
workers = {workers}
{watch}
[upstreams.it]
via = "{via}"
{url}
[models."*"]
upstream = "it"
"""

LITELLM = {
    **peers.LITELLM_ENVIRON,
    "REPEATED_STREAMING_CHUNK_LIMIT": "1000000000",  # the upstream repeats one word
}
KEY = "sk-bench"
COUNTS = (1, 5, 8, 20, 200, 2000)
PACES = (0, 1, 20, 500)
"""The models of the workloads: some bridges need every model's name in their configuration."""
MODELS = [f"b-{count}-{pace}" for count in COUNTS for pace in PACES]


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
    is_bridge: bool = False
    """Another bridge, which is measured in fewer rounds."""


def as_chat(model: str, stream: bool, request: Any) -> tuple[str, dict[str, Any]]:  # noqa: FBT001 — a signature of the table
    """A chat-completions request, for the floors."""
    return "/v1/chat/completions", {"model": model, "stream": stream, "messages": request.messages}


def as_response(model: str, stream: bool, request: Any) -> tuple[str, dict[str, Any]]:  # noqa: FBT001 — as above
    """A Responses request, for the bridges."""
    return "/v1/responses", {"model": model, "stream": stream, "input": request.items, **request.more}


def ours(  # noqa: PLR0913 — each has its name where it is given
    name: str,
    port: int,
    via: str,
    *,
    starts_only: bool = False,
    workers: int = 1,
    upstream: str = UPSTREAM,
    package: str = "app",
    by_default: bool = False,
) -> Target:
    """One of our lanes; `by_default`: as it starts, with turns kept, of which other bridges keep none.

    `package`: the edition.
    """

    def command(folder: Path) -> list[str]:
        file = folder / f"{name}.toml"
        url = "" if via == "demo" else f'base_url = "{upstream}"'
        watch = "" if by_default else "watch = 0"
        file.write_text(CONFIG.format(port=port, workers=workers, via=via, url=url, watch=watch))
        return [sys.executable, "-m", package, "serve", "--config", str(file)]

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


def balancer(name: str, port: int) -> Target:
    """A load balancer of `deploy/`, without its limits by key, in front of the upstream itself."""
    program = name.lower()

    def command(folder: Path) -> list[str]:
        return balancers.command(program, port, [UPSTREAM_PORT] * 3, folder, balancers.NO_LIMITS[program])

    return Target(name, port, command, as_chat, balancers.is_installed(program))


def _litellm_proxy(folder: Path) -> list[str]:
    return peers.litellm_proxy(folder, 9711, UPSTREAM, {"*": {"model": "deepseek/*"}})


def _rosetta(folder: Path) -> list[str]:
    return peers.rosetta(folder, 9712, UPSTREAM, MODELS)


def _opencodex(folder: Path) -> list[str]:
    return peers.opencodex(folder, 9713, UPSTREAM, MODELS)


def _as_opencodex(model: str, stream: bool, request: Any) -> tuple[str, dict[str, Any]]:  # noqa: FBT001 — as above
    return as_response(f"it/{model}", stream, request)


TARGETS = [
    floor("aiohttp copy", 9701, "aiohttp"),
    floor("httpx2 copy", 9702, "httpx2"),
    floor("httpx copy", 9703, "httpx"),
    balancer("HAProxy", 9714),
    balancer("nginx", 9715),
    ours("AM Proxy, chat", 9704, "chat"),
    ours("AM Proxy, chat, by default", 9716, "chat", by_default=True),
    ours("next, chat", 9717, "chat", package="next"),
    ours("next, chat, by default", 9718, "chat", package="next", by_default=True),
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
        peers.LITELLM_PROXY.exists(),
        {**LITELLM, "LITELLM_MASTER_KEY": KEY},
        asked_less=frozenset({"small", "short", "waiting"}),
        is_bridge=True,
    ),
    Target("llm-rosetta", 9712, _rosetta, as_response, peers.ROSETTA.exists(), is_bridge=True),
    Target(
        "opencodex",
        9713,
        _opencodex,
        _as_opencodex,
        peers.OPENCODEX.exists(),
        asked_less=frozenset({"waiting"}),
        is_bridge=True,
    ),
]
PROFILED = [target for target in TARGETS if target.name in {"AM Proxy, chat", "AM Proxy, relay"}]
