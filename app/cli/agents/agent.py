"""What `am-proxy launch` has to know about a coding agent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

PROVIDER: Final = "am"
"""The name under which agents know this server as a provider of models."""
TITLE: Final = "AM Proxy"


class Target(NamedTuple):
    """The server that an agent will use, and what it serves."""

    base_url: str
    model: str
    """The model to start with."""
    catalogue: Sequence[Mapping[str, Any]]
    """All models, as `codex_model` describes them."""
    key_variable: str = ""
    """The environment variable with the key; empty if none is needed."""
    searches: bool = False
    """Whether it searches the web for agents that ask it to."""


class Setup(NamedTuple):
    """What an agent is started with, so that it uses the server and none of the user's files is changed."""

    flags: Sequence[str] = ()
    """They come before the user's own arguments."""
    files: Mapping[str, str] = {}
    """Files that are written into the folder of this run, by their names."""


@dataclass(frozen=True)
class Agent:
    """A coding agent."""

    title: str
    program: str
    install: str
    """How to get it, as a command."""
    oldest: tuple[int, ...]
    """The oldest version that works."""
    setup: Callable[[Target, Path], Setup]
    """Makes the set-up for one run; files will be in this folder."""
    profile: Callable[[Target], str]
    """Makes a file of settings with which it uses a server that runs all the time."""
    menu_since: tuple[int, ...] = ()
    """The first version whose menu shows the models of this server."""
    searches_since: tuple[int, ...] = ()
    """The first version that can search the web through this server; empty: none can."""
    least_context: int = 32_000
    """Tokens of context that it needs: its instructions and tools alone take more than 10,000."""
