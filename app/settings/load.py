"""`load`: reads file, environment and flags, and returns `Settings` or raises all mistakes in them."""

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ..options import Can, Table
from ..providers.lookup import provider_of
from .configuration import DEMO_MODELS, DEMO_UPSTREAMS, Model, Settings, Tables
from .mistakes import ConfigMistakesError, Mistake, Path, did_you_mean, spelled
from .server import KeyTable, Seal, Server
from .sources import Sources
from .upstream import Upstream
from .values import is_loopback

_ROWS: dict[str, type[Server | Seal | KeyTable | Upstream | Model]] = {
    "server": Server,
    "seal": Seal,
    "keys": KeyTable,
    "upstreams": Upstream,
    "models": Model,
}

_MESSAGES: dict[str, str] = {
    "missing": "is missing",
    "string_pattern_mismatch": "must be small letters, digits, _ and -",
    "string_type": "must be a text in quotes",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a number",
}
"""The messages for pydantic's kinds of errors."""

_OPEN_TO_ALL = (
    "others can reach this address, and there is no key: add [[keys]] or set AM_KEY, "
    "listen on 127.0.0.1, or give --insecure-no-auth to let everyone in"
)


_OTHERS = frozenset({"api_key", "base_url"})
"""With one of these, the key in the environment is not used: it must not be sent to another address."""


_STAND_INS = {
    **dict.fromkeys(("api_key", "keys", "sha256", "value"), "0" * 64),
    "base_url": "http://unknown.invalid",
}
"""Valid values of settings that are often not in the file itself, but in a variable."""


def load(
    flags: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
    folder: FilePath = FilePath(),
    known_providers: Callable[[], Collection[str]] | None = None,
) -> Settings:
    """The settings: flags override the environment, the file and the defaults, in this order.

    `flags` by their names (`{"port": 9000, "upstream": "http://…"}`, None for one not given); `environ` is the
    process's own unless given; `folder` is where the usual files are looked for. `known_providers` returns litellm's
    providers, which are compared with those of the configuration. Raises `ConfigMistakesError` with all mistakes; a
    secret's value is in none of them.
    """
    flags = flags or {}
    sources = Sources(os.environ if environ is None else environ, folder)
    named = flags.get("config")
    sources.read_file(named if isinstance(named, str) else None)
    if sources.mistakes and not sources.locations:
        raise ConfigMistakesError(sources.mistakes, sources.file)  # without the file, other mistakes would be false
    sources.read_environment()
    sources.read_flags(flags)
    _complete_upstreams(sources)
    _put_stand_ins(sources)

    tables: Tables | None = None
    mistakes: list[Mistake] = []
    try:
        tables = Tables.model_validate(sources.data)
    except ValidationError as error:
        for detail in error.errors(include_url=False, include_context=True, include_input=True):
            path = tuple(detail["loc"])
            if not any(path[: len(unknown)] == unknown for unknown in sources.unknown):
                mistakes.append(_mistake(sources, path, detail))
    mistakes = [*sources.mistakes, *mistakes, *_reference_mistakes(sources)]
    if known_providers is not None:
        mistakes += _provider_mistakes(sources, known_providers)
    if tables and not tables.keys and not tables.server.insecure_no_auth and not is_loopback(tables.server.host):
        mistakes.append(Mistake(sources.where(("server", "host")), "server.host", _OPEN_TO_ALL))
    if tables is None or mistakes:
        raise ConfigMistakesError(sorted(mistakes, key=_reading_order), sources.file)
    bare = not tables.models and not tables.upstreams
    return Settings(
        server=tables.server,
        seal=tables.seal,
        keys=tuple(table.key() for table in tables.keys),
        upstreams=dict(DEMO_UPSTREAMS) if bare else tables.upstreams,
        models=dict(DEMO_MODELS) if bare else tables.models,
        file=sources.file,
        origins={spelled(path): origin for path, origin in sources.origins.items()},
        given_by=sources.given_by,
        via_is_open=sources.via_is_open,
        notes=tuple(sources.notes),
    )


def _complete_upstreams(sources: Sources) -> None:
    """Sets the key of each upstream that is asked directly and has a `provider`, and the origins of its settings."""
    for name, table in _table(sources.data.get("upstreams")).items():
        via = table.get("via") if isinstance(table, dict) else None
        if via not in {"chat", "messages"} or not isinstance(table.get("provider"), str):
            continue
        path, provider = ("upstreams", name), provider_of(table["provider"])
        for setting in provider.settings_for(via).keys() - table.keys():
            sources.origins[*path, setting] = f'provider = "{provider.name}"'
        if provider.key_variable and not _OTHERS & table.keys() and table.get("auth", "key") == "key":
            table["api_key"] = sources.variable(provider.key_variable, (*path, "api_key"))


