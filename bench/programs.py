"""The programs that are measured: AM Proxy, a byte copy, and other bridges where they are installed.

Each other bridge has a folder of its own in .cache/bench (or AM_BENCH_PEERS):

    python3 -m venv .cache/bench/llm-rosetta && .cache/bench/llm-rosetta/bin/pip install llm-rosetta
    python3 -m venv .cache/bench/litellm-proxy && .cache/bench/litellm-proxy/bin/pip install "litellm[proxy]"
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from bench.workloads import MODELS

UPSTREAM_PORT = 9700
UPSTREAM = f"http://127.0.0.1:{UPSTREAM_PORT}/v1"
PEERS = Path(os.environ.get("AM_BENCH_PEERS", Path(__file__).parents[1] / ".cache" / "bench"))
LITELLM = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_MASTER_KEY": "sk-bench",
    "REPEATED_STREAMING_CHUNK_LIMIT": "1000000000",  # the upstream repeats one word
}


class Program(NamedTuple):
    """One program: how it is started, and how it is asked."""

    name: str
    port: int
    command: Callable[["Program", Path], list[str]]
    """From itself and a folder for its files."""
    path: str = "/v1/responses"
    fewer: int = 1
    """How many times fewer requests it is sent, because it takes so much longer."""
    env: Mapping[str, str] | None = None
    installed: bool = True


def ours(watch: str) -> Callable[[Program, Path], list[str]]:
    """The command of AM Proxy; as it starts by default, it keeps turns, which no other bridge does."""

    def command(program: Program, folder: Path) -> list[str]:
        file = folder / f"{program.port}.toml"
        upstream = f'[upstreams.it]\nvia = "chat"\nbase_url = "{UPSTREAM}"\n[models."*"]\nupstream = "it"\n'
        file.write_text(f"[server]\nport = {program.port}\n{watch}\n{upstream}")
        return [sys.executable, "-m", "app", "serve", "--config", str(file)]

    return command


def copy(program: Program, _folder: Path) -> list[str]:
    """A byte copy."""
    return [sys.executable, "-m", "bench.floor", str(program.port), UPSTREAM]


ROSETTA = PEERS / "llm-rosetta" / "bin" / "llm-rosetta-gateway"
LITELLM_PROXY = PEERS / "litellm-proxy" / "bin" / "litellm"


def rosetta(program: Program, folder: Path) -> list[str]:
    """llm-rosetta's gateway."""
    config = {
        "providers": {"it": {"type": "openai_chat", "api_key": "none", "base_url": UPSTREAM}},
        "server": {"host": "127.0.0.1", "open_on_no_keys": True},
        "debug": {"log_bodies": False},
        "models": dict.fromkeys(MODELS, "it"),
    }
    file = folder / "rosetta.jsonc"
    file.write_text(json.dumps(config))
    options = ["--no-banner", "--data-dir", str(folder / "rosetta"), "--log-level", "error"]
    return [str(ROSETTA), "--config", str(file), "--host", "127.0.0.1", "--port", str(program.port), *options]


def litellm_proxy(program: Program, folder: Path) -> list[str]:
    """LiteLLM's proxy."""
    params = {"model": "deepseek/*", "api_base": UPSTREAM, "api_key": "none"}
    settings = {"drop_params": True, "set_verbose": False, "telemetry": False}
    file = folder / "litellm.yaml"  # JSON is YAML
    models = [{"model_name": "*", "litellm_params": params}]
    file.write_text(json.dumps({"model_list": models, "litellm_settings": settings}))
    options = ["--host", "127.0.0.1", "--telemetry", "False"]
    return [str(LITELLM_PROXY), "--config", str(file), "--port", str(program.port), *options]


PROGRAMS = (
    Program("byte copy (aiohttp)", 9701, copy, "/v1/chat/completions"),
    Program("AM Proxy", 9702, ours("")),
    Program("AM Proxy, watch = 0", 9703, ours("watch = 0")),
    Program("llm-rosetta", 9711, rosetta, installed=ROSETTA.exists()),
    Program("LiteLLM proxy", 9713, litellm_proxy, fewer=6, env=LITELLM, installed=LITELLM_PROXY.exists()),
)
