"""TOML + environment + flags -> frozen `Settings`, or every mistake at once."""

import os
import tomllib
from collections.abc import Container, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError

from ..providers.table import provider_of
from .faults import Path, sentence, spelled, unknown_upstream
from .gone import instead_of
from .tables import ServerSettings
from .tables import Settings as Settings
from .values import did_you_mean, is_loopback, listed

FILE = "am-proxy.toml"
_FORMER = FilePath("config.toml")
"""The name that it could have in version 0.1. Other programs use it, too."""
GIVEN = "upstream"
"""The name of the upstream that flags or the environment give."""
_EMBEDDED = {"upstreams": {"demo": {"via": "demo"}}, "models": {name: {"upstream": "demo"} for name in ("demo", "*")}}
"""The embedded model, where nothing is configured."""
_GIVEN_BY: dict[Path, tuple[str, str]] = {
    **{("server", name): (name, f"AM_{name.upper()}") for name in ServerSettings.model_fields},
    ("upstreams", GIVEN, "base_url"): ("upstream", "AM_UPSTREAM"),
    ("upstreams", GIVEN, "provider"): ("provider", "AM_PROVIDER"),
    ("upstreams", GIVEN, "api_key"): ("upstream_key", "AM_UPSTREAM_KEY"),
    ("upstreams", GIVEN, "via"): ("via", "AM_UPSTREAM_VIA"),
}
"""The flag and the variable of a setting."""
_VARIABLES = {"AM_CONFIG", "AM_KEY", "AM_SEAL_KEY", *(variable for _, variable in _GIVEN_BY.values())}
_OPEN_TO_ALL = (
    "others can reach this address, and there is no key: add [[keys]] or set AM_KEY, listen on 127.0.0.1, "
    "or say insecure_no_auth = true (--insecure-no-auth) to let everyone in"
)


class SettingsError(Exception):
    """Mistakes in a configuration, a line each. It holds no value of a secret."""


