"""Reads settings from file, environment and flags, and merges them into one dict, with the origin of each value."""

import re
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from .files import CODEX, OLD_FILE, owner_of, usual_files
from .given_provider import complete_from_provider
from .gone import instead_of
from .literal_types import wrong_types
from .mistakes import Mistake, Path, did_you_mean, spelled
from .server import Server
from .toml_file import UnreadableFileError, read, reason

GIVEN = "upstream"
"""The name of the upstream that `--upstream`, `--provider` or their variables make."""
OPEN = "default; serve asks the server"
"""Where the `via` of that upstream comes from, if none was given."""
ENVIRONMENT_KEY = "AM_KEY"
"""The variable of the one client key that the environment can hold; also the name of that key."""
SEAL_KEY = "AM_SEAL_KEY"
"""The variable of the key that seals, where the file names none."""

_MAX_SECRET_BYTES = 65_536
_VARIABLE = re.compile(r"\$\$\{|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<otherwise>[^}]*))?\}|\$\{[^}]*\}?")

_GIVEN = ("upstreams", GIVEN)
_OF_MESSAGES = "/v1/messages"
"""The end of an address that says how its server is to be asked."""
_ENVIRONMENT: dict[str, Path] = {
    **{f"AM_{name.upper()}": ("server", name) for name in Server.model_fields},
    "AM_UPSTREAM": (*_GIVEN, "base_url"),
    "AM_UPSTREAM_KEY": (*_GIVEN, "api_key"),
    "AM_UPSTREAM_VIA": (*_GIVEN, "via"),
    "AM_PROVIDER": (*_GIVEN, "provider"),
}
_FLAGS: dict[str, Path] = {
    **{name: ("server", name) for name in Server.model_fields},
    "upstream": (*_GIVEN, "base_url"),
    "upstream_key": (*_GIVEN, "api_key"),
    "via": (*_GIVEN, "via"),
    "provider": (*_GIVEN, "provider"),
}


