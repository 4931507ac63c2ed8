"""TOML + environment + flags -> frozen `Settings`, or every mistake at once."""

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError

from ..providers.table import provider_of
from .faults import TABLES, Path, quoted, sentence, spelled
from .gone import instead_of
from .tables import (
    KeySettings,
    ModelSettings,
    SealSettings,
    SearchSettings,
    ServerSettings,
    Table,
    UpstreamSettings,
)
from .values import Text, did_you_mean, is_loopback

FILE = "am-proxy.toml"
_EMBEDDED = {"upstreams": {"demo": {"via": "demo"}}, "models": {name: {"upstream": "demo"} for name in ("demo", "*")}}
"""The embedded model, where nothing is configured."""
GIVEN = "upstream"
"""The name of the upstream that flags or the environment give."""
_OF_GIVEN = {
    "base_url": ("upstream", "AM_UPSTREAM"),
    "api_key": ("upstream_key", "AM_UPSTREAM_KEY"),
    "via": ("via", "AM_UPSTREAM_VIA"),
    "provider": ("provider", "AM_PROVIDER"),
}
"""The flag and the variable of each of its settings."""
_VARIABLES = {
    *(f"AM_{name.upper()}" for name in ServerSettings.model_fields),
    *(variable for _, variable in _OF_GIVEN.values()),
    *("AM_CONFIG", "AM_KEY", "AM_SEAL_KEY"),
}
_OPEN_TO_ALL = (
    "others can reach this address, and there is no key: add [[keys]] or set AM_KEY, listen on 127.0.0.1, "
    "or say insecure_no_auth = true (--insecure-no-auth) to let everyone in"
)


class Settings(Table):
    """A whole configuration."""

    server: ServerSettings = ServerSettings()
    keys: list[KeySettings] = []
    seal: SealSettings = SealSettings()
    search: SearchSettings = SearchSettings()
    upstreams: dict[str, UpstreamSettings] = {}
    models: dict[str, ModelSettings] = {}


class SettingsError(Exception):
    """Mistakes in a configuration, a line each. It holds no value of a secret."""


