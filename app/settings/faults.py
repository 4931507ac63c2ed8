"""The mistakes in a configuration, in words for the person who wrote it."""

import json
import re
from collections.abc import Iterable
from typing import Any, get_args

from pydantic_core import ErrorDetails

from ..providers.table import provider_of
from .gone import instead_of
from .tables import Can, Settings, Table
from .values import did_you_mean

Path = tuple[int | str, ...]
"""Where a value stands: `("keys", 0, "name")`."""
TABLES: dict[str, type[Table]] = {
    name: (get_args(field.annotation) or (field.annotation,))[-1] for name, field in Settings.model_fields.items()
}
_SEVERAL = {"keys": "[[keys]]", "models": "[models.NAME]", "upstreams": "[upstreams.NAME]"}
"""Tables of several tables, whose paths have a name or a number in between."""
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
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
    **dict.fromkeys(("int_type", "int_parsing", "int_parsing_size", "int_from_float"), "must be a whole number"),
    **dict.fromkeys(("float_type", "float_parsing", "finite_number"), "must be a number"),
    "greater_than": "must be more than {gt:.15g}",
    "greater_than_equal": "must be at least {ge:.15g}",
    "less_than_equal": "must be at most {le:.15g}",
    "tuple_type": "must be a list",
    "list_type": "must be a list of tables: [[keys]]",
}
"""By pydantic's names of errors."""


def spelled(path: Path) -> str:
    """A path as it is written in the file: `keys[0].sha256`, `models."gpt-4.1".upstream`."""
    steps = [f"[{step}]" if isinstance(step, int) else f".{quoted(step)}" for step in path]
    return "".join(steps).removeprefix(".")


def quoted(name: str) -> str:
    """The name as a key of TOML."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


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
            return f"must be one of {', '.join(choices)}{did_you_mean(str(value), choices)}"
        case "value_error":
            return str(facts["error"])
        case "model_type" | "dict_type":
            return f"must be a table: {'[[keys]]' if path[0] == 'keys' else f'[{spelled(path)}]'}"
        case kind:
            return _MESSAGES.get(kind, "is not valid").format(**facts)


def unknown_upstream(upstream: str, upstreams: Iterable[str]) -> str:
    """What is said about an upstream that is not defined."""
    near, known, provider = did_you_mean(upstream, upstreams), list(upstreams)[:8], provider_of(upstream).name
    others = f" (there is {', '.join(known)})" if known else ""
    more = f'; add it: [upstreams.{quoted(upstream)}] with provider = "{provider}"' if provider and not near else ""
    return f'there is no upstream "{upstream}"{near or others}{more}'


def _unknown(path: Path, value: Any) -> str:
    """What is said about a setting that there is not: what it is called, or where it belongs."""
    kind, word = str(path[0]), str(path[-1])
    own = path[2:] if kind in _SEVERAL else path[1:]
    if instead := instead_of(".".join(map(str, (kind, *own)))):
        return f"is gone; {instead}"
    if not own:
        near = did_you_mean(word, TABLES)
        return f"is not a table here{near}" if near else _elsewhere(word)
    if kind in {"models", "upstreams"} and isinstance(value, dict) and len(own) == 1:
        return f"a name with a dot needs quotes: [{kind}.{quoted('.'.join(map(str, path[1:])))}]"
    table, meant = (Can if own[0] == "can" else TABLES[kind]).model_fields, _WORDS.get(word, word)
    if meant in table:
        return f"is not a setting here (did you mean {meant}?)"
    if kind == "upstreams" and meant == "name":
        return "is not a setting here: write [models.NAME] with this upstream and with name, its name there"
    near = did_you_mean(word, table)
    return f"is not a setting here{near}" if near else _elsewhere(meant)


def _elsewhere(word: str) -> str:
    """The table that has this setting, if there is one."""
    places = [_SEVERAL.get(name, f"[{name}]") for name, table in TABLES.items() if word in table.model_fields]
    return f"is not a setting here{f': {word} is one of {places[0]}' if places else ''}"
