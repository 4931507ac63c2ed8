"""The text of a configuration: `Settings(upstreams={"a": Upstream(base_url=…)}, models={"m": Model(upstream="a")})`."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

Table = dict[str, Any]
Upstream: Final = Table
Model: Final = Table
Can: Final = Table
Server: Final = Table
Key: Final = Table
Seal: Final = Table
Search: Final = Table


def Settings(**tables: Any) -> str:
    """These tables as TOML. `keys` is a list of tables; a value of None is left out."""
    return "\n".join(_lines((), tables))


def _lines(path: tuple[str, ...], table: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a table: values first, then the tables within it."""
    plain = {name: held for name, held in table.items() if held is not None and not _is_table(held)}
    if path and (plain or not any(_is_table(held) for held in table.values())):
        yield f"[{_dotted(path)}]"
    for name, held in plain.items():
        yield f"{_key(name)} = {_value(held)}"
    for name, held in table.items():
        if isinstance(held, Mapping):
            yield from _lines((*path, name), held)
        elif _is_table(held):
            for each in held:
                yield f"[[{_dotted((*path, name))}]]"
                yield from (f"{_key(inner)} = {_value(value)}" for inner, value in each.items() if value is not None)


def _is_table(held: Any) -> bool:
    return isinstance(held, Mapping) or (isinstance(held, list) and bool(held) and isinstance(held[0], Mapping))


def _dotted(path: tuple[str, ...]) -> str:
    return ".".join(map(_key, path))


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def _value(held: Any) -> str:
    if isinstance(held, list | tuple | set | frozenset):
        return f"[{', '.join(map(_value, held))}]"
    if isinstance(held, Mapping):
        return f"{{{', '.join(f'{_key(name)} = {_value(value)}' for name, value in held.items())}}}"
    return json.dumps(held)
