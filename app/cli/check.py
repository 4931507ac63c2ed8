"""`am-proxy check`: prints the settings that are not defaults, without secrets."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from ..settings.faults import quoted
from ..settings.load import Settings


def show(settings: Settings, file: Path | None) -> None:
    """Prints the settings as a configuration, then the verdict on stderr."""
    for kind, value in settings.model_dump(exclude_defaults=True, exclude_none=True).items():
        if isinstance(value, list):
            titled = [(f"[[{kind}]]", table) for table in value]
        elif kind in {"models", "upstreams"}:
            titled = [(f"[{kind}.{quoted(name)}]", table) for name, table in value.items()]
        else:
            titled = [(f"[{kind}]", value)]
        for title, table in titled:
            print(title, *[f"{name} = {toml(inner)}" for name, inner in table.items()], "", sep="\n")
    if not settings.keys:
        print("# no keys: everyone who can reach the address may use the server")
    sys.stdout.flush()
    print(f"{file or 'the configuration'} is valid", file=sys.stderr)


def toml(value: Any) -> str:
    """The value as TOML writes it."""
    match value:
        case SecretStr():
            return '"***"'
        case Mapping():
            return "{ " + ", ".join(f"{quoted(name)} = {toml(inner)}" for name, inner in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(map(toml, value)) + "]"
        case float() if value.is_integer():
            return str(int(value))
    return json.dumps(value, ensure_ascii=False)
