"""`am-proxy launch codex`: runs Codex on models of yours, and changes none of its files."""

import asyncio
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import uvicorn

from ..api.pages import codex_model
from ..app import build_app
from ..catalog import with_facts
from ..observe.log import set_up
from ..providers.table import PROVIDERS
from ..settings.load import Settings
from ..settings.tables import KeySettings, ModelSettings
from ..settings.values import did_you_mean
from ..upstreams.model_list import ListedModel
from ..upstreams.survey import Survey, loaded_window, survey
from .advice import GET_MODEL, explained, short_context, some, tell
from .codex import Server, flags, profile
from .serve import config_of, url_of
from .upstream_flag import Looked

_KEY = "AM_LAUNCH_KEY"
"""The variable in which Codex gets the key of this run."""
_LOOK = 5
"""Seconds that a look at a server may take."""
_LOADED = 60
"""Seconds that loading a model may take."""
_USUAL = sorted({each.base_url for each in PROVIDERS if each.base_url and "127.0.0.1" in each.base_url})
_USUAL += [f"http://127.0.0.1:{port}/v1" for port in (8080, 8081)]
"""Where servers of models listen: llama.cpp at our own port, or beside it."""
_MOST_PROBLEMS = 3
"""Problems that are told at the end."""
_MOST_UNNAMED = 20
"""Models of a server of which the first one may be chosen: those of a provider have very different prices."""


class MissingError(Exception):
    """Something that Codex needs is missing: sentences that say what, and what to do."""


class Choice(NamedTuple):
    """A model that may be chosen."""

    name: str
    settings: ModelSettings
    upstream: str
    survey: Survey
    """What is behind its upstream."""
    calls_tools: bool | None = None

    @property
    def short(self) -> str:
        """What is said of its context, if that is too short."""
        return short_context(self.name, self.settings.context_window, self.survey.provider)


