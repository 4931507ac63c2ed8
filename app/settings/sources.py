"""Reads settings from file, environment and flags, and merges them into one dict, with the origin of each value."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from .files import CODEX, MOST_BYTES, OLD_FILE, owner, owner_of, usual_files
from .given_provider import complete_from_provider
from .mistakes import Mistake, Path, did_you_mean, spelled
from .server import Server
from .toml_lines import lines_of

GIVEN = "upstream"
"""The name of the upstream that `--upstream`, `--provider` or their variables make."""
OPEN = "default; serve asks the server which one suits it"
"""Where the `via` of that upstream comes from, if none was given."""
ENVIRONMENT_KEY = "AM_KEY"
"""The variable of the one client key that the environment can hold; also the name of that key."""
SEAL_KEY = "AM_SEAL_KEY"
"""The variable of the key that seals, where the file names none."""

_MAX_SECRET_BYTES = 65_536
_VARIABLE = re.compile(r"\$\$\{|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<otherwise>[^}]*))?\}|\$\{[^}]*\}?")
_LINE = re.compile(r" \(at (?:line (?P<line>\d+), column \d+|end of document)\)$")

_GIVEN = ("upstreams", GIVEN)
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
        """Where each value is, as a mistake names it: `am-proxy.toml:3`, `AM_PORT`, `--port`."""
        self.mistakes: list[Mistake] = []
        self.unknown: set[Path] = set()
        self.notes: list[str] = []
        self.given: dict[str, object] = {}
        """The upstream that the environment or the flags describe, by the fields of its table."""
        self.given_by = ""
        """The flag or variable with its address; empty if no address was given."""
        self.via_is_open = False
        """Whether it has no `via` and no provider: its server is looked at when the program starts."""

    def where(self, path: Path) -> str:
        """The nearest location that is known for a path."""
        while path not in self.locations and path:
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
            raw = path.read_bytes()
        except OSError as error:
            self.mistakes.append(Mistake(shown, "", f"cannot be read: {_reason(error)}"))
            return
        if len(raw) > MOST_BYTES:
            self.mistakes.append(Mistake(shown, "", "is too large for a configuration"))
            return
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            self.mistakes.append(Mistake(f"{shown}:{line}", "", "is not UTF-8 text"))
            return
        self._read_text(shown, text, path.parent)

    def _read_text(self, shown: str, text: str, folder: FilePath) -> None:
        try:
            data = tomllib.loads(text)
            lines = lines_of(text)
        except ValueError as error:  # tomllib's own, or Python's for a number of thousands of digits
            match = _LINE.search(str(error))
            line = int(match["line"]) if match and match["line"] else text.rstrip("\n").count("\n") + 1
            self.mistakes.append(Mistake(f"{shown}:{line}", "", f"is not TOML: {_LINE.sub('', str(error))}"))
            return
        except RecursionError:
            self.mistakes.append(Mistake(shown, "", "is nested too deeply"))
            return
        if owner(data) == "codex":
            self.mistakes.append(Mistake(shown, "", CODEX))
            return
        self.locations = {(): shown} | {path: f"{shown}:{line}" for path, line in lines.items()}
        self.data = self._filled(data, (), folder)

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
            self._add_unknown(path, f"the file {rest} cannot be read: {_reason(error)}")
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
            if near := did_you_mean(name, known):
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
                self.mistakes.append(Mistake(location, "", "means nothing without --upstream or --provider"))
            return
        location = self.where((*_GIVEN, "base_url" if "base_url" in self.given else "provider"))
        upstreams = self.data.setdefault("upstreams", {})
        models = self.data.setdefault("models", {})
        if not isinstance(upstreams, dict) or not isinstance(models, dict):
            return  # a mistake in the file, which pydantic reports
        if GIVEN in upstreams:  # merging the two would send the key of one to the address of the other
            self.mistakes.append(
                Mistake(location, "", f"the file has an upstream named {GIVEN!r} of its own: rename that one")
            )
            return
        if "base_url" in self.given:
            self.given_by = location
        if "provider" in self.given:
            origins, problem = complete_from_provider(self.given, self.environ)
            self.origins.update({(*_GIVEN, field): origin for field, origin in origins.items()})
            if problem:
                self.unknown.add(_GIVEN)
                self.mistakes.append(Mistake(self.where((*_GIVEN, "provider")), "", problem))
        elif "via" not in self.given:
            self.via_is_open = True
            self.given["via"] = "chat"
            self.origins[*_GIVEN, "via"] = OPEN
        upstreams[GIVEN] = self.given
        models["*"] = {"upstream": GIVEN}
        self.locations["models", "*"] = location
        self.origins["models", "*", "upstream"] = location

    def _put(self, path: Path, location: str, value: object) -> None:
        """Sets one value, in place of a former one."""
        table = self.given
        if path[:-1] != _GIVEN:
            table = self.data.setdefault(str(path[0]), {})
            if not isinstance(table, dict):
                return  # a mistake in the file, as above
        self.locations[path] = location
        self.unknown.discard(path)
        self.mistakes = [mistake for mistake in self.mistakes if mistake.path != spelled(path)]
        if isinstance(value, str):
            value = self._resolved(value, path, self.folder)
        else:
            self.origins[path] = location
        table[str(path[-1])] = value

    def _add_unknown(self, path: Path, message: str) -> None:
        self.unknown.add(path)
        self.mistakes.append(Mistake(self.where(path), spelled(path), message))


def _reason(error: Exception) -> str:
    match error:
        case FileNotFoundError():
            return "there is no such file"
        case PermissionError():
            return "permission denied"
        case IsADirectoryError():
            return "it is a folder"
        case OSError():
            return error.strerror or "it cannot be opened"
        case _:
            return "it is not a path"
