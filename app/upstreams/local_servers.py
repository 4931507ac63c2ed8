"""The servers that people run on their own machine: their usual ports, how they are started, and which ones answer."""

import asyncio
import os
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from .survey import Survey, survey

WITHIN: Final = 1
"""Seconds in which a server on this machine must answer."""
_OURS: Final = "am-proxy"
"""What a survey calls another AM Proxy."""


class UsualServer(NamedTuple):
    """A program that serves models, and the port it uses unless told otherwise."""

    title: str
    port: int
    start: str
    """The command that starts it."""
    provider: str = ""
    """The `provider` that knows how it differs, if there is one."""
    path: str = "/v1"


USUAL_SERVERS: Final = (
    UsualServer("Ollama", 11434, "ollama serve", "ollama"),
    UsualServer("LM Studio", 1234, "lms server start", "lm_studio"),
    UsualServer("vLLM", 8000, "vllm serve MODEL", "vllm"),
    UsualServer("llama.cpp", 8081, "llama-server -m MODEL.gguf --port 8081", "llama_cpp"),
    UsualServer("llama.cpp", 8080, "llama-server -m MODEL.gguf", "llama_cpp"),
    UsualServer("SGLang", 30000, "python -m sglang.launch_server --model-path MODEL", "sglang"),
    UsualServer("LiteLLM's proxy", 4000, "litellm --config FILE"),
    UsualServer("Jan", 1337, "jan serve MODEL"),
    UsualServer("KoboldCpp", 5001, "koboldcpp MODEL.gguf"),
    UsualServer("Docker Model Runner", 12434, "docker desktop enable model-runner --tcp 12434", path="/engines/v1"),
)
"""AM Proxy itself uses port 8080, so llama.cpp is often moved to 8081. Several programs use port 8000; whichever
answers is recognized by its answers."""

TITLES: Final[Mapping[str, str]] = {
    "ollama": "Ollama",
    "vllm": "vLLM",
    "llama.cpp": "llama.cpp",
    "lmstudio": "LM Studio",
    "sglang": "SGLang",
}
"""Names of servers by what a survey calls them."""


class FoundServer(NamedTuple):
    """A server that answers on this machine."""

    title: str
    found: Survey

    @property
    def base_url(self) -> str:
        """Its address."""
        return self.found.base_url


async def find_local_servers(environ: Mapping[str, str] | None = None, *, within: float = WITHIN) -> list[FoundServer]:
    """The servers that answer on the usual ports of this machine, and at `OLLAMA_HOST`. All are asked at once."""
    addresses = local_addresses(os.environ if environ is None else environ)
    surveys = await asyncio.gather(*(survey(url, None, within=within) for url in addresses))
    return [
        FoundServer(_title(found, usual), found)
        for usual, found in zip(addresses.values(), surveys, strict=True)
        if not found.problem and found.server != _OURS and (found.models or found.via not in found.lacks)
    ]


def _title(found: Survey, usual: str) -> str:
    """The name of a server. One that can be recognized, and is not, is not what usually listens on that port."""
    return TITLES.get(found.server) or ("unknown server" if usual in TITLES.values() else usual)


def local_addresses(environ: Mapping[str, str]) -> dict[str, str]:
    """The addresses to look at, and the server that each of them is likely to be."""
    addresses = {f"http://127.0.0.1:{usual.port}{usual.path}": usual.title for usual in USUAL_SERVERS}
    if own := _ollama_address(environ.get("OLLAMA_HOST", "")):
        addresses = {own: "Ollama", **addresses}
    return addresses


def _ollama_address(text: str) -> str:
    """The address that `OLLAMA_HOST` means: `0.0.0.0`, `:11435`, `http://gpu:11434`. Empty if it means none."""
    text = text.strip().strip("\"'")
    scheme, separator, rest = text.partition("://")
    if not separator:
        scheme, rest = "http", text
    try:
        parts = urlsplit(f"{scheme}://{rest}")
        host, port = parts.hostname or "127.0.0.1", parts.port
    except ValueError:
        return ""
    if not text or scheme not in {"http", "https"} or "@" in parts.netloc:
        return ""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 — what a server listens on is read
    usual = {"http": 80, "https": 443}[scheme] if separator else 11434
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port or usual}{parts.path.rstrip('/')}/v1"


def servers_on(port: int) -> list[UsualServer]:
    """The programs that usually listen on this port."""
    return [usual for usual in USUAL_SERVERS if usual.port == port]


def usual_ports() -> str:
    """The ports that are looked at, as a text."""
    return ", ".join(str(usual.port) for usual in USUAL_SERVERS)
