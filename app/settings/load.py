"""`load`: reads file, environment and flags, and returns `Settings` or raises all mistakes in them."""

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError

from ..providers.lookup import provider_of
from .base_urls import with_version
from .configuration import DEMO_MODELS, DEMO_UPSTREAMS, Settings, Tables
from .invalid_values import invalid
from .mistakes import ConfigMistakesError, Mistake, did_you_mean, spelled
from .references import mistakes_between_tables, split_names
from .sources import GIVEN, Sources
from .values import is_loopback

_OPEN_TO_ALL = (
    "others can reach this address, and there is no key: add [[keys]] or set AM_KEY, "
    "listen on 127.0.0.1, or give --insecure-no-auth to let everyone in"
)


_OTHERS = frozenset({"api_key", "base_url"})
"""With one of these, the key in the environment is not used: it must not be sent to another address."""


_STAND_INS = {
    **dict.fromkeys(("api_key", "keys", "password", "sha256", "value"), "0" * 64),
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
    if sources.refused:
        raise ConfigMistakesError(sources.mistakes, sources.file)  # without the file, other mistakes would be false
    sources.read_environment()
    sources.read_flags(flags)
    _complete_upstreams(sources)
    _put_stand_ins(sources)

    misread = split_names(sources)
    tables: Tables | None = None
    mistakes: list[Mistake] = []
    try:
        tables = Tables.model_validate(sources.data)
    except ValidationError as error:
        for detail in error.errors(include_url=False, include_context=True, include_input=True):
            path = tuple(detail["loc"])
            if not any(path[: len(known)] == known for known in (*sources.unknown, *misread)):
                mistakes.append(invalid(sources, path, detail))
    mistakes = [*sources.mistakes, *misread.values(), *mistakes, *mistakes_between_tables(sources)]
    if known_providers is not None:
        mistakes += _provider_mistakes(sources, known_providers)
    if tables and not tables.keys and not tables.server.insecure_no_auth and not is_loopback(tables.server.host):
        mistakes.append(sources.mistake(("server", "host"), _OPEN_TO_ALL))
    if tables is None or mistakes:
        raise ConfigMistakesError(sorted(mistakes, key=lambda each: each[:2]), sources.file)
    bare = not tables.models and not tables.upstreams
    return Settings(
        server=tables.server,
        seal=tables.seal,
        search=tables.search,
        keys=tuple(table.key() for table in tables.keys),
        upstreams=dict(DEMO_UPSTREAMS) if bare else tables.upstreams,
        models=dict(DEMO_MODELS) if bare else tables.models,
        file=sources.file,
        origins={spelled(path): origin for path, origin in sources.origins.items()},
        given_by=sources.given_by,
        via_is_open=sources.via_is_open,
        notes=(*sources.notes, *_notes_on_addresses(sources, tables)),
    )


def _notes_on_addresses(sources: Sources, tables: Tables) -> Iterable[str]:
    """Addresses that may be wrong, which only their servers know. That of `--upstream` is completed by asking."""
    for name, upstream in tables.upstreams.items():
        meant = with_version(upstream.base_url or "") if upstream.via in ("chat", "responses") else ""
        if meant and name != GIVEN:
            place, path = sources.origins["upstreams", name, "base_url"], spelled(("upstreams", name, "base_url"))
            yield f"{place}: {path} has no path (did you mean {meant}?); am-proxy doctor tests it"


def _complete_upstreams(sources: Sources) -> None:
    """Sets the key of each upstream that is asked directly and has a `provider`, and the origins of its settings."""
    for name, table in _table(sources.data.get("upstreams")).items():
        via = table.get("via") if isinstance(table, dict) else None
        if via not in ("chat", "messages", "responses") or not isinstance(table.get("provider"), str):
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
            yield sources.mistake(path, message)


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
