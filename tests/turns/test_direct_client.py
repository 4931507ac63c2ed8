"""Events that a client is sent directly, and those that wait for the task which serves it."""

import asyncio
from typing import Any, Final

import pytest

from app.protocol.events import Event, OutputTextDelta
from app.turns.pump import Pump
from app.upstreams.clocks import Clocks
from tests.support.pump_turns import STOP, Script, pump_into, says, turn

WORDS: Final = ["a", "b", "c", "d", "e", "f"]


class Client:
    """A client that keeps what it is sent."""

    def __init__(self, *, is_ready: bool = True, takes: bool = True, error: Exception | None = None) -> None:
        self.is_ready = is_ready
        self.sent: list[Event] = []
        self._takes = takes
        self._error = error

    def send(self, batch: list[Event]) -> bool:
        """Send a batch."""
        if self._error is not None:
            raise self._error
        if self._takes:
            self.sent += batch
        return self._takes


def paced(*steps: Any) -> Script:
    return Script(*[each for step in steps for each in (step, 0.01)])


async def collected(running: Pump, client: Client | None = None) -> tuple[list[Event], list[Event]]:
    """All events, and those that came in batches."""
    batches: list[Event] = []
    everything: list[Event] = client.sent if client is not None else []
    try:
        await running.open(5)
        async for batch in running.batches():
            batches += batch
            everything += batch
    finally:
        await running.close()
    return everything, batches


def words(events: list[Event]) -> str:
    return "".join(event.delta for event in events if isinstance(event, OutputTextDelta))


def running_for(script: Script, client: Client | None, **limits: float) -> Pump:
    return pump_into(turn(), script.play(), Clocks(**limits), client=client)


async def test_what_is_sent_directly_and_in_batches_is_the_same_stream() -> None:
    script = [*map(says, WORDS), STOP]
    alone, _ = await collected(running_for(paced(*script), None))
    client = Client()
    events, batches = await collected(running_for(paced(*script), client), client)
    assert events == alone
    assert words(batches) == WORDS[0]


@pytest.mark.parametrize("client", [Client(is_ready=False), Client(takes=False)], ids=["slow", "long"])
async def test_what_cannot_be_sent_directly_comes_in_batches(client: Client) -> None:
    events, batches = await collected(running_for(paced(*map(says, WORDS), STOP), client), client)
    assert words(batches) == words(events) == "".join(WORDS)
    assert [event.sequence_number for event in events] == list(range(len(events)))


async def test_a_client_that_reads_again_is_sent_events_directly_again() -> None:
    client = Client(is_ready=False)
    asyncio.get_running_loop().call_later(0.055, lambda: setattr(client, "is_ready", True))
    events, batches = await collected(running_for(paced(*map(says, WORDS * 3), STOP), client), client)
    assert words(events) == "".join(WORDS * 3)
    assert 0 < len(words(batches)) < len(words(events))
    assert [event.sequence_number for event in events] == list(range(len(events)))


async def test_an_error_of_sending_is_raised_where_the_client_is_served() -> None:
    with pytest.raises(ValueError, match="cannot be encoded"):
        await collected(running_for(paced(*map(says, WORDS), STOP), Client(error=ValueError("cannot be encoded"))))


async def test_what_is_sent_directly_counts_for_the_time_limits() -> None:
    """No keep-alive while the model speaks, some while it is silent."""
    client = Client()
    script = Script(*[each for word in WORDS * 4 for each in (says(word), 0.05)], 0.6, STOP)
    events, _ = await collected(running_for(script, client, keep_alive=0.4), client)
    said = [event.delta for event in events if isinstance(event, OutputTextDelta)]
    while_speaking = said[: len(said) - said[::-1].index(WORDS[-1])]
    assert [each for each in while_speaking if each] == WORDS * 4
    assert while_speaking.count("") <= 1  # a machine may stand still once; every 0.4 s, it would be three
    assert set(said[len(while_speaking) :]) == {""}


async def test_a_silent_upstream_is_noticed_although_all_was_sent_directly() -> None:
    client = Client()
    events, _ = await collected(running_for(Script(*map(says, WORDS), 5.0), client, idle=0.2), client)
    assert type(events[-1]).__name__ == "ResponseFailed"
