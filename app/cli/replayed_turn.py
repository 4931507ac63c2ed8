"""Runs the request of a recording once more, with the recorded answers of its upstreams, and records that."""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from itertools import count
from typing import Any, Final

from ..json_text import json_bytes
from ..main import grammar_checker_of
from ..new_upstreams import replayed_clients, upstream_of
from ..observers.folder_recorder import FolderRecorder
from ..observers.recorded_settings import settings_of
from ..protocol.problems import ProblemError
from ..recordings.comparison import Difference, compared
from ..recordings.readable_seals import ReadableSeals
from ..recordings.reading import NoRecordingError
from ..recordings.recorded_answers import AnswersInOrder, was_silent
from ..recordings.recording import Recording
from ..settings import Settings
from ..transports.auth import ANYONE
from ..transports.http_turns import FAILED, last_event
from ..turns.limits import Limits
from ..turns.quota import Quota
from ..turns.service import TurnService
from ..turns.upstream_log import UpstreamLog
from ..wiring import build_catalogue

_MOST_BYTES: Final = 256 * 1024 * 1024
"""Bytes of one replay."""
_TIME_LIMIT: Final = 1.0
"""Seconds for an upstream that was silent then: it is silent again."""
_FOREVER: Final = 3600


class NotReplayedError(Exception):
    """A recording cannot be replayed; the text says why, without its last period."""


async def differences(recording: Recording, *, keeps_pace: bool = False) -> list[Difference]:
    """Where today's turn differs from the recorded one. Raises `NotReplayedError` or `NoRecordingError`."""
    return compared(recording, await replayed(recording, keeps_pace=keeps_pace))


async def replayed(recording: Recording, *, keeps_pace: bool = False) -> Recording:
    """The same request, answered by today's code. Raises as `differences`."""
    about = recording.about
    if about.left_out or recording.request is None:
        raise NotReplayedError("not all of it was recorded: " + " ".join(about.left_out).rstrip("."))
    if about.outcome.get("searches") or about.outcome.get("opened_pages"):
        raise NotReplayedError("it searched the web, and what was found is not recorded")
    writer = _KeptRecording()
    settings = _settings(recording, keeps_pace=keeps_pace)
    recorder = FolderRecorder(writer, lambda _: about.settings, _MOST_BYTES)
    service = _service(recording, settings, recorder, keeps_pace=keeps_pace)
    with suppress(ProblemError):
        await _run(recording, service)
    await recorder.close()
    if writer.made is None:
        raise NotReplayedError("its request is not understood any more")
    return writer.made


class _KeptRecording:
    """Keeps the recording instead of writing it."""

    def __init__(self) -> None:
        self.made: Recording | None = None

    def write(self, owner: str, key: str, make: Callable[[], Recording], at_end: Callable[[], None]) -> None:  # noqa: ARG002 — as a writer has it
        """Keeps what `make` returns."""
        self.made = make()
        at_end()

    def say_once(self, what: str, message: str, *arguments: object) -> None:
        """Says nothing."""

    async def close(self) -> None:
        """Nothing waits."""


def _settings(recording: Recording, *, keeps_pace: bool) -> Settings:
    kept: dict[str, Any] = recording.about.settings
    try:
        if not keeps_pace and any(was_silent(recording, each) for each in recording.exchanges):
            limits = {"timeout": _TIME_LIMIT, "first_payload_timeout": _TIME_LIMIT}
            kept = {**kept, "upstreams": {name: {**table, **limits} for name, table in kept["upstreams"].items()}}
        return settings_of(kept, recording.about.model)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        problem = str(error).split("\n")[0][:200]
        raise NoRecordingError(f"recording.json: its settings are not understood: {problem}") from None


def _service(recording: Recording, settings: Settings, recorder: FolderRecorder, *, keeps_pace: bool) -> TurnService:
    upstreams = {
        name: upstream_of(upstream, clients=replayed_clients(AnswersInOrder(recording, name), keeps_pace=keeps_pace))
        for name, upstream in settings.upstreams.items()
    }
    numbers = count(1)
    return TurnService(
        catalogue=build_catalogue(settings, upstreams, None if settings.seal.when == "never" else ReadableSeals()),
        limits=Limits(settings.server.max_turns),
        waiting=Quota(_MOST_BYTES, _MOST_BYTES),
        server=settings.server,
        new_id=lambda prefix: f"{prefix}_AM-{next(numbers)}",
        now=lambda: int(time.time()),
        upstream_log=UpstreamLog(),
        grammar_checker=grammar_checker_of(settings),
        observers=[recorder],
    )


async def _run(recording: Recording, service: TurnService) -> None:
    """Run the turn to its end. Raises `ProblemError` if it is refused."""
    about = recording.about
    body = json_bytes(recording.request)
    is_websocket = about.transport == "websocket"
    async with service.turn(request_id=about.request_id, **({"websocket": True} if is_websocket else {})) as turn:
        turn.admit(replace(ANYONE, sees_causes=about.sees_causes))
        if about.summary_only:
            create = await service.read_for_summary(body, turn)
        else:
            raw = await service.decode(body)
            previous = about.previous_response_id
            create = await service.read_object(raw, turn, len(body), previous_response_id=previous)
        running = await service.begin(create, turn, originator="codex" if about.for_codex else "")
        await running.open(0 if _failed_late(recording) else _FOREVER)
        if "status" in about.outcome:
            turn.log.note(status=HTTPStatus.OK.value)
        last = await last_event(turn, running)
        if last.response.status == "failed" and not (create.stream or is_websocket):
            raise ProblemError(running.problem or FAILED)


def _failed_late(recording: Recording) -> bool:
    """Whether a stream had begun before the turn failed, so that it could not be refused any more."""
    last = recording.events[-1].event if recording.events else None
    return last is not None and last.get("type") == "response.failed" and recording.request.get("stream") is True
