"""docs/configuration.md, made from the settings themselves: no key can be forgotten there, or differ."""

import ast
import inspect
import types
from collections.abc import Iterator
from typing import Any, Final, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from app.options import Can, Table
from app.settings import Model, Seal, Search, Server, Upstream
from app.settings.secret import Secret
from app.settings.server import KeyTable

HEAD: Final = """\
# Configuration

<!-- Made from app/settings and app/options.py by `pytest tests/docs --bless docs`. Do not edit. -->

AM Proxy reads the file that `--config` or `AM_CONFIG` names. Otherwise it looks for `am-proxy.toml` in the folder where
it is started, then for `config.toml` there (the former name), then for `am-proxy/am-proxy.toml` in `$XDG_CONFIG_HOME`
(`~/.config` if that is not set, on macOS too). Without a file it has the defaults. `serve`, `check` and `doctor` print
the name of the file.

Flags override the environment, the environment overrides the file, the file overrides the defaults. `am-proxy check`
prints every error of a configuration, or the resulting settings; with `--all` also those that have their default
values. Every setting is in [config.example.toml](../config.example.toml).

Any text may contain `${NAME}` or `${NAME:-default}`, replaced from the environment (`$${` is a plain `${`). A whole
value may be `"env:NAME"` (that environment variable) or `"file:PATH"` (the content of that file, relative to the
folder of the configuration), so that the configuration needs to contain no secret.
"""

TABLES: Final = (
    (
        "[server]",
        Server,
        "How the server listens, and its limits. Each setting is also an environment variable: `port` is `AM_PORT`.",
    ),
    ("[[keys]]", KeyTable, "Keys of the clients. Without any, everyone who can reach the address can use the server."),
    (
        "[seal]",
        Seal,
        "Encryption of what clients send back to the model: [encrypted reasoning and state](sealed-content.md).",
    ),
    ("[search]", Search, "Web search for Codex: [search](search.md)."),
    ("[upstreams.NAME]", Upstream, "A server that runs models, and how it is called: [providers](providers.md)."),
    (
        "[models.NAME]",
        Model,
        'A model under its public name, which clients use. `[models."*"]` stands for every other name.',
    ),
    (
        "[models.NAME.can]",
        Can,
        "What the model supports. By default from litellm's model map, otherwise assumed to be supported.",
    ),
)


def page() -> str:
    """The whole document."""
    return "\n".join([HEAD, *(_section(title, table, about) for title, table, about in TABLES)])


def _section(title: str, table: type[BaseModel], about: str) -> str:
    docs = dict(_docstrings(table))
    rows = [_row(name, field, docs.get(name, "")) for name, field in table.model_fields.items()]
    head = ["| key | value | default | meaning |", "| --- | --- | --- | --- |"]
    return "\n".join([f"## `{title}`", "", about, "", *head, *rows, ""])


def _row(name: str, field: FieldInfo, doc: str) -> str:
    cells = (f"`{name}`", _kind(field.annotation, field), _default(field), " ".join(doc.split()))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _kind(annotation: Any, field: FieldInfo | None = None) -> str:  # noqa: PLR0911 — one return a kind
    match get_origin(annotation):
        case origin if origin is Literal:
            return ", ".join(f"`{_toml(choice)}`" for choice in get_args(annotation))
        case origin if origin in (Union, types.UnionType):
            return " or ".join(_kind(each) for each in get_args(annotation) if each is not type(None))
        case origin if origin is tuple:
            return f"list of {_kind(get_args(annotation)[0])}"
        case origin if origin is dict:
            return f"table of {_kind(get_args(annotation)[1])}"
        case origin if origin is not None and hasattr(annotation, "__metadata__"):
            return _kind(get_args(annotation)[0])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "table"
    words = {bool: "true or false", int: "whole number", float: "number", str: "text", Secret: "secret"}
    return words[annotation] + _limits(field)


_LIMITS: Final = {"gt": "above", "ge": "from", "le": "to"}


def _limits(field: FieldInfo | None) -> str:
    """The smallest and the largest number, where there are such."""
    limits = {name: getattr(each, name) for each in (field.metadata if field else ()) for name in limits_of(each)}
    return "".join(f" {word} {_toml(limits[name])}" for name, word in _LIMITS.items() if name in limits)


def limits_of(constraint: Any) -> list[str]:
    """Which limits this piece of a field's metadata sets."""
    return [name for name in _LIMITS if getattr(constraint, name, None) is not None]


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "*required*"
    default = field.get_default(call_default_factory=True, validated_data={})
    if default is None:
        return ""
    return "" if isinstance(default, BaseModel) else f"`{_toml(default)}`"


def _toml(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case tuple() | list():
            return f"[{', '.join(map(_toml, value))}]"
        case float() if value.is_integer():
            return str(int(value))
        case _:
            return str(value)


def _docstrings(table: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """The text under each field."""
    for declared_in in (kind for kind in table.__mro__ if issubclass(kind, Table)):
        (body,) = (node for node in ast.parse(inspect.getsource(declared_in)).body if isinstance(node, ast.ClassDef))
        for field, below in zip(body.body, body.body[1:], strict=False):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                match below:
                    case ast.Expr(ast.Constant(str(text))):
                        yield field.target.id, text
                    case _:
                        yield field.target.id, ""
