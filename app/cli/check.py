"""`am-proxy check`: prints the settings that are not defaults, without secrets, and where each model leads."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from ..settings.faults import quoted
from ..settings.load import Settings


def show(settings: Settings, file: Path | None) -> None:
    """Prints the settings as a configuration, then the verdict on stderr."""
    for kind, value in settings.model_dump(exclude_defaults=True).items():
        if kind in {"models", "upstreams"}:
            for name, table in value.items():
                _print_table(f"[{kind}.{quoted(name)}]", table)
        else:
            for table in value if isinstance(value, list) else [value]:
                _print_table(f"[[{kind}]]" if table is not value else f"[{kind}]", table)
    for name in settings.models:
        print(f"# {name} is asked at", *_ways(settings, name), sep="\n#   ")
    if not settings.keys:
        print("# no keys: everyone who can reach the address may use the server")
    counted = ((settings.upstreams, "upstream"), (settings.models, "model"), (settings.keys, "key"))
    words = [f"{len(things) or 'no'} {word}{'' if len(things) == 1 else 's'}" for things, word in counted]
    sys.stdout.flush()
    print(f"{file or 'the configuration'} is valid: {', '.join(words)}", file=sys.stderr)


def _print_table(title: str, table: Mapping[str, Any]) -> None:
    print(title)
    for name, value in table.items():
        if value is not None:
            print(f"{name} = {toml(value)}")
    print()


def _ways(settings: Settings, name: str) -> Iterator[str]:
    """Where a model leads, in order."""
    model = settings.models[name]
    for asked in model.asked:
        if (upstream := settings.upstreams.get(asked)) is None:
            yield f"what {asked} is asked at"
            continue
        there = model.called(asked, name)
        where = upstream.base_url or upstream.provider
        yield f"{asked} ({upstream.via}{f', {where}' if where else ''})" + (f" as {there}" if there != name else "")


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
