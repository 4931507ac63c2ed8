"""A client that speaks Responses over a websocket, frame by frame: `async with opened(url) as client: …`."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.wire.foreign_judges import judge_error_frame

Json = dict[str, Any]

LAST: Final = {"response.completed", "response.incomplete", "response.failed", "error"}
PATIENCE: Final = 40


class Client:
    """One connection."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def send(self, **body: Any) -> None:
        """One `response.create`, without waiting for its answer. A value of None leaves a field out."""
        request = {"type": "response.create", "model": "any", "store": False} | body
        await self.connection.send(json.dumps({key: value for key, value in request.items() if value is not None}))

    async def event(self) -> Json:
        """The next frame, which must be text, and JSON."""
        frame = await asyncio.wait_for(self.connection.recv(), PATIENCE)
        assert isinstance(frame, str)
        event: Json = json.loads(frame)
        return event

    async def beginning(self) -> list[Json]:
        """The events of the next answer up to its first word."""
        events = [await self.event()]
        while events[-1]["type"] != "response.output_text.delta":
            events.append(await self.event())
        return events

    async def answer(self) -> list[Json]:
        """All events of the next answer; or the error frame alone."""
        events = [await self.event()]
        while events[-1]["type"] not in LAST:
            events.append(await self.event())
        return events

    async def ask(self, **body: Any) -> list[Json]:
        """One whole turn."""
        await self.send(**body)
        return await self.answer()

    async def id_of(self, **body: Any) -> str:
        """The id of a turn that succeeds."""
        last = (await self.ask(**body))[-1]
        assert last["type"] == "response.completed", last
        return str(last["response"]["id"])

    async def refusal(self, **body: Any) -> tuple[int, str, str]:
        """Status, code and param of a turn that is refused."""
        [frame] = await self.ask(**body)
        return error_of(frame)

    async def closed(self) -> int | None:
        """The close code, once the server has closed; nothing else may come before."""
        try:
            frame = await asyncio.wait_for(self.connection.recv(), PATIENCE)
        except ConnectionClosed:
            return self.connection.close_code
        raise AssertionError(frame)


def error_of(frame: Json) -> tuple[int, str, str]:
    """Status, code and param of an error frame, which is whole and as the specification has it."""
    judge_error_frame(frame)
    assert set(frame) == {"type", "status", "error"}, frame
    assert set(frame["error"]) == {"message", "type", "param", "code"}
    return frame["status"], frame["error"]["code"], frame["error"]["param"]


def text_of(events: list[Json]) -> str:
    """What a whole answer says."""
    return "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")


@asynccontextmanager
async def opened(
    url: str, headers: Mapping[str, str] | None = None, *, path: str = "/v1/responses", **options: Any
) -> AsyncIterator[Client]:
    """A client of the server at this address."""
    address = url.replace("http://", "ws://") + path
    async with connect(address, additional_headers=headers, compression=None, **options) as connection:
        yield Client(connection)