def load(file: FilePath | None, flags: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings of this file, or of the usual one; then the environment's; then those of flags."""
    reading = _Reading(file or usual_file(environ), environ)
    reading.add_given(flags)
    reading.add_keys()
    tables = reading.resolved(reading.tables, ())
    settings, said = None, []
    try:
        settings = Settings.model_validate(tables)
    except ValidationError as error:
        for fault in error.errors(include_url=False):
            if fault["type"] == "extra_forbidden":
                reading.unread.pop(fault["loc"], None)
            if fault["loc"] not in reading.unread:
                said.append((fault["loc"], sentence(fault)))
    said += reading.unread.items()
    for path, words in [*said, *_between_tables(tables, {path[:end] for path, _ in said for end in (2, 3)})]:
        reading.say(path, words)
    if settings is not None and not reading.mistakes:
        return settings
    raise SettingsError("\n".join(sorted(reading.mistakes)))


def usual_file(environ: Mapping[str, str] = os.environ) -> FilePath | None:
    """The file that is read where no flag names one."""
    if environ.get("AM_CONFIG"):
        return FilePath(environ["AM_CONFIG"])
    home = FilePath(environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
    return next((place for place in (FilePath(FILE), home / "am-proxy" / FILE) if place.is_file()), None)


def unknown_variables(environ: Mapping[str, str] = os.environ) -> list[str]:
    """What may be mistyped settings of the environment. They may be another program's."""
    others = sorted(name for name in environ if name.startswith("AM_") and name not in _VARIABLES)
    return [f"{name} is not a setting{near}" for name in others if (near := did_you_mean(name, _VARIABLES))]


class _Reading:
    """What is read of a configuration, and what is wrong with it."""

    def __init__(self, file: FilePath | None, environ: Mapping[str, str]) -> None:
        self._file = file
        self._environ = environ
        self._origins: dict[Path, str] = {}
        """The variables and flags of what is not in the file."""
        self.tables: dict[Any, Any] = {} if file is None else _read(file)
        self.unread: dict[Path, str] = {}
        """What is said of settings that refer to what is not there."""
        self.mistakes: list[str] = []
        if file is None and os.access(_FORMER, os.R_OK) and b"[upstreams." in _FORMER.read_bytes():
            self.mistakes.append(f"{_FORMER} is not read any more: rename it to {FILE}")

    def say(self, path: Path, words: str) -> None:
        """Notes a mistake with its place. A flag or variable says itself which setting it is."""
        if not (place := self._origin(path)):
            name = _table(self.tables["keys"][path[1]]).get("name") if path[0] == "keys" and len(path) > 2 else None
            place = f"{self._file}: {spelled(('keys', name, *path[2:]) if isinstance(name, str) else path)}"
        self.mistakes.append(f"{place}: {words}")

    def _origin(self, path: Path) -> str:
        """The variable or flag with this value; empty for what is in the file."""
        return self._origins.get(path[:3]) or self._origins.get(path[:2], "")

    def _add(self, path: Path, origin: str, value: Any) -> None:
        table = self.tables
        for step in path[:-1]:
            table = _table(table.setdefault(step, {}))
        table[path[-1]] = value
        self._origins[path] = origin

    def add_given(self, flags: Mapping[str, Any]) -> None:
        """Adds what the environment and flags say. Their upstream is for every model that the file does not name."""
        given: dict[Path, tuple[str, Any]] = {}
        for path, (flag, variable) in _GIVEN_BY.items():
            if flags.get(flag) is not None:
                given[path] = f"--{flag.replace('_', '-')}", flags[flag]
            elif self._environ.get(variable):
                given[path] = variable, self._environ[variable]
        ours = {path[2]: origin for path, (origin, _) in given.items() if path[0] == "upstreams"}
        if main := ours.get("base_url") or ours.get("provider"):
            if GIVEN in _table(self.tables.get("upstreams")):  # one of them would be sent the other's key
                self.mistakes.append(f'{main}: the file has an upstream named "{GIVEN}" of its own: rename that one')
                return
            self._add(("models", "*"), main, {"upstream": GIVEN})
            self._origins["upstreams", GIVEN] = main
        for path, (origin, value) in given.items():
            if path[0] == "upstreams" and not main:
                self.mistakes.append(f"{origin}: means nothing without --upstream or --provider")
            else:
                self._add(path, origin, value)
        for name in self._environ:
            if name.startswith("AM_") and (instead := instead_of(f"server.{name[3:].lower()}")):
                self.mistakes.append(f"{name}: is gone; {instead}")

    def add_keys(self) -> None:
        """Adds the keys in the environment: of a client, for seals, of providers. And the embedded model."""
        keys = self.tables.get("keys", [])
        if (key := self._environ.get("AM_KEY")) and isinstance(keys, list):
            self._origins["keys", len(keys)] = "AM_KEY"
            self.tables["keys"] = [*keys, {"name": "AM_KEY", "value": key}]
        if (key := self._environ.get("AM_SEAL_KEY")) and not _table(self.tables.get("seal")).get("keys"):
            self._add(("seal", "keys"), "AM_SEAL_KEY", [key])
        for table in filter(None, map(_table, _table(self.tables.get("upstreams")).values())):
            known = provider_of(table["provider"] if isinstance(table.get("provider"), str) else None)
            variable = known.key_variable or ""
            # litellm finds it by itself, under other names, too
            is_needed = table.get("via", known.via) != "litellm" or bool(self._environ.get(variable))
            takes_it = table.get("auth") != "passthrough" and not table.keys() & {"api_key", "base_url"}
            if variable and is_needed and takes_it:  # it is sent to no other address
                table["api_key"] = f"env:{variable}"
        if not self.tables.get("upstreams") and not self.tables.get("models"):
            self.tables |= _EMBEDDED

    def resolved(self, value: Any, path: Path) -> Any:
        """The same with what `env:NAME` and `file:PATH` refer to."""
        if isinstance(value, dict):
            return {name: self.resolved(inner, (*path, name)) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.resolved(inner, (*path, index)) for index, inner in enumerate(value)]
        kind, _, name = value.partition(":") if isinstance(value, str) else ("", "", "")
        if kind == "env":
            if found := self._environ.get(name):
                return found
            state = "is empty" if name in self._environ else f"is not set{did_you_mean(name, self._environ)}"
            self.unread[path] = f"the environment variable {name} {state}"
        elif kind == "file":
            folder = self._file.parent if self._file and not self._origin(path) else FilePath()
            try:
                if found := (folder / FilePath(name).expanduser()).read_text(encoding="utf-8").strip():
                    return found
                self.unread[path] = f"the file {name} is empty"
            except (OSError, ValueError) as error:
                self.unread[path] = f"the file {name} cannot be read: {getattr(error, 'strerror', None) or error}"
        elif isinstance(value, str) and "${" in value:
            self.unread[path] = '${NAME} is gone; write "env:NAME" for a whole value, or the value itself'
        return value


def _between_tables(tables: Mapping[str, Any], wrong: Container[Path]) -> Iterator[tuple[Path, str]]:
    """What no table shows alone, and is looked for beside other mistakes. `wrong`: the settings that have some."""
    upstreams, models, keys = _table(tables.get("upstreams")), _table(tables.get("models")), tables.get("keys")
    asked = {name: _asked(model) for name, model in models.items() if not _has_dot(model)}
    for name, ways in asked.items():
        if "*" in name and name != "*":
            yield ("models", name), 'is no pattern: only "*" alone stands for other names'
        if not ways:
            yield ("models", name), f"needs an upstream{': ' if upstreams else ''}{', '.join(list(upstreams)[:8])}"
        for way, setting in ways.items():
            path = ("models", name, setting)
            if path in wrong or way in upstreams:
                continue
            if way == name or way not in models:
                yield path, unknown_upstream(way, upstreams)
            elif not upstreams.keys() & asked.get(way, {}):
                yield path, f'"{way}" is a model without an upstream of its own'
    if upstreams and not models:
        yield ("upstreams",), 'no model leads here: add [models."*"] or [models.NAME] with upstream = …'
    names = [_table(key).get("name") for key in keys] if isinstance(keys, list) else []
    for index, key_name in enumerate(names):
        if isinstance(key_name, str) and key_name in names[:index]:
            yield ("keys", index, "name"), "is the name of another key, too"
    right = {name: value for name, value in _table(tables.get("server")).items() if ("server", name) not in wrong}
    server = ServerSettings.model_validate(right)
    if not (keys or server.insecure_no_auth or is_loopback(server.host)):
        yield ("server", "host"), _OPEN_TO_ALL


def _asked(model: Mapping[str, Any]) -> dict[str, str]:
    """The upstreams that a model names, each with its setting."""
    several = listed(model.get("upstreams", []))
    ways = dict.fromkeys(map(str, several if isinstance(several, list) else [several]), "upstreams")
    return {str(model["upstream"]): "upstream", **ways} if "upstream" in model else ways


def _has_dot(model: Any) -> bool:
    """Whether this is no model, but the first part of a name with a dot and without quotes."""
    return not isinstance(model, dict) or (bool(model) and all(isinstance(value, dict) for value in model.values()))


def _read(file: FilePath) -> dict[str, Any]:
    """What the file says. Raises `SettingsError`."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        hint = ": a text needs quotes" if str(error).startswith(("Expected newline", "Invalid value")) else ""
        raise SettingsError(f"{file}: is not TOML: {error}{hint}") from None


def _table(value: Any) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}
