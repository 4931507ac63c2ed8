"""docs/configuration.md, made from the tables of settings. Run as a program, this prints it."""

import ast
import inspect
import itertools
import sys
from typing import Any

from app.settings.faults import TABLES
from app.settings.tables import Can, Table

HEAD = """\
# Configuration

<!-- Made by `python -m tests.docs.configuration_page` from the tables of settings. Do not edit. -->

AM Proxy reads the file that `--config` or `AM_CONFIG` names, otherwise `am-proxy.toml` in the folder where it is
started, otherwise `am-proxy/am-proxy.toml` in `$XDG_CONFIG_HOME` (`~/.config` if that is not set). Without a file it
has the defaults. Flags override the environment, which overrides the file. `am-proxy check` prints every mistake of a
configuration, or the resulting settings.

A value may be `"env:NAME"` (that environment variable) or `"file:PATH"` (the content of that file, relative to the
folder of the configuration), so that the configuration needs to contain no secret. `AM_KEY` is one more key of a
client.

## The settings that most people need
"""
FIRST = (
    *("server.host", "server.port", "keys.name", "keys.sha256", "upstreams.base_url", "upstreams.provider"),
    *("upstreams.api_key", "models.upstream", "models.upstreams", "models.name", "models.context_window"),
)
TITLES = {"keys": "[[keys]]", "upstreams": "[upstreams.NAME]", "models": "[models.NAME]", "can": "[models.NAME.can]"}
WORDS = {"boolean": "true or false", "integer": "whole number", "number": "number", "string": "text", "object": "table"}
LIMITS = {"exclusiveMinimum": "above", "minimum": "from", "maximum": "to"}


def page() -> str:
    """The whole document."""
    tables: dict[str, type[Table]] = {**TABLES, "can": Can}
    titles = {name: TITLES.get(name, f"[{name}]") for name in tables}
    rows = {name: _rows(table) for name, table in tables.items()}
    first = [f"| `{titles[name]}` {rows[name][key]}" for name, _, key in (each.partition(".") for each in FIRST)]
    lines = [HEAD, "| table | setting | value | default | meaning |", "| --- | --- | --- | --- | --- |", *first]
    for name, table in tables.items():
        about = " ".join((table.__doc__ or "").split())
        lines += ["", f"## `{titles[name]}`", "", about, "", "| setting | value | default | meaning |"]
        lines += ["| --- | --- | --- | --- |", *rows[name].values()]
    return "\n".join([*lines, ""])


def _rows(table: type[Table]) -> dict[str, str]:
    schema, texts = table.model_json_schema(), {}
    (body,) = (node.body for node in ast.parse(inspect.getsource(table)).body if isinstance(node, ast.ClassDef))
    for field, below in itertools.pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
            texts[ast.unparse(field.target)] = " ".join(str(ast.literal_eval(below.value)).split())
    needed = {name for name in schema.get("required", []) if "By default" not in texts[name]}
    return {
        name: f"| `{name}` | {_kind(value)} | {_default(value, is_needed=name in needed)} | {texts[name]} |"
        for name, value in schema["properties"].items()
    }


def _kind(value: dict[str, Any]) -> str:
    if "anyOf" in value:
        return " or ".join(_kind(each) for each in value["anyOf"] if each != {"type": "null"})
    if "enum" in value:
        return ", ".join(f'`"{word}"`' for word in value["enum"])
    if value.get("format") == "password":
        return "secret"
    if value.get("type") == "array":
        return f"list of {_kind(value['items'])}"
    limits = [f" {word} {value[limit]:.15g}" for limit, word in LIMITS.items() if limit in value]
    return WORDS[value.get("type", "object")] + "".join(limits)


def _default(value: dict[str, Any], *, is_needed: bool) -> str:
    default = value.get("default")
    if isinstance(default, bool):
        return f"`{default}`".lower()
    if default in (None, {}) or "$ref" in value:
        return "*required*" if is_needed else ""
    return f'`"{default}"`' if isinstance(default, str) else f"`{default}`"


if __name__ == "__main__":
    sys.stdout.write(page())
