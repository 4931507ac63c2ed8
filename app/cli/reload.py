"""Reloads the settings while the server runs. Requests that run already keep the settings they started with."""

import logging
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..application import Application, CurrentApplication
from ..main import CannotStartError, build_app
from ..settings import ConfigMistakesError, Server, Settings
from ..shared_state import SharedState
from .given_upstream import Remark, settled
from .logs import configure

log = logging.getLogger("am_proxy")

NEEDS_RESTART = {
    "drain_delay": "",
    "header_timeout": "",
    "host": "",
    "max_body_bytes": "for websockets",
    "max_header_bytes": "",
    "port": "",
    "send_timeout": "for HTTP",
    "shutdown_grace": "",
    "workers": "",
}
"""Settings that a reload does not change, or changes only in part: the server was started with them."""


async def reload(current: CurrentApplication, settings: Settings, read: Callable[[], Settings]) -> Settings:
    """Read the settings again and serve with them. If the new ones have errors, the running ones are kept.

    They are applied as a whole or not at all: every step that may fail is done before anything is changed.
    """
    checked = await checked_settings(settings, read, current.application.shared)
    if checked is None:
        return settings
    new, remarks, application = checked
    say(remarks)
    await current.swap(application)
    configure(new.server.log_format, new.server.log_level)
    say_reloaded(settings.server, new.server)
    return new


class Checked(NamedTuple):
    """New settings, with which the server can run."""

    settings: Settings
    remarks: list[Remark]
    application: Application


async def checked_settings(
    settings: Settings, read: Callable[[], Settings], shared: SharedState | None
) -> Checked | None:
    """The new settings; None if they have errors, which are logged. Nothing is changed."""
    try:
        new, remarks = await settled(read(), settings)
        return Checked(new, remarks, build_app(new, shared))
    except ConfigMistakesError as error:
        for mistake in error.mistakes:
            log.error("configuration not reloaded, keeping the old one: %s", mistake)  # noqa: TRY400 — as below
    except CannotStartError as error:
        log.error("configuration not reloaded, keeping the old one: %s", error)  # noqa: TRY400 — the message is enough
    except Exception:
        log.exception("configuration not reloaded, keeping the old one")
    return None


def say(remarks: Iterable[Remark]) -> None:
    """Log what an operator should know."""
    for remark in remarks:
        log.log(logging.WARNING if remark.is_warning else logging.INFO, remark.message)


def say_reloaded(old: Server, new: Server) -> None:
    """Log that the new settings are in use, and which of them are not."""
    if waiting := _waiting(old, new):
        log.warning("configuration reloaded; %s only after a restart", waiting)
    else:
        log.info("configuration reloaded")


def _waiting(old: Server, new: Server) -> str:
    """The changed settings that need a restart, as the start of a sentence."""
    names = [name for name in NEEDS_RESTART if getattr(old, name) != getattr(new, name)]
    parts = [f"{name} {NEEDS_RESTART[name]}" for name in names if NEEDS_RESTART[name]]
    verb = "takes effect" if len(names) == 1 else "take effect"
    settings = ", ".join(f"server.{name}" for name in names)
    return f"{settings} {verb}" + (f" (in part: {', '.join(parts)})" if parts else "") if names else ""
