"""AM Proxy and other bridges, all in front of the same chat server."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from bench import peers
from bench.process import OTHER_CORE, Measured
from tests.field.asking import Address
from tests.servers.launch import free_port
from tests.support.running import running

KEY: Final = "sk-field-0123456789"
_STARTING: Final = 120
"""Seconds that a bridge may take."""

_CHAT: Final = """\
[upstreams.vllm]
via = "chat"
provider = "vllm"
base_url = "{upstream}"

[models.tiny]
upstream = "vllm"
"""
_RELAY: Final = """\
[upstreams.other]
via = "responses"
base_url = "{upstream}"

[models.tiny]
upstream = "other"
"""


@contextmanager
def am_proxy(folder: Path, upstream: str, settings: str = _CHAT, name: str = "am-proxy.toml") -> Iterator[Address]:
    """AM Proxy, which asks the chat server."""
    written = settings.format(upstream=upstream)
    (folder / name).write_text(written)
    with running("--config", name, folder=folder) as server:
        how = f"am-proxy serve --config {name} --port {urlsplit(server.url).port}"
        yield Address(server.url, "tiny", how=how, files={name: written}, folder=folder, upstream=upstream)


@contextmanager
def relay(folder: Path, upstream: str) -> Iterator[Address]:
    """AM Proxy, which passes on what another one says, which asks the chat server."""
    with am_proxy(folder, upstream) as behind, am_proxy(folder, behind.url, _RELAY, "relay.toml") as before:
        shown = before.files["relay.toml"].replace(f":{urlsplit(behind.url).port}", ":8081")
        files = {**behind.files, "relay.toml": shown}
        how = f"{behind.how.rpartition(' ')[0]} 8081\n{before.how}"
        yield before._replace(how=how, files=files, upstream=upstream)


@contextmanager
def _running(address: Address, command: Sequence[str], environ: Mapping[str, str] | None = None) -> Iterator[None]:
    with Measured(["nice", *command], core=OTHER_CORE, env=environ, log=address.folder / "bridge.log") as process:
        process.ready(address.url, _STARTING)
        yield


def _address(folder: Path, upstream: str, port: int, command: Sequence[str], file: str) -> Address:
    """Where it will be asked, and the command that starts it, with its program by name alone."""
    place = next(at for at, word in enumerate(command) if word.startswith(str(peers.PEERS)))
    how = shlex.join([*command[:place], Path(command[place]).name, *command[place + 1 :]])
    files = {file: json.dumps(json.loads((folder / file).read_text()), indent=2)}
    return Address(f"http://127.0.0.1:{port}/v1", "tiny", how=how, files=files, folder=folder, upstream=upstream)


@contextmanager
def litellm_proxy(folder: Path, upstream: str) -> Iterator[Address]:
    """LiteLLM's proxy. `hosted_vllm` is its name for vLLM. It keeps asking it after the invalid requests."""
    port = free_port()
    models = {"tiny": {"model": "hosted_vllm/tiny", "use_chat_completions_api": True}}
    command = peers.litellm_proxy(folder, port, upstream, models, {"disable_cooldowns": True})
    shown = _address(folder, upstream, port, command, "litellm.yaml")
    address = shown._replace(key=KEY, how=f"LITELLM_MASTER_KEY={KEY} {shown.how}")
    with _running(address, command, {**peers.LITELLM_ENVIRON, "LITELLM_MASTER_KEY": KEY}):
        yield address


@contextmanager
def rosetta(folder: Path, upstream: str) -> Iterator[Address]:
    """llm-rosetta's gateway."""
    port = free_port()
    command = peers.rosetta(folder, port, upstream, ["tiny"])
    address = _address(folder, upstream, port, command, "rosetta.jsonc")
    with _running(address, command):
        yield address


@contextmanager
def opencodex(folder: Path, upstream: str) -> Iterator[Address]:
    """opencodex, with the websocket that it offers."""
    port = free_port()
    command = peers.opencodex(folder, port, upstream, ["tiny"], websockets=True)
    address = _address(folder, upstream, port, command, "opencodex/config.json")._replace(model="it/tiny")
    with _running(address, command):
        yield address