def load(file: FilePath | None, flags: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings of this file, or of the usual one; then the environment's; then those of flags."""
    reading = _Reading(file or usual_file(environ), environ)
    reading.read_environment()
    reading.read_flags(flags)
    reading.add_upstream(flags)
    reading.resolve()
    mistakes = [*reading.mistakes, *reading.join_names(), *reading.between_tables()]
    settings: Settings | None = None
    try:
        settings = Settings.model_validate(reading.tables)
    except ValidationError as error:
        for each in error.errors(include_url=False):
            if each["loc"] not in reading.unread:
                mistakes.append(reading.said(each["loc"], sentence(each)))
            elif each["type"] == "extra_forbidden":  # then nobody needs to know what it refers to
                reading.unread[each["loc"]] = sentence(each)
    mistakes += [reading.said(path, words) for path, words in reading.unread.items()]
    if settings is None or mistakes:
        raise SettingsError("\n".join(sorted(set(mistakes))))
    return settings


def unknown_variables(environ: Mapping[str, str] = os.environ) -> list[str]:
    """What may be mistyped settings of the environment. They may be another program's."""
    others = sorted(name for name in environ if name.startswith("AM_") and name not in _VARIABLES)
    return [f"{name} is not a setting{near}" for name in others if (near := did_you_mean(name, _VARIABLES))]


def usual_file(environ: Mapping[str, str] = os.environ) -> FilePath | None:
    """The file that is read where no flag names one."""
    if environ.get("AM_CONFIG"):
        return FilePath(environ["AM_CONFIG"])
    home = FilePath(environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
    return next((place for place in (FilePath(FILE), home / "am-proxy" / FILE) if place.is_file()), None)


class _Reading:
    """What is read of a configuration, from where, and what is wrong with it."""

    def __init__(self, file: FilePath | None, environ: Mapping[str, str]) -> None:
        self._file = file
        self._environ = environ
        self._origins: dict[Path, str] = {}
        """The variables and flags of what is not in the file."""
        self.tables: dict[str, Any] = {} if file is None else _read(file)
        self.unread: dict[Path, str] = {}
        """Settings that refer to what is not there, with the reasons."""
        self.mistakes: list[str] = []
        if file is None and _has_upstreams(FilePath("config.toml")):
            self.mistakes.append(f"config.toml is not read any more: rename it to {FILE}")

    def said(self, path: Path, words: str) -> str:
        """A mistake with its place. A flag or variable says itself which setting it is."""
        for length in range(len(path), 0, -1):
            if origin := self._origins.get(path[:length]):
                return f"{origin}: {words}"
        return f"{self._file or 'settings'}: {spelled(path)}: {words}"

    def _put(self, path: Path, origin: str, value: Any) -> None:
        table = self.tables.setdefault(str(path[0]), {})
        for step in path[1:-1]:
            table = table.setdefault(step, {}) if isinstance(table, dict) else table
        if isinstance(table, dict):  # else a mistake in the file
            table[path[-1]] = Text(value) if isinstance(value, str) else value
            self._origins[path] = origin

    def read_environment(self) -> None:
        """Adds every `AM_…` that is set and not empty."""
        given = {name: value for name, value in self._environ.items() if name.startswith("AM_") and value}
        for name in ServerSettings.model_fields:
            if value := given.get(f"AM_{name.upper()}"):
                self._put(("server", name), f"AM_{name.upper()}", value)
        keys = self.tables.setdefault("keys", []) if "AM_KEY" in given else None
        if isinstance(keys, list):
            self._origins["keys", len(keys)] = "AM_KEY"
            keys.append({"name": "AM_KEY", "value": given["AM_KEY"]})
        if "AM_SEAL_KEY" in given and not _table(self.tables.get("seal")).get("keys"):
            self._put(("seal", "keys"), "AM_SEAL_KEY", [given["AM_SEAL_KEY"]])
        for name in given.keys() - _VARIABLES:
            if instead := instead_of(name) or instead_of(f"server.{name[3:].lower()}"):
                self.mistakes.append(f"{name}: is gone; {instead}")

    def read_flags(self, flags: Mapping[str, Any]) -> None:
        """Adds every flag of the server that is given."""
        for name in ServerSettings.model_fields:
            if flags.get(name) is not None:
                self._put(("server", name), f"--{name.replace('_', '-')}", flags[name])

    def add_upstream(self, flags: Mapping[str, Any]) -> None:
        """Adds the upstream of flags or the environment, for every model that the file does not name."""
        given = {}
        for field, (flag, variable) in _OF_GIVEN.items():
            if value := flags.get(flag) or self._environ.get(variable):
                given[field] = (f"--{flag.replace('_', '-')}" if flags.get(flag) else variable), value
        if given and not given.keys() & {"base_url", "provider"}:
            for origin, _ in given.values():
                self.mistakes.append(f"{origin}: means nothing without --upstream or --provider")
        elif given:
            origin, _ = given.get("base_url") or given["provider"]
            if GIVEN in _table(self.tables.get("upstreams")):  # one of them would be sent the other's key
                words = f'the file has an upstream named "{GIVEN}" of its own: rename that one'
                self.mistakes.append(f"{origin}: {words}")
                return
            for field, (where, value) in given.items():
                self._put(("upstreams", GIVEN, field), where, value)
            self._put(("models", "*"), origin, {"upstream": GIVEN})
            self._origins["upstreams", GIVEN] = origin

    def resolve(self) -> None:
        """Adds the keys of providers and the embedded model, and puts in what `env:` and `file:` refer to."""
        for upstream in _table(self.tables.get("upstreams")).values():
            table = _table(upstream)
            known = provider_of(table["provider"] if isinstance(table.get("provider"), str) else None)
            variable = known.key_variable or ""
            # litellm finds it by itself, under other names, too
            is_needed = table.get("via", known.via) != "litellm" or bool(self._environ.get(variable))
            takes_it = table.get("auth") != "passthrough" and not table.keys() & {"api_key", "base_url"}
            if variable and is_needed and takes_it:  # it is sent to no other address
                table["api_key"] = f"env:{variable}"
        if not self.tables.get("upstreams") and not self.tables.get("models"):
            self.tables |= _EMBEDDED
        self.tables = self._resolved(self.tables, ())

    def _resolved(self, value: Any, path: Path) -> Any:
        if isinstance(value, dict):
            return {name: self._resolved(inner, (*path, name)) for name, inner in value.items()}
        if isinstance(value, list):
            return [self._resolved(inner, (*path, index)) for index, inner in enumerate(value)]
        if not isinstance(value, str):
            return value
        kind, _, name = value.partition(":")
        if kind == "env":
            if found := self._environ.get(name):
                return Text(found)
            state = "is empty" if name in self._environ else f"is not set{did_you_mean(name, self._environ)}"
            self.unread[path] = f"the environment variable {name} {state}"
        elif kind == "file":
            folder = self._file.parent if self._file else FilePath()
            try:
                if found := (folder / FilePath(name).expanduser()).read_text(encoding="utf-8").strip():
                    return Text(found)
                self.unread[path] = f"the file {name} is empty"
            except (OSError, ValueError) as error:
                self.unread[path] = f"the file {name} cannot be read: {getattr(error, 'strerror', None) or error}"
        elif "${" in value:
            self.unread[path] = '${NAME} is gone; write "env:NAME" for a whole value, or the value itself'
        return value

    def join_names(self) -> Iterator[str]:
        """Joins names with a dot and without quotes, which TOML reads as a table in a table, and says so."""
        for kind in ("models", "upstreams"):
            tables, fields = _table(self.tables.get(kind)), TABLES[kind].model_fields
            for name, table in list(tables.items()):
                for key, inner in list(_table(table).items()):
                    whole, below = f"{name}.{key}", inner
                    if key in fields or not isinstance(inner, dict):
                        continue
                    while len(below) == 1:
                        ((step, deeper),) = below.items()
                        if step in fields or not isinstance(deeper, dict):
                            break
                        whole, below = f"{whole}.{step}", deeper
                    tables[whole] = below
                    del table[key]
                    if not table:
                        del tables[name]
                    yield f"{self._file}: a name with a dot needs quotes: [{kind}.{quoted(whole)}]"

    def between_tables(self) -> Iterator[str]:
        """What no table shows alone: upstreams that are not defined, equal keys, a server that is open to all."""
        upstreams, models = _table(self.tables.get("upstreams")), _table(self.tables.get("models"))
        for name, model in models.items():
            several = _table(model).get("upstreams")
            asked = several if isinstance(several, list) else [_table(model).get("upstream")]
            if "*" in name and name != "*":
                yield self.said(("models", name), 'is no pattern: only "*" alone stands for other names')
            if isinstance(model, dict) and asked in ([], [None]):
                known = f": {', '.join(list(upstreams)[:8])}" if upstreams else ""
                yield self.said(("models", name), f"needs an upstream{known}")
            path: Path = ("models", name, "upstream" if several is None else "upstreams")
            for upstream in asked:
                if isinstance(upstream, str) and upstream not in upstreams and upstream not in models.keys() - {name}:
                    yield self.said(path, _undefined(upstream, upstreams))
        if upstreams and not models:
            words = 'no model leads here: add [models."*"] or [models.NAME] with upstream = …'
            yield self.said(("upstreams",), words)
        keys = self.tables.get("keys")
        for field in ("name", "sha256", "value"):
            seen: dict[str, int] = {}
            for index, key in enumerate(keys if isinstance(keys, list) else []):
                value = _table(key).get(field)
                if isinstance(value, str) and seen.setdefault(value, index) != index:
                    yield self.said(("keys", index, field), f"is the same as that of keys[{seen[value]}]")
        server = _table(self.tables.get("server"))
        host = server.get("host", "127.0.0.1")
        if not keys and not server.get("insecure_no_auth") and isinstance(host, str) and not is_loopback(host):
            yield self.said(("server", "host"), _OPEN_TO_ALL)


def _undefined(upstream: str, upstreams: Iterable[str]) -> str:
    near = did_you_mean(upstream, upstreams)
    known = ", ".join(list(upstreams)[:8])
    words = f'there is no upstream "{upstream}"' + (near or (f" (there is {known})" if known else ""))
    if not near and (provider := provider_of(upstream).name):
        words += f'; add it: [upstreams.{quoted(upstream)}] with provider = "{provider}"'
    return words


def _read(file: FilePath) -> dict[str, Any]:
    """What the file says. Raises `SettingsError`."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SettingsError(f"{file}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{file}: is not UTF-8 text") from None
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        first = next((line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")), "")
        other = "JSON" if first.startswith("{") else "YAML" if first.rstrip().endswith(":") or first == "---" else ""
        hint = f": this looks like {other}; a table begins with its name, as [server]" if other else f": {error}"
        raise SettingsError(f"{file}: is not TOML{hint}") from None


def _has_upstreams(file: FilePath) -> bool:
    """Whether this is a configuration under the name that it had in the second edition."""
    try:
        return "[upstreams." in file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
