"""Where the configuration is looked for, and whose a file is."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

FILE: Final = "am-proxy.toml"
OLD_FILE: Final = "config.toml"
"""The former name, which is also that of the configurations of other programs, such as Codex."""
MOST_BYTES: Final = 4 * 1024 * 1024
OURS: Final = frozenset({"server", "seal", "search", "limits", "keys", "upstreams", "models"})
"""The tables of a configuration of AM Proxy."""
CODEX: Final = "is the configuration of Codex; AM Proxy's own is am-proxy.toml"

_OF_CODEX: Final = frozenset(
    {
        *("approval_policy", "features", "mcp_servers", "model", "model_catalog_json", "model_provider"),
        *("model_providers", "model_reasoning_effort", "notify", "profile", "profiles", "projects", "sandbox_mode"),
    }
)


class Usual(NamedTuple):
    """A file that is read if none is named."""

    path: Path
    shown: str
    """How messages name it."""


def usual_files(folder: Path, environ: Mapping[str, str]) -> Iterator[Usual]:
    """The files that are looked for, the first one first: in `folder`, then in the user's configuration folder."""
    yield Usual(folder / FILE, FILE)
    yield Usual(folder / OLD_FILE, OLD_FILE)
    home = environ.get("HOME") or environ.get("USERPROFILE")
    base = Path(environ.get("XDG_CONFIG_HOME", ""))
    if not base.is_absolute():  # which a relative one would be is not defined
        base = Path(home, ".config") if home else base
    if base.is_absolute():
        path = base / "am-proxy" / FILE
        yield Usual(path, str(path))


def owner_of(path: Path) -> Literal["am-proxy", "codex", "unknown"]:
    """Whose configuration a file evidently is."""
    try:
        with path.open("rb") as file:
            data = tomllib.loads(file.read(MOST_BYTES).decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return "unknown"
    return owner(data)


def owner(data: Mapping[str, Any]) -> Literal["am-proxy", "codex", "unknown"]:
    """The same for what was read from it."""
    if not OURS.isdisjoint(data):
        return "am-proxy"
    return "unknown" if _OF_CODEX.isdisjoint(data) else "codex"
