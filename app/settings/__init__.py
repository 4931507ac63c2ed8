"""am-proxy.toml, environment and flags -> frozen `Settings`. The only room that reads files and the environment.

`load` reads them; it raises `ConfigMistakesError` with all mistakes of a configuration at once.
"""

from .base_urls import with_version
from .configuration import Model, Settings
from .files import FILE
from .load import load
from .mistakes import ConfigMistakesError, Mistake, did_you_mean
from .search import Search
from .secret import Secret
from .server import Key, Seal, Server
from .sources import GIVEN
from .upstream import Upstream
from .values import is_loopback

__all__ = [
    "FILE",
    "GIVEN",
    "ConfigMistakesError",
    "Key",
    "Mistake",
    "Model",
    "Seal",
    "Search",
    "Secret",
    "Server",
    "Settings",
    "Upstream",
    "did_you_mean",
    "is_loopback",
    "load",
    "with_version",
]