def _put_stand_ins(sources: Sources) -> None:
    """Replaces what could not be read by a valid value, so that the other mistakes of its table are found too."""
    for path in sources.unknown:
        name = next((step for step in reversed(path) if isinstance(step, str)), "")
        table: Any = sources.data if name in _STAND_INS else None
        for step in path[:-1]:
            match table, step:
                case (dict(), _):
                    table = table.get(step)
                case (list(), int()):
                    table = table[step]
                case _:
                    table = None
        if table is not None:
            table[path[-1]] = _STAND_INS[name]


def _provider_mistakes(sources: Sources, known_providers: Callable[[], Collection[str]]) -> Iterable[Mistake]:
    known: Collection[str] = ()
    for name, upstream in _table(sources.data.get("upstreams")).items():
        path = ("upstreams", name, "provider")
        provider = _table(upstream).get("provider")
        by_litellm = _table(upstream).get("via", "litellm") == "litellm" and path not in sources.unknown
        if not by_litellm or not isinstance(provider, str):
            continue
        known = known or known_providers()
        if provider not in known:
            message = f'litellm knows no provider "{provider}"{did_you_mean(provider, known)}'
            yield Mistake(sources.where(path), spelled(path), message)


def _reading_order(mistake: Mistake) -> tuple[str, int]:
    """Sorts by the lines of the file, then environment and flags."""
    file, _, line = mistake.where.rpartition(":")
    return (file, int(line)) if line.isdecimal() else (mistake.where, 0)


def _mistake(sources: Sources, path: Path, detail: ErrorDetails) -> Mistake:
    """One of pydantic's errors as a message for users."""
    context = detail.get("ctx", {})
    value = detail["input"]
    match detail["type"]:
        case "extra_forbidden":
            message = f"is not a setting here{_elsewhere(path)}"
        case "literal_error":
            choices = [word.strip("'") for word in re.split(", | or ", context["expected"])]
            message = f"must be one of {', '.join(choices)}"
            message += did_you_mean(value, choices) if isinstance(value, str) else ""
        case "value_error":
            message = str(context["error"])
        case "model_type" | "dict_type":
            message = f"must be a table: [{spelled(path)}]"
        case "tuple_type":
            message = f"must be a list of tables: [[{spelled(path)}]]" if path == ("keys",) else "must be a list"
        case other:
            message = _MESSAGES.get(other) or re.sub(r"^\w+ should", "must", detail["msg"])
    return Mistake(sources.where(path), spelled(path), message)


def _elsewhere(path: Path) -> str:
    """A hint at the setting that may be meant by an unknown key."""
    word = str(path[-1])
    if len(path) == 1:
        near = did_you_mean(word, _ROWS)
        return f" (did you mean server.{word}?)" if not near and word in Server.model_fields else near
    table: type[Table] = Can if path[0] == "models" and "can" in path[2:-1] else _ROWS[str(path[0])]
    return did_you_mean(word, table.model_fields)


def _reference_mistakes(sources: Sources) -> Iterable[Mistake]:
    """Mistakes between tables: unknown upstreams, duplicate keys, no model to serve."""
    upstreams = _table(sources.data.get("upstreams"))
    models = _table(sources.data.get("models"))
    for name, model in models.items():
        path: Path = ("models", name)
        several = _table(model).get("upstreams")
        for index, upstream in enumerate(several if isinstance(several, list) else []):
            if isinstance(upstream, str) and upstream not in upstreams:
                where = (*path, "upstreams", index)
                near = did_you_mean(upstream, upstreams)
                yield Mistake(sources.where(where), spelled(where), f"there is no upstream {upstream!r}{near}")
        upstream = _table(model).get("upstream")
        if isinstance(upstream, str) and upstream not in upstreams and (*path, "upstream") not in sources.unknown:
            path = (*path, "upstream")
            near = did_you_mean(upstream, upstreams) or (f" (there is {', '.join(upstreams)})" if upstreams else "")
            yield Mistake(sources.where(path), spelled(path), f"there is no upstream {upstream!r}{near}")
        elif "*" in name and name != "*":
            yield Mistake(sources.where(path), spelled(path), 'is no pattern: only "*" alone stands for other names')
    if upstreams and not models:
        path = ("upstreams",)
        message = 'no model leads here: add [models."*"] or [models.<name>] with upstream = …'
        yield Mistake(sources.where(path), spelled(path), message)
    yield from _duplicate_keys(sources)


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
                yield Mistake(sources.where(path), spelled(path), f"is the same as that of keys[{first}]")


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