def launch(looked: Looked, wanted: str | None, words: Sequence[str], *, prints: bool) -> int:
    """Runs Codex to its end; its exit code, or 1 if something is missing. `prints`: prints a profile instead."""
    settings = looked.settings
    try:
        if not prints and shutil.which("codex") is None:
            raise MissingError("it is not installed. Install it with: npm install --global @openai/codex")
        if {table.via for table in settings.upstreams.values()} == {"demo"} and wanted is None:
            raise MissingError(f"no model is configured. {asyncio.run(_running())}")
        choices = _choices(settings, asyncio.run(looked.surveys(_LOOK)))
        choice = _loaded(settings, _chosen(settings, choices, wanted), wanted)
        if not prints:
            return _run(words, settings, choices, choice)
        url = url_of(settings.server.host, settings.server.port)
        server = Server(url, choice.name, "AM_KEY" if settings.keys else "", settings.search.backend != "none")
        print(profile(server))
    except (MissingError, OSError) as error:
        _say(f"cannot launch Codex: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _say(text: str) -> None:
    tell(f"am-proxy: {text}")


# What there is, and what is chosen


async def _running() -> str:
    """What to do where nothing is configured: the server of a model may run on its usual port."""
    for found in await asyncio.gather(*[survey(url, "", within=1) for url in _USUAL]):
        if found.models and "chat" not in found.lacks:  # as another AM Proxy does
            return f"{found.provider or 'A server'} runs here: --upstream {found.base_url}"
    return "Add --upstream URL, or write an am-proxy.toml"


def _choices(settings: Settings, surveys: Mapping[str, Survey]) -> list[Choice]:
    """The models of the configuration and those that the server of `*` lists, with what servers say of them."""
    choices = []
    for name, model in settings.models.items():
        first = model.asked[0]
        ways = (first,) if first in surveys else settings.models[first].asked
        upstream = next(way for way in ways if way in surveys)
        found = surveys[upstream]
        listed = {each.name: each for each in found.models}
        known = listed.get(model.called(upstream, name), ListedModel(name))
        choices.append(Choice(name, with_facts(model, known), upstream, found, known.calls_tools))
        if name == "*" and model.name is None:
            new = [each for each in listed.values() if each.name not in settings.models]
            choices += [Choice(each.name, with_facts(model, each), upstream, found, each.calls_tools) for each in new]
    return choices


def _chosen(settings: Settings, choices: Sequence[Choice], wanted: str | None) -> Choice:
    """The wanted model, or the first that suits Codex. Raises `MissingError`."""
    named = {choice.name: choice for choice in choices if choice.name != "*"}
    able = [each for each in named.values() if each.calls_tools is not False]
    fit = [each for each in able if not each.short]
    other = next((choice for choice in choices if choice.name == "*"), None)
    choice = named.get(wanted or "") or next(iter([*fit, *named.values()]), other)
    if wanted is not None and wanted not in named:
        choice = other and other._replace(name=wanted)
        if other is None or other.survey.models:
            near = did_you_mean(wanted, named)
            raise MissingError(f'there is no model "{wanted}"{near}. There are: {some([*named])}')
    assert choice is not None  # noqa: S101 — a configuration has models
    upstream, error = settings.upstreams[choice.upstream], choice.survey.error
    if error is not None:
        raise MissingError(explained(error.problem.code, error.cause, upstream))
    if choice.name == "*":
        advice = GET_MODEL.get(choice.survey.provider or "", "Name one with --model")
        raise MissingError(f"{upstream.base_url or upstream.provider} lists no models. {advice}")
    if choice.calls_tools is False:
        others = f"Choose another with --model: {some([each.name for each in able])}" if able else "None of them does"
        raise MissingError(f"the model {choice.name} calls no tools, and Codex needs them. {others}")
    if wanted is None and choice.name not in settings.models and len(fit) > _MOST_UNNAMED:
        names = some([each.name for each in fit])
        raise MissingError(f"there are {len(fit)} models. Choose one with --model: {names}")
    return choice


def _loaded(settings: Settings, choice: Choice, wanted: str | None) -> Choice:
    """The same; an Ollama loads it first, and only then says how much context it gets. Raises `MissingError`."""
    found, model = choice.survey, choice.settings
    if found.provider == "ollama":
        _say(f"Ollama loads {choice.name} …")
        table = settings.upstreams[choice.upstream]
        key = table.api_key.get_secret_value()
        there = model.called(choice.upstream, choice.name)
        window = asyncio.run(loaded_window(found.base_url, key, there, within=_LOADED)) or model.context_window
        choice = choice._replace(settings=model.model_copy(update={"context_window": window}))
    if choice.short:
        if wanted is None:
            raise MissingError(f"{choice.short} --model {choice.name} tries it all the same")
        _say(choice.short)
    return choice


# The server, and Codex


def _run(words: Sequence[str], settings: Settings, choices: Sequence[Choice], chosen: Choice) -> int:
    """Serves for as long as Codex runs; its exit code."""
    menu = {each.name: each for each in choices if each.name != "*" and each.calls_tools is not False}
    menu[chosen.name] = chosen
    models = {**settings.models, **{name: each.settings for name, each in menu.items()}}
    own = settings.server.model_copy(update={"host": "127.0.0.1", "workers": 1, "log_level": "info"})
    always = {"breaker_failures": 0}  # Codex would wait without a word for a server that is left alone
    upstreams = {name: table.model_copy(update=always) for name, table in settings.upstreams.items()}
    settings = settings.model_copy(update={"server": own, "models": models, "upstreams": upstreams})
    environ = _environment()
    if settings.keys:
        environ[_KEY] = key = secrets.token_urlsafe(32)
        launched = KeySettings.model_validate({"name": "launch", "value": key})
        settings = settings.model_copy(update={"keys": [*settings.keys, launched]})
    folder = Path(tempfile.mkdtemp(prefix="am-proxy-"))
    catalogue, log_file = folder / "models.json", folder / "server.log"
    try:
        entries = [codex_model(name, each.settings, number) for number, (name, each) in enumerate(menu.items())]
        catalogue.write_text(json.dumps({"models": entries}))
        set_up(own, log_file)  # the terminal is Codex's
        with _serving(settings) as url:
            server = Server(url, chosen.name, _KEY if settings.keys else "", settings.search.backend != "none")
            window = chosen.settings.context_window
            context = f" with {window:,} tokens of context" if window else ""
            more = f"; its menu has {len(menu) - 1} more" if len(menu) > 1 else ""
            _say(f"Codex uses {chosen.name}{context}{more}")
            if own.kept_turns and not settings.keys:
                _say(f"watch it at {url.removesuffix('v1')} until it ends")
            return _wait_for(["codex", *flags(server, catalogue), *words], environ)
    finally:
        if problems := _problems(log_file):
            catalogue.unlink()
            for problem in problems[-_MOST_PROBLEMS:]:
                _say(problem)
            _say(f"there were problems; the log of the server is {log_file}")
        else:
            shutil.rmtree(folder)


def _problems(log_file: Path) -> list[str]:
    """The causes of what failed, each once, the last one at the end."""
    lines = [json.loads(line) for line in log_file.read_text().splitlines()] if log_file.exists() else []
    failed = [line for line in lines if line["level"] != "info" or "cause" in line]
    return [*dict.fromkeys(line.get("cause", line["message"]) for line in reversed(failed))][::-1]


def _environment() -> dict[str, str]:
    """The environment for Codex, which asks no proxy for this machine."""
    environ = dict(os.environ)
    direct = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    environ["NO_PROXY"] = environ["no_proxy"] = ",".join(filter(None, [direct, "127.0.0.1"]))
    return environ


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
