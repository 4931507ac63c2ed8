"""config.toml, environment and flags -> frozen `Settings`. The only room that reads files and the environment.

`load` is the door; everything wrong with a configuration is told at once, as `ConfigMistakesError`.
"""

from app.settings.load import load
from app.settings.mistakes import ConfigMistakesError, Mistake, did_you_mean
from app.settings.secret import Secret
from app.settings.shape import Can, Hint, Key, Model, Seal, Server, Settings, Upstream, is_loopback
from app.settings.sources import GIVEN

__all__ = [
    "GIVEN",
    "Can",
    "ConfigMistakesError",
    "Hint",
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
