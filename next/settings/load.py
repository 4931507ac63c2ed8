"""TOML + environment + flags -> frozen `Settings`, or every mistake at once."""

import difflib
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..providers.table import provider_of
from .tables import (
    KeySettings,
    ModelSettings,
    SealSettings,
    SearchSettings,
    ServerSettings,
    Table,
    UpstreamSettings,
    is_loopback,
)

FILE = "am-proxy.toml"
_EMBEDDED = {"upstreams": {"demo": {"via": "demo"}}, "models": {name: {"upstream": "demo"} for name in ("demo", "*")}}
"""The embedded model, where nothing is configured."""
_GIVEN = "upstream"
"""The name of the upstream that flags or the environment give."""
_OF_GIVEN = {
    "upstream": ("AM_UPSTREAM", "base_url"),
    "upstream_key": ("AM_UPSTREAM_KEY", "api_key"),
    "via": ("AM_UPSTREAM_VIA", "via"),
    "provider": ("AM_PROVIDER", "provider"),
}
"""Its settings and their variables, by flag."""


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
    of_server = {name: flags[name] for name in ServerSettings.model_fields if flags.get(name) is not None}
    tables["server"] = {**tables.get("server", {}), **given, **of_server}
    if environ.get("AM_SEAL_KEY"):
        tables["seal"] = {"keys": [environ["AM_SEAL_KEY"]], **tables.get("seal", {})}
    _add_upstream(tables, flags, environ)
    if not tables.get("upstreams") and not tables.get("models"):
        tables |= _EMBEDDED
    try:
        settings = Settings.model_validate(tables, strict=False if given else None)
    except ValidationError as error:
        raise SettingsError("\n".join(f"{file or 'settings'}: {fault}" for fault in _faults(error))) from None
    if faults := list(_undefined(settings)):
        raise SettingsError("\n".join(f"{file or 'settings'}: {fault}" for fault in faults))
    return settings


def _usual_file(environ: Mapping[str, str]) -> Path | None:
    home = environ.get("XDG_CONFIG_HOME") or "~/.config"
    named = [environ["AM_CONFIG"]] if environ.get("AM_CONFIG") else []
    places = [*map(Path, named), Path(FILE), Path(home).expanduser() / "am-proxy" / FILE]
    return next((place for place in places if place.is_file()), Path(named[0]) if named else None)


def _add_upstream(tables: dict[str, Any], flags: Mapping[str, Any], environ: Mapping[str, str]) -> None:
    """Adds the upstream of flags or the environment, for every model that the file does not name."""
    words = {field: flags.get(flag) or environ.get(name) for flag, (name, field) in _OF_GIVEN.items()}
    upstream = {field: word for field, word in words.items() if word}
    if not upstream:
        return
    if not upstream.keys() & {"base_url", "provider"}:
        raise SettingsError("--via and --upstream-key mean nothing without --upstream or --provider")
    if _GIVEN in tables.get("upstreams", {}):  # one of them would be sent the other's key
        raise SettingsError(f'the file has an upstream named "{_GIVEN}" of its own: rename that one')
    tables["upstreams"] = {**tables.get("upstreams", {}), _GIVEN: upstream}
    tables["models"] = {**tables.get("models", {}), "*": {"upstream": _GIVEN}}


def _undefined(settings: Settings) -> Iterator[str]:
    """Upstreams that models name, and that are not defined; a server that is open to all."""
    for name, model in settings.models.items():
        for upstream in model.asked:
            other = settings.models.get(upstream)
            if upstream in settings.upstreams or (other and any(way in settings.upstreams for way in other.asked)):
                continue
            if other is not None:
                yield f"models.{name}: models.{upstream} names no upstream itself"
                continue
            known = provider_of(upstream).name
            meant = f'; add it with provider = "{upstream}"' if known else _meant(upstream, settings.upstreams)
            yield f"models.{name}: there is no [upstreams.{upstream}]{meant}"
        if not model.asked:
            yield f"models.{name}: names no upstream"
    server = settings.server
    if not settings.keys and not server.insecure_no_auth and not is_loopback(server.host):
        yield (
            f"server.host: at {server.host} other machines can call, and there are no [[keys]]: "
            "add one, or say insecure_no_auth = true"
        )
    if not settings.models:
        yield 'upstreams: no model leads here: add [models."*"] with an upstream'


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
