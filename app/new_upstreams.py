"""Makes the client of each configured upstream, which may answer from recordings."""

import asyncio
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, assert_never

from .http_client.keep import KEEP, Keep
from .observers.recorded_settings import recorded_upstream
from .recordings.reading import NoRecordingError
from .recordings.recorded_answers import AnswersByAsk, RecordedAnswers, recordings_of
from .settings import Settings, Upstream
from .upstreams.messages_address import messages_address
from .upstreams.port import AnyUpstream

if TYPE_CHECKING:
    from .upstreams.http_server import HttpServer

GRACE: Final = 5
"""Seconds by which a timeout of the HTTP client is longer than ours, which has the better message."""
_SHOWN: Final = 8
"""Names of upstreams in a message."""


class Clients(NamedTuple):
    """What makes the clients of upstreams."""

    demo: Callable[[], AnyUpstream]
    litellm: Callable[..., AnyUpstream]
    http: "Callable[[], Callable[..., HttpServer]]"
    """Returns what makes the client of one address. Its library takes 0.15 s and 7 MB, only where it is used."""


class NewUpstreams(NamedTuple):
    """All upstreams of the settings."""

    settings: Settings
    """The settings, with upstreams that answer from recordings as they were recorded."""
    upstreams: dict[str, AnyUpstream]
    replayed: frozenset[str]
    """The names of those that answer from recordings."""


def new_upstreams(settings: Settings) -> NewUpstreams:
    """Makes all upstreams. Raises `NoRecordingError` for unfit recordings."""
    keep = Keep(settings.server.upstream_idle_connections, settings.server.upstream_idle)
    clients = dict.fromkeys(settings.upstreams, PLAIN)
    tables = dict(settings.upstreams)
    for name, upstream in settings.upstreams.items():
        if upstream.via == "replay":
            tables[name], answers = replayed_upstream(name, upstream)
            clients[name] = replayed_clients(answers, keeps_pace=upstream.recorded_pace)
    return NewUpstreams(
        replace(settings, upstreams=tables),
        {name: upstream_of(table, keep, clients[name]) for name, table in tables.items()},
        frozenset(name for name, upstream in settings.upstreams.items() if upstream.via == "replay"),
    )


def replayed_upstream(name: str, upstream: Upstream) -> tuple[Upstream, AnswersByAsk]:
    """The upstream as it was recorded, with the time limits of this one, and its answers.

    Raises `NoRecordingError` if it cannot be read, or if several upstreams were recorded and none has this name.
    """
    folder = Path(upstream.recordings).expanduser()
    recordings = recordings_of(folder)
    tables = {
        other: table
        for _, recording in recordings
        for other, table in recording.about.settings.get("upstreams", {}).items()
        if other in recording.about.upstreams
    }
    chosen = name if name in tables else next(iter(tables), "")
    if not tables or (len(tables) > 1 and name not in tables):
        some = ", ".join(sorted(tables)[:_SHOWN]) or "no upstream that was asked"
        raise NoRecordingError(f"{folder} has recordings of {some}: name [upstreams.{name}] like one of these")
    own = upstream.model_dump(exclude_unset=True, exclude={"via", "recordings", "recorded_pace"})
    try:
        return recorded_upstream({**tables[chosen], **own}), AnswersByAsk(recordings, chosen)
    except (ValueError, TypeError, AttributeError) as error:
        problem = str(error).split("\n")[0][:200]
        raise NoRecordingError(f"{folder}: its settings are not understood: {problem}") from None


def upstream_of(upstream: Upstream, keep: Keep = KEEP, clients: Clients | None = None) -> AnyUpstream:
    """Make the upstream that is configured. The caller closes it."""
    clients = clients or PLAIN
    api_key = None if upstream.api_key is None else upstream.api_key.reveal()
    connection: dict[str, Any] = {
        "api_key": api_key,
        "connect": upstream.connect_timeout,
        "timeout": max(upstream.timeout, upstream.first_payload_timeout or 0) + GRACE,
        "keep": keep,
    }
    address = upstream.base_url or ""
    match upstream.via:
        case "demo":
            return clients.demo()
        case "chat":
            from .upstreams.http_chat import HttpChat  # noqa: PLC0415 — as `Clients.http` says

            return HttpChat(address, compat=upstream, new_server=clients.http(), **connection)
        case "messages":
            from .upstreams.http_messages import HttpMessages  # noqa: PLC0415 — as above

            return HttpMessages(
                messages_address(address),
                key_header=upstream.key_header,
                betas=upstream.betas,
                new_server=clients.http(),
                **connection,
            )
        case "responses":
            from .upstreams.native_responses import NativeResponses  # noqa: PLC0415 — as above

            return NativeResponses(address, new_server=clients.http(), **connection)
        case "litellm":
            return clients.litellm(upstream.provider, base_url=upstream.base_url, **connection)
        case "replay":
            raise AssertionError  # pragma: no cover — `new_upstreams` replaces it
        case other:
            assert_never(other)


def replayed_clients(answers: RecordedAnswers, *, keeps_pace: bool = False) -> Clients:
    """The clients of an upstream whose answers are recorded."""
    from .upstreams.replayed_chunks import ReplayedDemo, ReplayedLitellm  # noqa: PLC0415 — as above

    def servers() -> "Callable[..., HttpServer]":
        from .upstreams.replayed_http import ReplayedServer  # noqa: PLC0415 — as above

        return partial(ReplayedServer, answers=answers, keeps_pace=keeps_pace)

    return Clients(
        partial(ReplayedDemo, answers, keeps_pace=keeps_pace),
        partial(ReplayedLitellm, answers=answers, keeps_pace=keeps_pace),
        servers,
    )


def warming_litellm(settings: Settings) -> "asyncio.Task[None] | None":
    """The task that loads litellm in the background, if an upstream is behind it."""
    behind = [each for each in settings.upstreams.values() if each.via == "litellm"]
    if not behind:
        return None
    from .upstreams.litellm_ask import sends_as_is  # noqa: PLC0415 — as above
    from .upstreams.litellm_chat import warm  # noqa: PLC0415 — as above

    translates = not all(sends_as_is(each.provider, each.base_url) for each in behind)
    return asyncio.create_task(asyncio.to_thread(warm, translates=translates))


async def close_litellm() -> None:
    """Closes litellm's connections, if any configuration has used it."""
    if f"{__package__}.upstreams.litellm_chat" in sys.modules:
        from .upstreams.litellm_chat import close_connections  # noqa: PLC0415 — it is there

        await close_connections()


def _http_server() -> "Callable[..., HttpServer]":
    from .upstreams.http_server import HttpServer  # noqa: PLC0415 — as above

    return HttpServer


def _demo() -> AnyUpstream:
    from .upstreams.demo import Demo  # noqa: PLC0415 — as above

    return Demo()


def _litellm(*given: Any, **named: Any) -> AnyUpstream:
    from .upstreams.litellm_chat import LitellmChat  # noqa: PLC0415 — as above

    return LitellmChat(*given, **named)


PLAIN: Final = Clients(_demo, _litellm, _http_server)
