"""`am-proxy launch codex`: runs Codex on models of yours, and changes none of its files."""

import asyncio
import json
import logging
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import uvicorn

from ..api.pages import codex_model
from ..app import build_app
from ..catalog import with_facts
from ..observe.log import log, set_up
from ..settings.load import GIVEN, Settings
from ..settings.tables import KeySettings, ModelSettings, ServerSettings
from ..settings.values import did_you_mean
from ..upstreams.survey import Survey, loaded_window
from .advice import GET_MODEL, explained, short_context
from .codex import Server, flags, profile
from .serve import config_of, url_of
from .upstream_flag import Looked, look_at

_KEY = "AM_LAUNCH_KEY"
"""The variable in which Codex gets the key of this run."""
_LOOK = 5
"""Seconds that a look at a server may take."""
_LOADED = 60
"""Seconds that loading a model may take."""
_SHOWN = 6
_MOST_UNNAMED = 30
"""Models of a server of which the first one may be chosen."""
_MOST_UNNAMED_PAID = 4
"""The same of a provider: they have very different prices."""


class MissingError(Exception):
    """Something that Codex needs is missing: sentences that say what, and what to do."""


class Choice(NamedTuple):
    """A model that may be chosen."""

    name: str
    settings: ModelSettings
    upstream: str
    survey: Survey | None = None
    """What is behind its upstream, as far as that was looked at."""
    calls_tools: bool | None = None


def launch(looked: Looked, wanted: str | None, words: Sequence[str], *, prints: bool) -> int:
    """Runs Codex to its end; its exit code, or 1 if something is missing. `prints`: prints a profile instead."""
    try:
        program = shutil.which("codex")
        if program is None:
            raise MissingError("it is not installed. Install it with: npm install --global @openai/codex")
        if {table.via for table in looked.settings.upstreams.values()} == {"demo"} and wanted is None:
            raise MissingError("no model is configured. Add --upstream URL, or write an am-proxy.toml")
        choices = asyncio.run(_choices(looked))
        choice = _loaded(looked.settings, _chosen(looked.settings, choices, wanted), wanted)
        if prints:
            server = looked.settings.server
            key = "AM_KEY" if looked.settings.keys else ""
            searches = looked.settings.search.backend != "none"
            print(profile(Server(url_of(server.host, server.port), choice.name, key, searches)))
            return 0
        return _run(program, words, looked.settings, choices, choice)
    except (MissingError, OSError) as error:
        _say(f"cannot launch Codex: {error}")
        return 1
    except KeyboardInterrupt:
        return 130


def _say(text: str) -> None:
    print(f"am-proxy: {text}", file=sys.stderr, flush=True)


# What there is, and what is chosen


async def _choices(looked: Looked) -> list[Choice]:
    """The models that can be asked, with what their servers say of them. `*` stands for those that it does not know."""
    settings = looked.settings
    first = {name: _first_upstream(settings, model) for name, model in settings.models.items()}
    direct = {name: table for name, table in settings.upstreams.items() if table.base_url and table.via != "litellm"}
    others = [name for name in dict.fromkeys(first.values()) if name in direct and not (name == GIVEN and looked.found)]
    found = await asyncio.gather(*[look_at(direct[name], _LOOK) for name in others])
    surveys: dict[str, Survey | None] = {GIVEN: looked.found, **dict(zip(others, found, strict=True))}
    choices = []
    for name, model in settings.models.items():
        upstream = first[name]
        survey = surveys.get(upstream)
        listed = {each.name: each for each in survey.models} if survey else {}
        known = listed.get(model.names.get(upstream) or model.name or name)
        told = with_facts(model, known) if known else model
        choices.append(Choice(name, told, upstream, survey, known.calls_tools if known else None))
        if name == "*" and model.name is None:
            new = [each for each in listed.values() if each.name not in settings.models]
            choices += [Choice(each.name, with_facts(model, each), upstream, survey, each.calls_tools) for each in new]
    return choices


def _first_upstream(settings: Settings, model: ModelSettings) -> str:
    """The upstream that is asked first for a model, which may name another model instead."""
    first = model.asked[0]
    return first if first in settings.upstreams else settings.models[first].asked[0]


def _chosen(settings: Settings, choices: Sequence[Choice], wanted: str | None) -> Choice:
    """The wanted model, or the first that suits Codex. Raises `MissingError`."""
    named = {choice.name: choice for choice in choices if choice.name != "*"}
    other = next((choice for choice in choices if choice.name == "*"), None)
    if wanted is not None:
        choice = named.get(wanted) or (other and other._replace(name=wanted))
        if choice is None or (choice.survey and choice.survey.models and wanted not in named):
            raise MissingError(f'there is no model "{wanted}"{did_you_mean(wanted, named)}. There are: {_some(named)}')
    elif not named and other is not None:
        _check(settings, other)
        table = settings.upstreams[other.upstream]
        advice = GET_MODEL.get(table.provider or "", "Name one with --model")
        raise MissingError(f"{table.base_url or table.provider} lists no models. {advice}")
    else:
        fit = [each for each in named.values() if each.calls_tools is not False and not _short(each)]
        choice = fit[0] if fit else next(iter(named.values()))
        survey = choice.survey
        is_paid = survey is not None and not survey.base_url.startswith("http://")
        if choice.name not in settings.models and len(fit) > (_MOST_UNNAMED_PAID if is_paid else _MOST_UNNAMED):
            raise MissingError(
                f"there are {len(fit)} models. Choose one with --model: {_some(each.name for each in fit)}"
            )
    _check(settings, choice)
    if choice.calls_tools is False:
        able = [each.name for each in named.values() if each.calls_tools is not False]
        others = f"Choose another with --model: {_some(able)}" if able else "None of its models does"
        raise MissingError(f"the model {choice.name} calls no tools, and Codex needs them. {others}")
    return choice


