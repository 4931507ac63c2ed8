"""Other bridges (`make bench-peers` installs them), and the commands that start them in front of a chat server."""

import importlib.metadata
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Json = dict[str, Any]

ROOT = Path(__file__).parents[1]
PEERS = Path(os.environ.get("AM_BENCH_PEERS", ROOT / ".cache" / "bench"))
"""Each bridge is in its own folder."""
LITELLM_PROXY = PEERS / "litellm-proxy" / "bin" / "litellm"
ROSETTA = PEERS / "llm-rosetta" / "bin" / "llm-rosetta-gateway"
OPENCODEX = PEERS / "opencodex" / "node_modules" / ".bin" / "ocx"

LITELLM_ENVIRON = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_MODE": "PRODUCTION",
}


def python_version(program: Path, package: str) -> str:
    """The version of a package in the environment of a program; empty if it is not there."""
    paths = [str(path) for path in program.parents[1].glob("lib/python*/site-packages")]
    found = importlib.metadata.distributions(name=package, path=paths)
    return next((each.version for each in found), "")


def opencodex_version() -> str:
    """As above."""
    packages = OPENCODEX.parents[1] / "@bitkyc08" / "opencodex" / "package.json"
    return str(json.loads(packages.read_text())["version"]) if packages.is_file() else ""


def litellm_proxy(
    folder: Path, port: int, upstream: str, models: Mapping[str, Json], router: Mapping[str, Any] | None = None
) -> list[str]:
    """LiteLLM's proxy. The models are public names, and the parameters that litellm is called with."""
    file = folder / "litellm.yaml"
    entries = [
        {"model_name": name, "litellm_params": {**params, "api_base": upstream, "api_key": "none"}}
        for name, params in models.items()
    ]
    settings = {"drop_params": True, "set_verbose": False, "telemetry": False}
    config = {"model_list": entries, "litellm_settings": settings} | ({"router_settings": router} if router else {})
    file.write_text(json.dumps(config))
    options = ["--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"]
    return [str(LITELLM_PROXY), "--config", str(file), *options]


def rosetta(folder: Path, port: int, upstream: str, models: Sequence[str]) -> list[str]:
    """llm-rosetta's gateway."""
    file = folder / "rosetta.jsonc"
    config = {
        "providers": {"it": {"type": "openai_chat", "api_key": "none", "base_url": upstream}},
        "server": {"host": "127.0.0.1", "open_on_no_keys": True},
        "debug": {"log_bodies": False},
        "models": dict.fromkeys(models, "it"),
    }
    file.write_text(json.dumps(config))
    options = ["--port", str(port), "--no-banner", "--data-dir", str(folder / "rosetta"), "--log-level", "error"]
    return [str(ROSETTA), "--config", str(file), "--host", "127.0.0.1", *options]


def opencodex(folder: Path, port: int, upstream: str, models: Sequence[str], **more: Any) -> list[str]:
    """opencodex, with temporary home folders, because it writes into those of its user and of Codex."""
    home = folder / "opencodex"
    (home / "codex").mkdir(parents=True, exist_ok=True)
    provider = {"adapter": "openai-chat", "baseUrl": upstream, "apiKey": "none", "allowPrivateNetwork": True}
    config = {
        "port": port,
        "hostname": "127.0.0.1",
        "defaultProvider": "it",
        "providers": {"it": {**provider, "defaultModel": models[0], "models": list(models)}},
        **more,
    }
    (home / "config.json").write_text(json.dumps(config))
    homes = [f"HOME={home}", f"OPENCODEX_HOME={home}", f"CODEX_HOME={home / 'codex'}"]
    return ["env", *homes, str(OPENCODEX), "start", "--port", str(port)]
