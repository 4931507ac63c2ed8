"""Mistakes that no table shows alone: references between tables, and names that were split at their dots."""

from collections.abc import Iterable
from itertools import islice
from typing import Any, Final

from ..options import Table
from .configuration import Model
from .mistakes import Mistake, Path, did_you_mean
from .sources import Sources
from .upstream import Upstream

_MOST: Final = 8
"""Names of upstreams that a mistake lists."""


def mistakes_between_tables(sources: Sources) -> Iterable[Mistake]:
    """Mistakes between tables: unknown upstreams, duplicate keys, no model to serve."""
    upstreams = _table(sources.data.get("upstreams"))
    models = _table(sources.data.get("models"))
    for name, model in models.items():
        path: Path = ("models", name)
        several = _table(model).get("upstreams")
        for index, upstream in enumerate(several if isinstance(several, list) else []):
            if isinstance(upstream, str) and upstream not in upstreams:
                where = (*path, "upstreams", index)
                near = _instead_of(upstream, upstreams)
                yield sources.mistake(where, f'there is no upstream "{upstream}"{near}')
        upstream = _table(model).get("upstream")
        if isinstance(upstream, str) and upstream not in upstreams and (*path, "upstream") not in sources.unknown:
            path = (*path, "upstream")
            near = _instead_of(upstream, upstreams)
            yield sources.mistake(path, f'there is no upstream "{upstream}"{near}')
        elif "*" in name and name != "*":
            yield sources.mistake(path, 'is no pattern: only "*" alone stands for other names')
    if upstreams and not models:
        path = ("upstreams",)
        message = 'no model leads here: add [models."*"] or [models.<name>] with upstream = …'
        yield sources.mistake(path, message)
    yield from _duplicate_keys(sources)


def _instead_of(upstream: str, upstreams: Iterable[str]) -> str:
    some = list(islice(upstreams, _MOST + 1))
    known = ", ".join(some[:_MOST]) + (", …" if len(some) > _MOST else "")
    return did_you_mean(upstream, upstreams) or (f" (there is {known})" if known else "")


def _duplicate_keys(sources: Sources) -> Iterable[Mistake]:
    keys = sources.data.get("keys")
    for field in ("name", "sha256", "value"):
        seen: dict[str, int] = {}
        for index, key in enumerate(keys if isinstance(keys, list) else []):
            value = _table(key).get(field)
            path: Path = ("keys", index, field)
            if not isinstance(value, str) or path in sources.unknown:
                continue
            first = seen.setdefault(value.lower() if field == "sha256" else value, index)
            if first != index:
                yield sources.mistake(path, f"is the same as that of keys[{first}]")


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def split_names(sources: Sources) -> dict[Path, Mistake]:
    """Names with a dot and without quotes, such as `[models.gpt-4.1]`, which TOML reads as a table in a table.

    By the path of what was read in their place, and in which other mistakes would be false.
    """
    found: dict[Path, Mistake] = {}
    rows: tuple[tuple[str, type[Table]], ...] = (("models", Model), ("upstreams", Upstream))
    for kind, row in rows:
        for name, table in _table(sources.data.get(kind)).items():
            for key, inner in _table(table).items():
                if key in row.model_fields or not isinstance(inner, dict):
                    continue
                names, below = [name, key], inner
                while len(below) == 1 and isinstance(deeper := next(iter(below.values())), dict):
                    (step,) = below
                    if step in row.model_fields:
                        break
                    names.append(step)
                    below = deeper
                message = f'a name with a dot needs quotes: [{kind}."{".".join(names)}"]'
                is_split = all(isinstance(value, dict) for value in table.values())
                mistake = sources.mistake((kind, *names), message)._replace(path="")
                found.setdefault((kind, name) if is_split else (kind, name, key), mistake)
    return found