def _check(settings: Settings, choice: Choice) -> None:
    """Raises `MissingError` where the server of this model cannot be asked: with a wrong key, for example."""
    if choice.survey is not None and (error := choice.survey.error) is not None:
        upstream, given = settings.upstreams[choice.upstream], choice.upstream == GIVEN
        raise MissingError(" ".join(explained(error.problem.code, error.cause, upstream, given=given)).strip())


def _loaded(settings: Settings, choice: Choice, wanted: str | None) -> Choice:
    """The same; an Ollama loads it first, and only then says how much context it gets. Raises `MissingError`."""
    survey, model = choice.survey, choice.settings
    if survey is not None and survey.provider == "ollama":
        _say(f"Ollama loads {choice.name} …")
        table = settings.upstreams[choice.upstream]
        key = table.api_key.get_secret_value() if table.api_key else ""
        there = model.names.get(choice.upstream) or model.name or choice.name
        window = asyncio.run(loaded_window(survey.base_url, key, there, within=_LOADED)) or model.context_window
        choice = choice._replace(settings=model.model_copy(update={"context_window": window}))
    if short := _short(choice):
        if wanted is None:
            raise MissingError(f"{short} --model {choice.name} tries it all the same")
        _say(short)
    return choice


def _short(choice: Choice) -> str:
    provider = choice.survey.provider if choice.survey else None
    return short_context(choice.name, choice.settings.context_window, provider)


def _some(names: Iterable[str]) -> str:
    names = list(names)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


# The server, and Codex


def _run(program: str, words: Sequence[str], settings: Settings, choices: Sequence[Choice], chosen: Choice) -> int:
    """Serves for as long as Codex runs; its exit code."""
    menu = {each.name: each for each in choices if each.name != "*" and each.calls_tools is not False}
    menu[chosen.name] = chosen
    models = {**settings.models, **{name: each.settings for name, each in menu.items()}}
    own = settings.server.model_copy(update={"host": "127.0.0.1", "workers": 1})
    settings = settings.model_copy(update={"server": own, "models": models})
    environ = _environment()
    if settings.keys:
        environ[_KEY] = key = secrets.token_urlsafe(32)
        digest = sha256(key.encode()).hexdigest()
        settings = settings.model_copy(update={"keys": [*settings.keys, KeySettings(name="launch", sha256=digest)]})
    folder = Path(tempfile.mkdtemp(prefix="am-proxy-"))
    catalogue, log_file = folder / "models.json", folder / "server.log"
    entries = [codex_model(name, each.settings, number) for number, (name, each) in enumerate(menu.items())]
    catalogue.write_text(json.dumps({"models": entries}))
    _log_to(log_file, own)
    try:
        with _serving(settings) as url:
            server = Server(url, chosen.name, _KEY if settings.keys else "", settings.search.backend != "none")
            window = chosen.settings.context_window
            context = f" with {window:,} tokens of context" if window else ""
            _say(
                f"Codex uses {chosen.name}{context}" + (f"; its menu has {len(menu) - 1} more" if len(menu) > 1 else "")
            )
            if own.kept_turns and not settings.keys:
                _say(f"watch it at {url.removesuffix('v1')} until it ends")
            return _wait_for([program, *flags(server, catalogue), *words], environ)
    finally:
        if log_file.exists():
            catalogue.unlink()
            _say(f"there were problems; the log of the server is {log_file}")
        else:
            shutil.rmtree(folder)


def _environment() -> dict[str, str]:
    """The environment for Codex, which asks no proxy for this machine."""
    environ = dict(os.environ)
    direct = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    environ["NO_PROXY"] = environ["no_proxy"] = ",".join(filter(None, [direct, "127.0.0.1"]))
    return environ


def _log_to(path: Path, server: ServerSettings) -> None:
    """Warnings go to this file, which is made by the first of them: the terminal is Codex's."""
    set_up(server)
    handler = logging.FileHandler(path, encoding="utf-8", delay=True)
    handler.setFormatter(log.handlers[0].formatter)
    log.handlers[:] = [handler]
    log.setLevel(logging.WARNING)


@contextmanager
def _serving(settings: Settings) -> Iterator[str]:
    """The base URL of a server in a thread of this process, until the block ends."""
    with socket.create_server(("127.0.0.1", 0)) as listener:  # who calls early waits
        server = uvicorn.Server(config_of(build_app(settings), settings.server))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield url_of(*listener.getsockname())
        finally:
            server.should_exit = True
            thread.join(3)


def _wait_for(command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Runs Codex on this terminal; its exit code, or 128 and the signal that ended it, as shells say it."""
    with subprocess.Popen(command, env=environ) as codex:  # noqa: S603 — the program that the user asked for

        def forward(number: int, _frame: object) -> None:
            codex.send_signal(number)

        signal.signal(signal.SIGTERM, forward)
        signal.signal(signal.SIGHUP, forward)
        signal.signal(signal.SIGINT, signal.SIG_IGN if sys.stdin.isatty() else forward)  # a terminal tells both
        code = codex.wait()
    return code if code >= 0 else 128 - code
