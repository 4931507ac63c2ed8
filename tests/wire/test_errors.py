"""Errors: what this server or the model's refuses, and in which words. Each row of `errors.jsonl` is one.

    process   its process is that of the line with these `tables`; without it, only upstreams and models are configured
    case      settings of its own `upstream` and `model`
    request   method and path, if they are not `POST /v1/responses`
    with      headers of the request
    body      what differs from `{"model": …, "input": "Hi"}`; or `content`: another body, in pieces that are texts or
              `[text, times]`; or `raw`: a whole request in such pieces
    upstream  what the model's server does, step by step, or says instead of HTTP; without it nobody may ask it
    running   the request comes while another one of its caller runs
    times     how often it is sent; the last answer counts
    status, error, headers   the answer; `…` stands for any words of a message, and for any value of a header
    untold    words that are not in the answer

A row with `upstream` is played with and without `stream`. `--bless tests/wire/errors.jsonl` writes the answers of rows
that have none: the whole message, of which a person keeps the words that matter.
"""

import http.client
import json
import socket
from asyncio import StreamWriter
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from tests.judges import judge_answered_error
from tests.wire.cases import ERRORS, Case, Json, Stage
from tests.wire.comparison import lines, loosened, write_lines
from tests.wire.script import opens, says
from tests.wire.servers import Ask, ChatUpstream, Cut, Hang, Reset, ScriptedUpstream, Status, Step

ROWS: Final = lines(ERRORS)
ALWAYS: Final = {"content-length", "content-type", "openai-processing-ms", "x-request-id"}
"""The headers that every answer has."""


def ways(row: Json) -> list[bool | None]:
    """The values of `stream` with which a row is played; None: what its body says."""
    is_plain = "upstream" in row and "times" not in row and "stream" not in row.get("body", {})
    return [False, True] if is_plain else [None]


PLAYED: Final = [
    pytest.param(row, stream, id=f"{row['name']}{'-streamed' if stream else ''}")
    for row in ROWS
    if "name" in row
    for stream in ways(row)
]


class Blunt(ChatUpstream):
    """A server that says something else than HTTP, and hangs up."""

    def __init__(self, said: str) -> None:
        super().__init__()
        self._said = said

    async def handle(self, ask: Ask, writer: StreamWriter) -> bool:
        self.asks.append(ask)
        writer.write(self._said.encode())
        await writer.drain()
        return False


def upstream_of(row: Json, case: Case) -> ScriptedUpstream:
    """The model's server."""
    if "running" in row:
        return ChatUpstream([opens(), says("one"), Hang()])
    told = row.get("upstream", [])
    return Blunt(told) if isinstance(told, str) else case.format([step_of(step) for step in told])


def step_of(told: Json) -> Step:
    match told:
        case {"status": int(status)}:
            return Status(status, told.get("body"), told.get("headers", {}))
        case {"cut": True}:
            return Cut()
        case {"reset": True}:
            return Reset()
        case {"hang": True}:
            return Hang()
        case {"raw": pieces}:
            return joined(pieces)
        case _:
            return told


def joined(pieces: Iterable[Any]) -> bytes:
    """The bytes of these pieces, one for each character."""
    return "".join([piece if isinstance(piece, str) else piece[0] * piece[1] for piece in pieces]).encode("latin-1")


def answer_to(row: Json, body: Json, url: str, stage: Stage) -> tuple[int, dict[str, str], Any]:
    """Status, headers and body of the answer."""
    if "raw" in row:
        where = urlsplit(url)
        with socket.create_connection((where.hostname or "", where.port or 0), timeout=20) as connection:
            with suppress(ConnectionError):
                connection.sendall(joined(row["raw"]))
            plain = http.client.HTTPResponse(connection)
            plain.begin()
            told = plain.read()
            headers = {name.lower(): value for name, value in plain.getheaders()}
            return plain.status, headers, json.loads(told) if row["error"] else {"error": None}
    method, _, path = row.get("request", "POST /v1/responses").partition(" ")
    content = joined(row["content"]) if "content" in row else json.dumps(body).encode() if method == "POST" else None
    headers = {"content-type": "application/json", **row.get("with", {})}
    answer = stage.client.request(method, f"{url}{path}", content=content, headers=headers)
    return answer.status_code, dict(answer.headers), answer.json()


@pytest.mark.parametrize(("row", "stream"), PLAYED)
def test_an_error_is_told_as_its_row_says(
    row: Json, *, stream: bool | None, stage: Stage, blessed: Path | None
) -> None:
    """Status, error and headers; all judges are content, and only where the row says so the upstream was asked."""
    case = stage.cases[f"case-error-{row['name']}"]
    body = {"model": case.name, "input": "Hi", **({} if stream is None else {"stream": stream}), **row.get("body", {})}
    upstream = upstream_of(row, case)
    with stage.playing(case, upstream) as url, ExitStack() as stack:
        if "running" in row:
            ask = {"json": {**body, "stream": True}, "headers": row["with"]}
            pieces = stack.enter_context(stage.client.stream("POST", f"{url}/v1/responses", **ask)).iter_raw()
            next(pieces)  # they are to be held: without them httpx hangs up
        answers = [answer_to(row, body, url, stage) for _ in range(row.get("times", 1))]
    if "running" in row:
        assert upstream.asks[0].wait_gone()  # its turn must be over before the next row
    status, headers, told = answers[-1]
    assert bool(upstream.asks) == bool(row.keys() & {"upstream", "running"})
    if row.get("error", True) is None:
        assert (status, headers["connection"]) == (row["status"], "close")
        return
    assert headers.keys() >= ALWAYS
    assert headers["content-type"] == "application/json"
    assert [each for each in judge_answered_error(min(status, 499), headers, told) if each.rule.is_fault] == []
    assert [word for word in row.get("untold", ()) if word in json.dumps([headers, told])] == []
    got = loosened({"status": status, **told, "headers": headers}, {"headers": {}, **row})
    if blessed == ERRORS and "status" not in row:
        row.update({key: value for key, value in got.items() if value})
        write_lines(ERRORS, ROWS)
    assert got == {"headers": {}, **{key: row[key] for key in ("status", "error", "headers") if key in row}}
