"""config.toml, environment and flags -> frozen `Settings`. The only room that reads files and the environment.

`load` reads them; it raises `ConfigMistakesError` with all mistakes of a configuration at once.
"""

from app.settings.configuration import Model, Settings
from app.settings.load import load
from app.settings.mistakes import ConfigMistakesError, Mistake, did_you_mean
from app.settings.secret import Secret
from app.settings.server import Key, Seal, Server
from app.settings.sources import GIVEN
from app.settings.upstream import Upstream
from app.settings.values import is_loopback

__all__ = [
    "GIVEN",
    "ConfigMistakesError",
    "Key",
    "Mistake",
    "Model",
    "Seal",
    "Secret",
    "Server",
    "Settings",
    "Upstream",
    "did_you_mean",
    "is_loopback",
    "load",
]
