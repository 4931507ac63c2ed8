"""`am-proxy launch AGENT`: runs a coding agent on models of yours, and changes none of its files."""

import asyncio
import os
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, Final

from ..codex_catalog import ModelCard, codex_model
from ..settings import Settings
from ..settings.configuration import DEMO_MODELS
from ..settings.sources import ENVIRONMENT_KEY
from ..upstreams.local_servers import find_local_servers, usual_ports
from .agent_process import Reported, run_agent, version_of
from .agents import AGENTS
from .agents.agent import Target
from .banner import address
from .launched_models import ANY, FoundModels, MissingError, ModelChoice, look, models_of
from .launched_server import Cards, ReachedServer, own_server, running_server
from .logs import columns_of
from .run_folder import logged, run_folder, write
from .style import Style, colour_wanted, painted

_INTERRUPTED: Final = 130
_HERE: Final = "127.0.0.1"
_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy")


class Launch:
    """One run of the command."""

    def __init__(self, flags: Mapping[str, Any]) -> None:
        self._flags = flags
        self._agent = AGENTS[flags["agent"]]
        self._screen = sys.stderr
        self._version: tuple[int, ...] = ()
        """That of the agent; empty if it does not say."""

    def run(self, settings: Settings) -> int:
        """Start the server and the agent. Returns the agent's exit code, or 1 if something is missing."""
        try:
            program = self._program()
            running = self._running(settings)
            found, reported = asyncio.run(self._look(settings, program, running))
            self._check_version(reported)
            self._version = reported.version or ()
            choice = found.choose(self._agent, self._flags["model"])
            if running is None:
                named = self._flags["model"] is not None
                found, choice = asyncio.run(found.loaded(self._agent, choice, named=named, say=self._say))
            for remark in [*(each.message for each in found.remarks if each.is_warning), choice.warning]:
                if remark:
                    self._say(remark, "yellow")
            if self._flags["print"]:
                return self._print(settings, choice, running)
            return self._start(program, found, choice, running)
        except MissingError as error:
            self._say(f"cannot launch {self._agent.title}: {error}", "red")
            return 1
        except KeyboardInterrupt:
            return _INTERRUPTED

    def _program(self) -> str:
        found = shutil.which(self._agent.program)
        if found is None:
            install = self._agent.install
            raise MissingError(f"the command {self._agent.program} is not installed; install it with: {install}")
        return found

    def _running(self, settings: Settings) -> ReachedServer | None:
        """The server that runs already, if it was named by its port, or nothing else is configured."""
        named = self._flags["port"] is not None
        alone = _is_bare(settings) and self._flags["model"] not in DEMO_MODELS
        if not (named or alone) or not settings.server.port:
            return None
        try:
            return running_server(settings.server.host, settings.server.port)
        except MissingError:
            if named:
                raise
            return None

    async def _look(
        self, settings: Settings, program: str, running: ReachedServer | None
    ) -> tuple[FoundModels, Reported]:
        """Look at the upstreams and, at the same time, at the agent."""
        version = asyncio.to_thread(version_of, program)
        if not _is_bare(settings) or self._flags["model"] in DEMO_MODELS:
            found, read = await asyncio.gather(look(settings), version)
        elif running is not None:
            found, read = models_of(running.models, settings), await version
        else:
            version.close()
            raise MissingError(await _no_model())
        if running is not None:
            served = {entry["slug"] for entry in running.models}
            if not found.names or not found.names <= served:
                names = ", ".join(sorted(served)[:6]) or "none"
                advice = "leave --port out, so that a server of its own is started"
                raise MissingError(f"the AM Proxy at {running.base_url} serves other models ({names}): {advice}")
        return found, read

    def _check_version(self, reported: Reported) -> None:
        agent, version = self._agent, reported.version
        if reported.trouble:
            raise MissingError(f"{reported.trouble}; install it again with: {agent.install}")
        if version is None:
            return
        if version < agent.oldest:
            message = f"it is version {_dotted(version)}, and {_dotted(agent.oldest)} or newer is needed"
            raise MissingError(f"{message}; update it with: {agent.install}")
        if version < agent.menu_since:
            self._say(
                f"{agent.title} {_dotted(version)} shows models of its own in its menu, which do not work; "
                f"{_dotted(agent.menu_since)} and newer show yours",
                "yellow",
            )

    def _start(self, program: str, found: FoundModels, choice: ModelChoice, running: ReachedServer | None) -> int:
        """Run the agent to its end."""
        settings = self._own_settings(found)
        with run_folder(self._agent.program) as folder:
            log = folder / "server.log"
            try:
                with logged(log, settings.server), _server(settings, running) as server:
                    target = self._target(server, found, choice)
                    setup = self._agent.setup(target, folder)
                    write(folder, setup.files)
                    self._say_start(target, choice, runs=running is not None)
                    environ = _environment(server.environ)
                    return run_agent([program, *setup.flags, *self._flags["arguments"]], environ)
            except OSError as error:
                raise MissingError(str(error)) from error
            finally:
                if log.exists():
                    self._say(f"there were problems; the log of the server is {log}", "yellow")

    def _own_settings(self, found: FoundModels) -> Settings:
        """The settings for a server of its own: for this machine, on the given port or any."""
        port = found.settings.server.port if self._flags["port"] is not None else 0
        server = found.settings.server.model_copy(update={"host": _HERE, "port": port})
        return replace(found.settings, server=server)

    def _say_start(self, target: Target, choice: ModelChoice, *, runs: bool) -> None:
        """Say what is started."""
        context = f" with {choice.context_window:,} tokens of context" if choice.context_window else ""
        others = len(target.catalogue) - 1
        menu = f"; its menu has {others} more" if others else ""
        self._say(f"{self._agent.title} uses {choice.name}{context}{menu}")
        life = "runs already" if runs else f"ends with {self._agent.title}"
        self._say(f"the server {life}: {target.base_url}")

    def _print(self, settings: Settings, choice: ModelChoice, running: ReachedServer | None) -> int:
        """Print the agent's profile for a server on the configured port."""
        searches = running.searches if running else settings.search.backend != "none"
        key = ENVIRONMENT_KEY if settings.keys or (running and running.environ) else ""
        url = address(settings.server.host, settings.server.port)
        print(self._agent.profile(Target(url, choice.name, (), key, searches=searches and self._can_search)))
        return 0

    def _target(self, server: ReachedServer, found: FoundModels, choice: ModelChoice) -> Target:
        """What the agent is told: models that call tools, and the chosen one even if the server lists none."""
        entries: Cards = [entry for entry in server.models if entry["slug"] not in found.unable]
        if all(entry["slug"] != choice.name for entry in entries):
            wildcard = found.settings.models.get(ANY)
            card = ModelCard(wildcard) if wildcard else ModelCard()
            entries = [*entries, codex_model(choice.name, card, len(entries))]
        searches = server.searches and self._can_search
        return Target(server.base_url, choice.name, entries, next(iter(server.environ), ""), searches=searches)

    @property
    def _can_search(self) -> bool:
        return bool(self._agent.searches_since) and self._version >= self._agent.searches_since

    def _say(self, text: str, *styles: Style) -> None:
        text = f"am-proxy: {text}"
        if columns := columns_of(self._screen):
            text = textwrap.fill(text, columns, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        print(painted(text, *styles, colour=colour_wanted(self._screen)), file=self._screen, flush=True)


def _is_bare(settings: Settings) -> bool:
    """Whether nothing is configured but the embedded model."""
    return settings.models == DEMO_MODELS and settings.file is None


async def _no_model() -> str:
    """What to do without a configuration, which depends on what runs here."""
    here = await find_local_servers()
    found = f" {here[0].title} runs here: --upstream {here[0].base_url}" if here else ""
    ports = "" if found else f" No server was found on the usual ports ({usual_ports()})."
    return f"no model is configured: add --upstream URL, or write a configuration, am-proxy.toml.{found}{ports}"


def _server(settings: Settings, running: ReachedServer | None) -> AbstractContextManager[ReachedServer]:
    return own_server(settings) if running is None else nullcontext(running)


def _environment(added: Mapping[str, str]) -> dict[str, str]:
    """The agent's environment. No proxy is asked for this machine."""
    environ = {**os.environ, **added}
    if any(name.lower() in _PROXIES for name in environ):
        direct = [name for name in (environ.get("NO_PROXY") or environ.get("no_proxy") or "").split(",") if name]
        environ["NO_PROXY"] = environ["no_proxy"] = ",".join(dict.fromkeys([*direct, _HERE]))
    return environ


def _dotted(version: Sequence[int]) -> str:
    return ".".join(map(str, version))
