"""What `am-proxy launch` has to know about a coding agent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

PROVIDER: Final = "am"
"""The name under which agents know this server as a provider of models."""
TITLE: Final = "AM Proxy"
MARK: Final = "Written by am-proxy launch"
"""In the first line of each file that is written for an agent: only such files are replaced and removed."""


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
    environ: Mapping[str, str] = {}
    """Variables that are added to the environment."""
    files: Mapping[str, str] = {}
    """Files that are written into the folder of this run, by their names."""


class Profile(NamedTuple):
    """Files of an agent that make it use a server which runs all the time, if it is started with `command`."""

    command: str
    files: Mapping[str, str]
    """Their contents, by their names. The first line of each holds `MARK`."""


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
    home: Callable[[Mapping[str, str]], Path]
    """The folder of its configuration, which the environment may name."""
    profile: Callable[[Target, Path], Profile]
    """Makes the files for this folder."""
    profile_files: Sequence[str]
    """The names of these files."""
    profiles_since: tuple[int, ...] = ()
    """The first version that reads them."""
    menu_since: tuple[int, ...] = ()
    """The first version whose menu shows the models of this server."""
    searches_since: tuple[int, ...] = ()
    """The first version that can search the web through this server; empty: none can."""
    least_context: int = 32_000
    """Tokens of context that it needs: its instructions and tools alone take more than 10,000."""
