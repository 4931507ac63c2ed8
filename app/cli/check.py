"""`am-proxy check`: prints the settings that are not defaults, without secrets, and where each value comes from.

Its last line, on stderr, is the verdict.
"""

import json
import sys
from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from pydantic import BaseModel

from ..settings import GIVEN, Model, Secret, Settings, Upstream, with_version
from .config_report import verdict
from .style import colour_wanted, painted

_WIDTH: Final = 44
"""The column of the comments."""


class _Row(NamedTuple):
    text: str
    origin: str
    is_default: bool


class _Listed(NamedTuple):
    title: str
    rows: list[_Row]
    is_needed: bool = True
    """Whether it is a part of the configuration even if all its settings are defaults."""


def check(settings: Settings, *, complete: bool = False) -> int:
    """Print the settings that are not defaults, or all, and the verdict."""
    for line in _lines(settings, complete=complete, colour=colour_wanted(sys.stdout)):
        print(line)
    sys.stdout.flush()
    print(verdict(settings), file=sys.stderr)
    return 0


def _lines(settings: Settings, *, complete: bool, colour: bool) -> Iterator[str]:
    """The settings in the form of a configuration."""
    hidden = 0
    for title, rows, is_needed in _tables(settings):
        shown = [row for row in rows if complete or not row.is_default]
        hidden += len(rows) - len(shown)
        if shown or is_needed:
            yield painted(title, "bold", colour=colour)
            for row in shown:
                yield f"{row.text:<{_WIDTH}}" + painted(f"# {row.origin}", "dim", colour=colour)
            yield ""
    for remark in _remarks(settings, hidden):
        yield painted(f"# {remark}", "dim", colour=colour)


def _remarks(settings: Settings, hidden: int) -> Iterator[str]:
    if not settings.keys:
        yield "no keys: everyone who can reach the address may use the server"
    for name, upstream in settings.upstreams.items():
        if upstream.via != "demo" and upstream.auth == "key" and upstream.api_key is None:
            is_given = name == GIVEN and settings.given_by
            yield f"{settings.given_by}: no key is given" if is_given else f"upstreams.{_key(name)}: no api_key is set"
        if name == GIVEN and (meant := with_version(upstream.base_url or "")):
            yield f"{settings.given_by or name} has no path: serve also tries {meant}"
    if hidden:
        yield f"{hidden} settings have their default values: am-proxy check --all shows them"


def _tables(settings: Settings) -> Iterator[_Listed]:
    origins = settings.origins
    server, seal = settings.server, settings.seal
    rows = list(_rows(server.model_dump(), "server", origins, server.model_fields_set))
    yield _Listed("[server]", rows, is_needed=False)
    # `iter`, since it has a field named `keys`, which dict() would call
    rows = list(_rows(dict(iter(seal)), "seal", origins, seal.model_fields_set))
    yield _Listed("[seal]", rows, is_needed=False)
    rows = list(_rows(dict(iter(settings.search)), "search", origins, settings.search.model_fields_set))
    yield _Listed("[search]", rows, is_needed=False)
    for index, key in enumerate(settings.keys):
        path = f"keys[{index}]"
        origin = origins.get(f"{path}.value") or origins.get(f"{path}.sha256", "")
        fields = {"name": key.name, "sha256": key.digest.hex()[:8] + "…", "models": list(key.models)}
        known = {**origins, f"{path}.sha256": f"set, from {origin}"}
        given = {name for name in fields if f"{path}.{name}" in known} | {"name"}
        yield _Listed("[[keys]]", list(_rows(fields, path, known, given)))
    for kind, tables in (("upstreams", settings.upstreams), ("models", settings.models)):
        for name, table in tables.items():
            path = f"{kind}.{_key(name)}"
            fields = {key: value for key, value in table if not isinstance(table, Upstream) or table.takes(key)}
            if isinstance(table, Model):  # it has one of the two
                del fields["upstream" if table.upstreams else "upstreams"]
            yield _Listed(f"[{path}]", list(_rows(fields, path, origins, table.model_fields_set)))


def _rows(
    values: Mapping[str, object], path: str, origins: Mapping[str, str], given: Collection[str]
) -> Iterator[_Row]:
    for name, value in values.items():
        if value is None:
            continue
        if isinstance(value, BaseModel | dict):  # a nested table: its keys, dotted
            inner = {f"{name}.{_key(key)}": below for key, below in dict(value).items()}
            yield from _rows(inner, path, origins, set(inner) if name in given else set())
            continue
        origin = origins.get(f"{path}.{name}", "default")
        match value:
            case Secret():
                line, origin = f'{name} = "***"', f"set, from {origin}"
            case (Secret(), *_):
                line = f"{name} = {json.dumps(['***'] * len(value))}"
                origin = "set, from " + ", ".join(
                    origins.get(f"{path}.{name}[{index}]", origin) for index in range(len(value))
                )
            case float() if value.is_integer():
                line = f"{name} = {int(value)}"
            case _:
                line = f"{name} = {json.dumps(value, ensure_ascii=False)}"
        yield _Row(line, origin, is_default=name not in given)


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if bare else json.dumps(name, ensure_ascii=False)
