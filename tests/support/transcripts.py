"""The transcripts of real chat servers, and a turn for each."""

import json
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from pydantic import TypeAdapter

from app.dialects.chat.chat_options import ChatOptions
from app.dialects.chat.turn import ChatTurn
from app.dialects.messages.messages_turn import MessagesTurn
from app.parsing.request_body import parse_request
from app.protocol.request.create_response import CreateResponse
from app.protocol.response import Identity
from tests.support.emitters import ReadableSealer
from tests.support.messages_requests import MODEL
from tests.support.messages_requests import options as messages_options
from tests.support.running import ROOT

FOLDERS = sorted(folder for folder in (ROOT / "tests" / "transcripts").iterdir() if folder.is_dir())


each_transcript = pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])


def new_turn(folder: Path) -> ChatTurn:
    """The turn this transcript is about."""
    return ChatTurn(
        _request(folder),
        model="upstream-model",
        options=replace(_options(folder), sealer=ReadableSealer()),
        **_counted(),
    )


def new_messages_turn(folder: Path) -> MessagesTurn:
    """The same turn with Anthropic's own server."""
    model = _options(folder).model
    return MessagesTurn(_request(folder), model=MODEL, options=messages_options(model=model), **_counted())


def _request(folder: Path) -> CreateResponse:
    return parse_request((folder / "request.json").read_bytes())


def _options(folder: Path) -> ChatOptions:
    file = folder / "options.json"
    written = file.read_bytes() if file.exists() else b"{}"
    return msgspec.json.decode(
        written, type=ChatOptions, dec_hook=lambda kind, value: TypeAdapter(kind).validate_python(value)
    )


def _counted() -> dict[str, Any]:
    """Counted ids, and a clock that ticks once per look."""
    ticks, numbers = count(1_700_000_000), count(2)
    return {
        "identity": Identity("resp_AM-1", next(ticks)),
        "new_id": lambda prefix: f"{prefix}_AM-{next(numbers)}",
        "now": lambda: next(ticks),
    }


def lines(file: Path) -> list[Any]:
    """The JSON values of a file, one a line."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
