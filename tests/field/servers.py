"""The servers that are tested, in groups, each with a table of its own on the page."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from bench import peers
from tests.conformance.install import own_version
from tests.field import bridges
from tests.field.asking import PORT, Address
from tests.field.own import OWN, demo, own_lane
from tests.servers.install import NotThereError, install, version, write_models
from tests.servers.launch import LLAMA_CPP, TRANSFORMERS, VLLM, Server, started


class Stage:
    """What the tests of a run share: a folder, and the server behind all bridges, started when it is needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stack = ExitStack()
        self._behind = ""

    def behind(self) -> str:
        """The base URL of the server behind all bridges."""
        if not self._behind:
            self._behind = f"{self._stack.enter_context(_ready(VLLM, self.folder))}/v1"
        return self._behind

    def end(self) -> None:
        """Stop what was started."""
        self._stack.close()


@dataclass(frozen=True)
class Tested:
    """A server that is tested."""

    slug: str
    title: str
    group: str
    version: Callable[[], str]
    """Empty if it is not installed."""
    start: Callable[[Stage], AbstractContextManager[Address]]
    get: str = ""
    """The command that installs it, for people."""


@contextmanager
def _ready(server: Server, folder: Path) -> Iterator[str]:
    install(server.environment)
    write_models()
    with started(server, folder) as url:
        yield url


@contextmanager
def _model_server(server: Server, folder: Path) -> Iterator[Address]:
    with _ready(server, folder) as url:
        command = server.command(PORT)
        settings = [f"{name}={value}" for name, value in server.environ.items()]
        how = " ".join([*settings, shlex.join(command)])
        yield Address(f"{url}/v1", server.model, how=how)


def _own_version() -> str:
    return f"AM Proxy {own_version()}"


def _own(slug: str, title: str) -> Tested:
    return Tested(f"own-{slug}", title, "own", _own_version, lambda _: own_lane(slug))


def _server(server: Server) -> Tested:
    slug = server.title.partition(" ")[0].lower().replace(".", "-")
    return Tested(
        slug,
        server.title,
        "servers",
        lambda: f"{server.package} {version(server.environment, server.package)}",
        lambda stage: _model_server(server, stage.folder),
        "make servers",
    )


def _named(name: str, number: str) -> str:
    return number and f"{name} {number}"


Starter = Callable[[Path, str], AbstractContextManager[Address]]


def _bridge(slug: str, title: str, number: Callable[[], str], start: Starter, get: str = "") -> Tested:
    def on(stage: Stage) -> AbstractContextManager[Address]:
        if not number():
            raise NotThereError(f"it is not installed (`{get}`)")
        folder = stage.folder / slug
        folder.mkdir()
        return start(folder, stage.behind())

    return Tested(slug, title, "bridges", number, on, get)


class Group(NamedTuple):
    """A table of the page."""

    title: str
    about: str
    """What stands above it."""
    is_quiet: bool = False
    """Whether a server about which nothing was found has a line, and no section."""


GROUPS: Final[Mapping[str, Group]] = {
    "own": Group(
        "AM Proxy",
        "Each column is a way to ask a model. `demo` is the embedded model. Behind the others is a scripted server of "
        "this repository, which refuses what real servers refuse: none of the requests was refused.",
        is_quiet=True,
    ),
    "servers": Group(
        "Model servers",
        "The Responses API of each server itself, without AM Proxy. The model is the tiny one of "
        "[servers.md](servers.md), whose answers are known. It cannot see images.",
    ),
    "bridges": Group(
        "Bridges",
        "Each bridge asks the same vLLM with the same tiny model by chat completions, and has no other configuration "
        "than the one below. In the second column one AM Proxy relays the answers of another one.",
    ),
}

_OWN_TITLES: Final = {
    "chat": "chat",
    "litellm": "litellm",
    "messages": "messages",
    "native": "responses",
    "responses": "responses, with functions",
}
_ALL: Final = (
    Tested("own-demo", "demo", "own", _own_version, lambda stage: demo(stage.folder)),
    *(_own(slug, title) for slug, title in _OWN_TITLES.items()),
    *(_server(server) for server in (LLAMA_CPP, VLLM, TRANSFORMERS)),
    _bridge("am-proxy", "AM Proxy", _own_version, bridges.am_proxy),
    _bridge("relay", "AM Proxy, relay", _own_version, bridges.relay),
    _bridge(
        "litellm-proxy",
        "LiteLLM's proxy",
        lambda: _named("litellm", peers.python_version(peers.LITELLM_PROXY, "litellm")),
        bridges.litellm_proxy,
        "make bench-peers",
    ),
    _bridge(
        "llm-rosetta",
        "llm-rosetta",
        lambda: _named("llm-rosetta", peers.python_version(peers.ROSETTA, "llm-rosetta")),
        bridges.rosetta,
        "make bench-peers",
    ),
    _bridge(
        "opencodex",
        "opencodex",
        lambda: _named("opencodex", peers.opencodex_version()),
        bridges.opencodex,
        "make bench-peers",
    ),
)
SERVERS: Final[Mapping[str, Tested]] = {tested.slug: tested for tested in _ALL}
assert set(_OWN_TITLES) == set(OWN), "a lane is missing"
