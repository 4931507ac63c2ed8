"""The transcripts of real chat servers, and a turn for each."""

import json
from collections.abc import Collection, Iterator
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import msgspec
import pytest
from msgspec.structs import replace
from pydantic import TypeAdapter

from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.turn import ChatTurn
from app.dialects.messages.messages_turn import MessagesTurn
from app.parsing.request_body import parse_request
from app.protocol.events import Event
from app.protocol.problems import Problem
from app.protocol.request.create_response import CreateResponse
from app.protocol.response import Identity
from app.upstreams.chat_lines import Progress
from app.upstreams.faults import problem_in_stream
from tests.support.emitters import ReadableSealer
from tests.support.messages_requests import MODEL
from tests.support.messages_requests import options as messages_options
from tests.support.running import ROOT

FOLDERS = sorted(folder for folder in (ROOT / "tests" / "transcripts").iterdir() if folder.is_dir())


each_transcript = pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])


def new_turn(folder: Path) -> ChatTurn:
    """The turn this transcript is about."""
    return ChatTurn(
        request_of(folder),
        model="upstream-model",
        options=replace(options_of(folder), sealer=ReadableSealer()),
        **counted(),
    )


def new_messages_turn(folder: Path) -> MessagesTurn:
    """The same turn with Anthropic's own server."""
    model = options_of(folder).model
    return MessagesTurn(request_of(folder), model=MODEL, options=messages_options(model=model), **counted())


def request_of(folder: Path) -> CreateResponse:
    """What the client asks."""
    return parse_request((folder / "request.json").read_bytes())


def options_of(folder: Path) -> ChatOptions:
    """The options of the model."""
    file = folder / "options.json"
    written = file.read_bytes() if file.exists() else b"{}"
    return msgspec.json.decode(
        written, type=ChatOptions, dec_hook=lambda kind, value: TypeAdapter(kind).validate_python(value)
    )


def counted() -> dict[str, Any]:
    """Counted ids, and a clock that ticks once per look."""
    ticks, numbers = count(1_700_000_000), count(2)
    return {
        "identity": Identity("resp_AM-1", next(ticks)),
        "new_id": lambda prefix: f"{prefix}_AM-{next(numbers)}",
        "now": lambda: next(ticks),
    }


class ReplayedTurn(Protocol):
    """What is needed of a turn to replay an answer."""

    @property
    def over(self) -> bool: ...
    def begin(self) -> list[Event]: ...
    def receive(self, payload: Any, /) -> list[Event]: ...
    def keep_alive(self) -> list[Event]: ...
    def end(self) -> list[Event]: ...
    def fail(self, problem: Problem) -> list[Event]: ...


def replayed(turn: ReplayedTurn, chunks: list[Any]) -> Iterator[Event]:
    """What the client is told, as upstream and pump would do it: nothing is read behind the last event."""
    yield from turn.begin()
    progress = Progress()
    for chunk in chunks:
        for read in progress.take(chunk) if isinstance(chunk, dict) else [chunk]:
            if turn.over:
                return
            match read:
                case {"silence": True}:
                    yield from turn.keep_alive()
                case {"broke": problem}:
                    yield from turn.fail(msgspec.convert(problem, Problem))
                case {"error": error} if error:
                    yield from turn.fail(problem_in_stream(read, model="upstream-model"))
                case _:
                    yield from turn.receive(read)
    if not turn.over:
        yield from turn.end()


def lines(file: Path) -> list[Any]:
    """The JSON values of a file, one a line."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]


def masked(value: Any, fields: Collection[str]) -> Any:
    """The value without these fields, however deep they are."""
    match value:
        case dict():
            return {key: masked(held, fields) for key, held in value.items() if key not in fields}
        case list():
            return [masked(held, fields) for held in value]
        case _:
            return value
