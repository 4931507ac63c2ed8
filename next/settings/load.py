"""TOML + environment + flags -> frozen `Settings`, or every mistake at once."""

import difflib
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from .tables import KeySettings, ModelSettings, SealSettings, SearchSettings, ServerSettings, Table, UpstreamSettings

FILE = "am-proxy.toml"
DEMO = "demo"
"""The embedded model, where nothing is configured."""


class Settings(Table):
    """A whole configuration."""

    server: ServerSettings = ServerSettings()
    keys: list[KeySettings] = []
    seal: SealSettings = SealSettings()
    search: SearchSettings = SearchSettings()
    upstreams: dict[str, UpstreamSettings] = {}
    models: dict[str, ModelSettings] = {}


_NAMES = {name for table in Table.__subclasses__() for name in table.model_fields}


class SettingsError(Exception):
    """Mistakes in a configuration, a line each."""


def load(file: Path | None, flags: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> Settings:
    """The settings of this file, or of the usual one; then the environment's; then those of flags."""
    file = file or _usual_file(environ)
    tables: dict[str, Any] = {}
    if file is not None:
        try:
            tables = tomllib.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise SettingsError(f"{file} cannot be read: {error.strerror}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise SettingsError(f"{file}: {error}") from None
    given = {name: environ[key] for name in ServerSettings.model_fields if (key := f"AM_{name.upper()}") in environ}
    server = {**tables.get("server", {}), **given, **{key: value for key, value in flags.items() if value is not None}}
    try:
        settings = Settings.model_validate({**tables, "server": server}, strict=False if given else None)
    except ValidationError as error:
        raise SettingsError("\n".join(f"{file or 'settings'}: {fault}" for fault in _faults(error))) from None
    if faults := list(_undefined(settings)):
        raise SettingsError("\n".join(f"{file}: {fault}" for fault in faults))
    return settings


def _usual_file(environ: Mapping[str, str]) -> Path | None:
    home = environ.get("XDG_CONFIG_HOME") or "~/.config"
    named = [environ["AM_CONFIG"]] if environ.get("AM_CONFIG") else []
    places = [*map(Path, named), Path(FILE), Path(home).expanduser() / "am-proxy" / FILE]
    return next((place for place in places if place.is_file()), Path(named[0]) if named else None)


def _undefined(settings: Settings) -> Iterator[str]:
    """Upstreams that models name, and that are not defined."""
    for name, model in settings.models.items():
        for upstream in model.asked:
            if upstream not in settings.upstreams and upstream not in settings.models:
                yield f"models.{name}: there is no [upstreams.{upstream}]{_meant(upstream, settings.upstreams)}"
        if not model.asked:
            yield f"models.{name}: names no upstream"


def _faults(error: ValidationError) -> Iterator[str]:
    for fault in error.errors(include_url=False):
        path = ".".join(map(str, fault["loc"]))
        if fault["type"] == "extra_forbidden":
            yield f"{path} is not a setting here{_meant(str(fault['loc'][-1]), _NAMES)}"
        else:
            yield f"{path}: {fault['msg'].removeprefix('Value error, ')}"


def _meant(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {near[0]}?" if near else ""