class Sources:
    """Reads and merges file, environment and flags. A value that cannot be read is a mistake, and `unknown`."""

    def __init__(self, environ: Mapping[str, str], folder: FilePath) -> None:
        self.environ = environ
        self.folder = folder
        self.file: str | None = None
        self.data: dict[str, Any] = {}
        self.origins: dict[Path, str] = {}
        self.locations: dict[Path, str] = {}
        """The flag or variable of each value that is not from the file: `AM_PORT`, `--port`."""
        self.refused: list[Mistake] = []
        """Mistakes that are not about one setting."""
        self.unknown: dict[Path, list[Mistake]] = {}
        """Values that cannot be read, with the reasons."""
        self.notes: list[str] = []
        self.given: dict[str, object] = {}
        """The upstream that the environment or the flags describe, by the fields of its table."""
        self.given_by = ""
        """The flag or variable with its address; empty if no address was given."""
        self.via_is_open = False
        """Whether it has no `via` and no provider: its server is looked at when the program starts."""

    @property
    def mistakes(self) -> list[Mistake]:
        """What is wrong so far."""
        return [*self.refused, *(mistake for found in self.unknown.values() for mistake in found)]

    def where(self, path: Path) -> str:
        """Where the value at a path comes from: `am-proxy.toml`, `AM_PORT`."""
        return self._given_at(path) or self.file or ""

    def mistake(self, path: Path, message: str) -> Mistake:
        """A mistake in the setting at this path. A flag or variable says itself which setting it is."""
        given_at = self._given_at(path)
        return Mistake(given_at or self.file or "", "" if given_at else spelled(path), message)

    def _given_at(self, path: Path) -> str:
        """The flag or variable with this path, or the table around it; empty for what is in the file."""
        while path and path not in self.locations:
            path = path[:-1]
        return self.locations.get(path, "")

    def read_file(self, flag: str | None) -> None:
        """Reads the file named by the flag or `AM_CONFIG`, else the first of the usual files that exists."""
        if name := flag or self.environ.get("AM_CONFIG"):
            self._read_path(self.folder / name, name)
            return
        for path, shown in usual_files(self.folder, self.environ):
            if not path.is_file():
                continue
            if shown == OLD_FILE and owner_of(path) == "codex":
                self.notes.append(f"{shown} is not read: it {CODEX}")
            elif shown == OLD_FILE and self.file is not None:
                if owner_of(path) == "am-proxy":
                    self.notes.append(f"{shown} is not read, because there is {self.file}")
            elif self.file is None:
                self._read_path(path, shown)

    def _read_path(self, path: FilePath, shown: str) -> None:
        self.file = shown
        try:
            data = read(path)
        except UnreadableFileError as error:
            self.refused.append(Mistake(shown, "", str(error)))
        else:
            self.data = self._filled(data, (), path.parent)
            for wrong, message in wrong_types(data):
                self._add_unknown(wrong, message)

    def _filled(self, value: Any, path: Path, folder: FilePath) -> Any:
        """The same value, with `env:`, `file:` and `${…}` in its strings replaced."""
        match value:
            case dict():
                return {name: self._filled(inner, (*path, name), folder) for name, inner in value.items()}
            case list():
                self.origins[path] = self.where(path)
                return [self._filled(inner, (*path, index), folder) for index, inner in enumerate(value)]
            case str():
                return self._resolved(self._interpolated(value, path), path, folder)
            case _:
                self.origins[path] = self.where(path)
                return value

    def _interpolated(self, text: str, path: Path) -> str:
        def replacement(match: re.Match[str]) -> str:
            if match[0] == "$${":
                return "${"
            name = match["name"]
            if name is None:
                self._add_unknown(path, f"{match[0]} is not ${{NAME}} or ${{NAME:-otherwise}}")
                return ""
            value = self.environ.get(name, "")
            if match["otherwise"] is not None:
                return value or match["otherwise"]
            if name not in self.environ:
                self._add_unknown(path, f"the environment variable {name} is not set{did_you_mean(name, self.environ)}")
            return value

        return _VARIABLE.sub(replacement, text)

    def _resolved(self, text: str, path: Path, folder: FilePath) -> str:
        """The value of `env:NAME` or `file:PATH`; any other text is returned unchanged."""
        scheme, colon, rest = text.partition(":")
        self.origins[path] = self.where(path)
        if not colon or scheme not in {"env", "file"}:
            return text
        if scheme == "env":
            return self.variable(rest, path)
        self.origins[path] = text
        try:
            raw = (folder / rest).read_bytes()
        except (OSError, ValueError) as error:
            self._add_unknown(path, f"the file {rest} cannot be read: {reason(error)}")
            return ""
        value = raw.decode("utf-8", "replace").strip()
        if not value:
            self._add_unknown(path, f"the file {rest} is empty")
        elif len(raw) > _MAX_SECRET_BYTES:
            self._add_unknown(path, f"the file {rest} is too large to hold a setting")
        return value

    def variable(self, name: str, path: Path) -> str:
        """The value of this environment variable, for the setting at this path."""
        self.origins[path] = f"env:{name}"
        value = self.environ.get(name, "")
        if not value:
            state = "is empty" if name in self.environ else f"is not set{did_you_mean(name, self.environ)}"
            self._add_unknown(path, f"the environment variable {name} {state}")
        return value

    def read_environment(self) -> None:
        """Reads every `AM_…` that is set and not empty."""
        for name, path in _ENVIRONMENT.items():
            if text := self.environ.get(name):
                self._put(path, name, text)
        if text := self.environ.get(ENVIRONMENT_KEY):
            keys = self.data.setdefault("keys", [])
            if isinstance(keys, list):
                path = ("keys", len(keys))
                self.locations[path] = ENVIRONMENT_KEY
                keys.append({"name": ENVIRONMENT_KEY, "value": self._resolved(text, (*path, "value"), self.folder)})
        self._read_seal_key()
        known = {*_ENVIRONMENT, ENVIRONMENT_KEY, SEAL_KEY, "AM_CONFIG"}
        for name in sorted(name for name in self.environ if name.startswith("AM_") and name not in known):
            instead = instead_of("setting", name) or instead_of("setting", f"server.{name[3:].lower()}")
            if instead and self.environ[name]:
                self.refused.append(Mistake(name, "", f"is gone; {instead}"))
            elif near := did_you_mean(name, known):
                self.notes.append(f"{name} is not a setting{near}")

    def _read_seal_key(self) -> None:
        text = self.environ.get(SEAL_KEY)
        seal = self.data.setdefault("seal", {}) if text else None
        if text and isinstance(seal, dict) and not seal.get("keys"):  # otherwise a mistake in the file
            path = ("seal", "keys")
            self.locations[path] = SEAL_KEY
            seal["keys"] = [self._resolved(text, (*path, 0), self.folder)]
            self.origins[path] = SEAL_KEY

    def read_flags(self, flags: Mapping[str, object]) -> None:
        """Reads every flag; None is one that was not given."""
        for name, path in _FLAGS.items():
            value = flags.get(name)
            if value is not None:
                self._put(path, f"--{'no-' if value is False else ''}{name.replace('_', '-')}", value)
        if self.given:
            self._serve_given()

    def _serve_given(self) -> None:
        """Adds the upstream of the environment or the flags, for every model name that the file does not have."""
        if not self.given.keys() & {"base_url", "provider"}:
            for field in self.given:
                location = self.where((*_GIVEN, field))
                self.refused.append(Mistake(location, "", "means nothing without --upstream or --provider"))
            return
        location = self.where((*_GIVEN, "base_url" if "base_url" in self.given else "provider"))
        upstreams = self.data.setdefault("upstreams", {})
        models = self.data.setdefault("models", {})
        if not isinstance(upstreams, dict) or not isinstance(models, dict):
            return  # a mistake in the file, which pydantic reports
        if GIVEN in upstreams:  # merging the two would send the key of one to the address of the other
            self.refused.append(
                Mistake(location, "", f'the file has an upstream named "{GIVEN}" of its own: rename that one')
            )
            return
        if "base_url" in self.given:
            self.given_by = location
        if "provider" in self.given:
            origins, problem = complete_from_provider(self.given, self.environ)
            self.origins.update({(*_GIVEN, field): origin for field, origin in origins.items()})
            if problem:
                self.unknown[_GIVEN] = [Mistake(self.where((*_GIVEN, "provider")), "", problem)]
        elif "via" not in self.given and (url := str(self.given["base_url"]).rstrip("/")).endswith(_OF_MESSAGES):
            self.given |= {"via": "messages", "base_url": url.removesuffix("/messages")}
            self.origins[*_GIVEN, "via"] = location
        elif "via" not in self.given:
            self.via_is_open = True
            self.given["via"] = "chat"
            self.origins[*_GIVEN, "via"] = OPEN
        upstreams[GIVEN] = self.given
        models["*"] = {"upstream": GIVEN}
        self.locations["models", "*"] = self.locations[_GIVEN] = location
        self.origins["models", "*", "upstream"] = location

    def _put(self, path: Path, location: str, value: object) -> None:
        """Sets one value, in place of a former one."""
        table = self.given
        if path[:-1] != _GIVEN:
            table = self.data.setdefault(str(path[0]), {})
            if not isinstance(table, dict):
                return  # a mistake in the file, as above
        self.locations[path] = location
        self.unknown.pop(path, None)
        if isinstance(value, str):
            value = self._resolved(value, path, self.folder)
        else:
            self.origins[path] = location
        table[str(path[-1])] = value

    def _add_unknown(self, path: Path, message: str) -> None:
        self.unknown.setdefault(path, []).append(self.mistake(path, message))
