"""`am-proxy launch AGENT`: runs a coding agent on a model of yours, with a server of its own, and no file changed."""

import asyncio
import logging
import os
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from ..codex_catalog import ModelCard, codex_model
from ..settings import Key, Settings
from .agent_process import run_agent, version_of
from .agents import AGENTS, Agent
from .agents.agent import Target
from .init import LOCAL, local_servers
from .launched_models import ANY, FoundModels, MissingError, ModelChoice, look
from .logs import configure
from .style import colour_wanted, painted

KEY_VARIABLE: Final = "AM_LAUNCH_KEY"
"""The variable in which an agent gets the key of this run."""
_KEPT: Final = 7 * 86_400
"""Seconds for which the log of a run is kept."""
_INTERRUPTED: Final = 130
_HERE: Final = "127.0.0.1"
_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy")


def launch(agent_name: str, settings: Settings, model: str | None, arguments: Sequence[str]) -> int:
    """Start the server and the agent. Returns the agent's exit code, or 1 if something is missing."""
    agent = AGENTS[agent_name]
    try:
        program = _program(agent)
        found, version = asyncio.run(_look(settings, program))
        _check_version(agent, version)
        choice = found.choose(agent, model)
        return _run(agent, [program, *arguments], found, choice)
    except MissingError as error:
        print(_said(f"cannot launch {agent.title}: {error}", "red"), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED


def _program(agent: Agent) -> str:
    found = shutil.which(agent.program)
    if found is None:
        raise MissingError(f"the command {agent.program} is not installed; install it with: {agent.install}")
    return found


async def _look(settings: Settings, program: str) -> tuple[FoundModels, tuple[int, ...] | None]:
    """Look at the upstreams and, at the same time, at the agent."""
    if not settings.models or {upstream.via for upstream in settings.upstreams.values()} == {"demo"}:
        raise MissingError(_no_model())
    return await asyncio.gather(look(settings), asyncio.to_thread(version_of, program))


def _no_model() -> str:
    """There is no configuration: what to do, which depends on what runs here."""
    servers = local_servers()
    name, url = next(iter(servers.items()), ("", ""))
    found = f" Something listens where {name} usually does: --upstream {url}" if name else ""
    ports = "" if found else f" No server was found on its usual port ({', '.join(map(str, LOCAL.values()))})."
    return f"no model is configured: add --upstream URL, or write a configuration with am-proxy init.{found}{ports}"


def _check_version(agent: Agent, version: tuple[int, ...] | None) -> None:
    if version is not None and version < agent.oldest:
        found, oldest = (".".join(map(str, numbers)) for numbers in (version, agent.oldest))
        raise MissingError(f"it is version {found}, and {oldest} or newer is needed; update it with: {agent.install}")


def _run(agent: Agent, command: Sequence[str], found: FoundModels, choice: ModelChoice) -> int:
    from .launched_server import listed_at, own_server  # noqa: PLC0415 — it takes half a second, and may not be needed

    for remark in found.remarks:
        if remark.is_warning:
            print(_said(remark.message, "yellow"), file=sys.stderr)
    if choice.warning:
        print(_said(choice.warning, "yellow"), file=sys.stderr)
    settings, key = _with_key(found.settings)
    screen = sys.stderr
    with _folder(agent) as folder:
        log = folder / "server.log"
        problems = _Problems()
        try:
            with _logged(log, settings, problems), own_server(settings) as url:
                catalogue = _catalogue(listed_at(url, key).models, found, choice)
                target = Target(url, choice.name, catalogue, KEY_VARIABLE if key else "")
                setup = agent.setup(target, folder)
                for name, text in setup.files.items():
                    (folder / name).write_text(text, encoding="utf-8")
                print(_said(_start(agent, target, choice)), file=screen, flush=True)
                program, *arguments = command
                return run_agent([program, *setup.flags, *arguments], _environment(setup.environ, key))
        finally:
            if problems.seen:
                print(_said(f"there were problems; the log of the server is {log}", "yellow"), file=sys.stderr)
            else:
                log.unlink(missing_ok=True)


def _catalogue(listed: Sequence[Mapping[str, Any]], found: FoundModels, choice: ModelChoice) -> list[Mapping[str, Any]]:
    """The models for the agent: those that call tools, and the chosen one even if the server lists none."""
    entries = [entry for entry in listed if entry["slug"] not in found.unable]
    if all(entry["slug"] != choice.name for entry in entries):
        wildcard = found.settings.models.get(ANY)
        entries.append(codex_model(choice.name, ModelCard(wildcard) if wildcard else ModelCard(), len(entries)))
    return entries


def _start(agent: Agent, target: Target, choice: ModelChoice) -> str:
    """What is started, in a line."""
    context = f" ({choice.context_window:,} tokens of context)" if choice.context_window else ""
    others = len([entry for entry in target.catalogue if entry["slug"] != choice.name])
    more = f"; {others} more in its menu" if others else ""
    return f"{agent.title} with {choice.name}{context}{more}, through {target.base_url}"


def _with_key(settings: Settings) -> tuple[Settings, str | None]:
    """The settings with a key for this run, if they want keys at all."""
    if not settings.keys:
        return settings, None
    key = f"am-{secrets.token_urlsafe(32)}"
    own = Key("launch", sha256(key.encode()).digest())
    return replace(settings, keys=(*settings.keys, own)), key


def _environment(added: Mapping[str, str], key: str | None) -> dict[str, str]:
    """The agent's environment. No proxy is asked for this machine."""
    environ = {**os.environ, **added}
    if key is not None:
        environ[KEY_VARIABLE] = key
    if any(name.lower() in _PROXIES for name in environ):
        direct = [name for name in (environ.get("NO_PROXY") or environ.get("no_proxy") or "").split(",") if name]
        environ["NO_PROXY"] = environ["no_proxy"] = ",".join(dict.fromkeys([*direct, _HERE]))
    return environ


@contextmanager
def _folder(agent: Agent) -> Iterator[Path]:
    """A new folder for the files of this run, in the user's cache. At the end only a log stays, for a week."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    parent = Path(cache) / "am-proxy" / "launch"
    parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for old in parent.iterdir():
        if old.is_dir() and old.stat().st_mtime < time.time() - _KEPT:
            shutil.rmtree(old, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{agent.program}-", dir=parent))
    try:
        yield folder
    finally:
        for file in folder.iterdir():
            if file.suffix != ".log":
                file.unlink()
        if not any(folder.iterdir()):
            folder.rmdir()


class _Problems(logging.Handler):
    """Remembers whether anything went wrong."""

    seen = False

    def emit(self, record: logging.LogRecord) -> None:
        """Look at a record: a warning, or the line of a turn that failed."""
        failed = getattr(record, "fields", {}).get("finish") in {"failed", "refused"}
        self.seen = self.seen or failed or record.levelno >= logging.WARNING


@contextmanager
def _logged(log: Path, settings: Settings, problems: _Problems) -> Iterator[None]:
    """Write the server's log, and whatever else this process prints, to a file: the screen is the agent's."""
    with log.open("w", encoding="utf-8", buffering=1) as file, redirect_stdout(file), redirect_stderr(file):
        form = settings.server.log_format
        configure("text" if form == "auto" else form, settings.server.log_level)
        logging.getLogger().addHandler(problems)
        try:
            yield
        finally:
            logging.getLogger().handlers.clear()  # the file is closed


def _said(text: str, *styles: Any) -> str:
    return painted(f"am-proxy: {text}", *styles, colour=colour_wanted(sys.stderr))
