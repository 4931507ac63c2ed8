"""`am-proxy check`: prints the settings that are not defaults, without secrets, and where each model leads."""

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import SecretStr

from ..settings.load import Settings


def show(settings: Settings) -> None:
    """Prints the settings as a configuration, then the verdict on stderr."""
    for line in _lines(settings):
        print(line)
    print("the configuration is valid", file=sys.stderr)


def _lines(settings: Settings) -> Iterator[str]:
    for kind, value in settings.model_dump(exclude_defaults=True).items():
        if isinstance(value, list):
            for table in value:
                yield from _table(f"[[{kind}]]", table)
        elif kind in {"models", "upstreams"}:
            for name, table in value.items():
                yield from _table(f"[{kind}.{_name(name)}]", table)
        else:
            yield from _table(f"[{kind}]", value)


def _table(title: str, table: Mapping[str, Any]) -> Iterator[str]:
    yield title
    for name, value in table.items():
        yield f"{name} = {_toml(value)}"
    yield ""


def _name(name: str) -> str:
    is_bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if is_bare else json.dumps(name, ensure_ascii=False)


def _toml(value: Any) -> str:
    match value:
        case SecretStr():
            return '"***"'
        case Mapping():
            return "{ " + ", ".join(f"{_name(name)} = {_toml(inner)}" for name, inner in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(map(_toml, value)) + "]"
        case float() if value.is_integer():
            return str(int(value))
    return json.dumps(value, ensure_ascii=False)
