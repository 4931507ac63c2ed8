"""The mistakes in a configuration, in words for the person who wrote it."""

import re
import tomllib
from typing import Any

from pydantic_core import ErrorDetails

from .gone import instead_of
from .tables import (
    Can,
    KeySettings,
    ModelSettings,
    SealSettings,
    SearchSettings,
    ServerSettings,
    Table,
    UpstreamSettings,
)
from .values import did_you_mean

Path = tuple[int | str, ...]
"""Where a value stands: `("keys", 0, "name")`."""

TABLES: dict[str, type[Table]] = {
    "server": ServerSettings,
    "keys": KeySettings,
    "upstreams": UpstreamSettings,
    "models": ModelSettings,
    "seal": SealSettings,
    "search": SearchSettings,
}
_WORDS = {
    **dict.fromkeys(("fallback", "fallbacks", "deployments"), "upstreams"),
    **dict.fromkeys(("model", "model_name", "id"), "name"),
    **dict.fromkeys(("url", "base_uri", "api_base", "endpoint", "address"), "base_url"),
    **dict.fromkeys(("key", "apikey", "token", "secret"), "api_key"),
    **dict.fromkeys(("api", "type", "protocol"), "via"),
}
"""What other programs call these settings."""
_MESSAGES = {
    "missing": "is missing",
    "string_type": "must be a text in quotes",
    "string_pattern_mismatch": "must be 1 to 64 small letters, digits, _ and -",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a number",
    "greater_than": "must be more than {gt:g}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "tuple_type": "must be a list",
    "list_type": "must be a list of tables: [[keys]]",
}
"""By pydantic's names of errors."""


def spelled(path: Path) -> str:
    """A path as it is written in the file: `keys[0].sha256`, `models."gpt-4.1".upstream`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{quoted(step)}" if text else quoted(step)
    return text


def quoted(name: str) -> str:
    """The name as a key of TOML."""
    if re.fullmatch(r"[A-Za-z0-9_-]+", name):
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def sentence(error: ErrorDetails) -> str:
    """One of pydantic's errors as a part of a sentence, behind the path of its setting."""
    path, value, facts = error["loc"], error["input"], error.get("ctx", {})
    match error["type"]:
        case "extra_forbidden":
            return _unknown(path, value)
        case "literal_error":
            choices = re.findall("'([^']*)'", facts["expected"])
            if instead := instead_of(f"{path[0]}.{path[-1]} = {value}"):
                return f"{value} is gone; {instead}"
            near = did_you_mean(value, choices) if isinstance(value, str) else ""
            return f"must be one of {', '.join(choices)}{near}"
        case "value_error":
            return str(facts["error"])
        case "model_type" | "dict_type":
            return f"must be a table: {'[[keys]]' if path[0] == 'keys' else f'[{spelled(path)}]'}"
        case "bool_type" | "int_type" | "float_type" as kind if _is_in_quotes(value):
            return f"{_MESSAGES[kind]}, without quotes"
        case kind:
            return _MESSAGES.get(kind, error["msg"]).format(**facts)


def _is_in_quotes(value: Any) -> bool:
    try:
        return isinstance(value, str) and not isinstance(tomllib.loads(f"it = {value}")["it"], str)
    except tomllib.TOMLDecodeError:
        return False


def _unknown(path: Path, value: Any) -> str:
    """What is said about a setting that there is not: what it is called, or where it belongs."""
    kind, word = str(path[0]), str(path[-1])
    own = path[0] if len(path) == 1 else f"{kind}.{path[2] if kind in _NAMED and len(path) > 2 else word}"
    if instead := instead_of(str(own)):
        return f"is gone; {instead}"
    if len(path) == 1:
        near = did_you_mean(word, TABLES)
        return f"is not a table here{near}" if near or isinstance(value, dict | list) else _elsewhere(word, "")
    table = Can if "can" in path[2:-1] else TABLES[kind]
    meant = _WORDS.get(word)
    if meant in table.model_fields:
        return f"is not a setting here (did you mean {meant}?)"
    if kind == "upstreams" and meant == "name":
        return "is not a setting here: write [models.NAME] with this upstream and with name, its name there"
    if near := did_you_mean(word, table.model_fields):
        return f"is not a setting here{near}"
    return _elsewhere(meant or word, kind)


_NAMED = frozenset({"keys", "models", "upstreams"})
"""Tables of several tables, whose paths have a name or a number in between."""


def _elsewhere(word: str, kind: str) -> str:
    """The table that has this setting, if there is one."""
    for other, table in TABLES.items():
        if other != kind and word in table.model_fields:
            title = f"[{other}.NAME]" if other in {"models", "upstreams"} else f"[{other}]"
            return f"is not a setting here: {word} is one of {'[[keys]]' if other == 'keys' else title}"
    return "is not a setting here"
