"""What an answer costs from the wire to the client's events grows with its length and no faster, however it is made."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from app.dialects.chat.calls import MOST
from app.dialects.responses.relayed_items import MOST_UNFINISHED, TOO_MANY_UNFINISHED
from app.protocol.events import RelayedLast, ResponseFailed
from app.settings import Model, Server, Settings, Upstream
from tests.support.answer_shapes import CHAT, RELAY, Work, chat, lines, made, relay
from tests.support.scan import assert_lean, assert_linear
from tests.support.serving import serving
from tests.wire.script import says, stops
from tests.wire.servers import ChatUpstream, ResponsesUpstream, Step
from tests.wire.servers.responses import answer, message

Make = Callable[[int], bytes]

STEEP_ONCE = [
    "arguments whose name repeats",
    "an open call together with text",
    "parallel calls that stay open",
    "parallel calls of other tools",
    "citations after text",
    "citations before their text",
    "many citations at once",
    "white space that is cited",
    "grounds",
    "surrogate pairs, split",
]
"""Those that could cost the square of their length. `make scan-answers` measures them all, and larger."""
DENSE = [
    "one line of empty log probabilities",
    "one long line of log probabilities",
    "a whole answer of calls",
    "markers",
]
"""Short on the wire and long in memory, up to a bound of their own."""
DENSE_MOST = 8 * 1024 * 1024


@pytest.mark.parametrize("name", STEEP_ONCE)
def test_a_chat_answer_costs_what_its_length_is(name: str) -> None:
    assert_linear(name, CHAT[name], tolerant(chat), 80)


@pytest.mark.parametrize("name", ["grounds by their words", "grounds about the whole text"])
def test_so_does_a_long_one_in_which_citations_are_looked_for(name: str) -> None:
    assert_linear(name, CHAT[name], tolerant(chat), 800)


@pytest.mark.parametrize(
    "name", ["items", "items without ids", "items without a beginning", "other ids in every event"]
)
def test_so_does_a_relayed_one(name: str) -> None:
    assert_linear(name, RELAY[name], tolerant(relay), 40)


@pytest.mark.parametrize("name", [*DENSE, "deltas", "log probabilities"])
def test_no_chat_answer_takes_much_more_memory_than_it_is_long(name: str) -> None:
    fixed = DENSE_MOST if name in DENSE else 256 * 1024
    assert_lean(name, CHAT[name](100), tolerant(chat), fixed=fixed)


@pytest.mark.parametrize("name", ["deltas", "items", "items without an end"])
def test_nor_does_a_relayed_one(name: str) -> None:
    assert_lean(name, RELAY[name](60), tolerant(relay))


def tolerant(work: Callable[[bytes], Work]) -> Callable[[bytes], Any]:
    """The same work, for answers that are refused too."""

    def worked(body: bytes) -> Any:
        try:
            return work(body)
        except Exception as error:  # noqa: BLE001 — that it is refused is told elsewhere
            return error

    return worked


def test_an_answer_has_so_many_calls_at_most() -> None:
    calls = [made(index, f"call_{index}", "f", "{}") for index in range(MOST + 1)]
    last = chat(lines([*calls[:-1], stops()])).last
    assert not isinstance(last, ResponseFailed)
    failed = chat(lines([*calls, stops()])).last
    assert isinstance(failed, ResponseFailed)
    assert failed.response.error is not None
    assert failed.response.error.message == f"The model's server sent more than {MOST} tool calls in one answer."


@pytest.mark.parametrize("name", ["items without an end", "parts without an end"])
def test_so_much_of_a_relayed_answer_may_be_unfinished(name: str) -> None:
    """All of it is closed at once, when the answer ends."""
    few = relay(RELAY[name](MOST_UNFINISHED - 1)).last
    assert isinstance(few, RelayedLast)
    assert few.response.status == "completed"
    many = relay(RELAY[name](MOST_UNFINISHED + 1)).last
    assert isinstance(many, RelayedLast)
    assert many.response.error is not None
    assert many.response.error.message == TOO_MANY_UNFINISHED.message


@pytest.mark.parametrize("name", ["items", "items without a beginning", "items that end before their parts", "parts"])
def test_what_is_finished_does_not_count(name: str) -> None:
    last = relay(RELAY[name](2 * MOST_UNFINISHED)).last
    assert isinstance(last, RelayedLast)
    assert last.response.status == "completed"


@pytest.mark.parametrize("work", [chat, relay])
def test_an_event_has_so_many_values_at_most(work: Callable[[bytes], Work]) -> None:
    """Each is an object in memory: two bytes on the wire may be fifty here."""
    body = b'data: {"type": "of.tomorrow", "choices": [], "x": [' + b"[]," * 300_000 + b"[]]}\n\n"
    with pytest.raises(Exception, match="more than 250000 JSON values"):
        work(body)


MEGABYTE = "a" * (1024 * 1024)


@pytest.mark.parametrize(
    ("kind", "via", "script"),
    [
        (ChatUpstream, "chat", [*[says(MEGABYTE)] * 3, stops()]),
        (ResponsesUpstream, "responses", answer(message("msg_1", *[MEGABYTE] * 3))),
    ],
    ids=["chat", "responses"],
)
@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_that_holds_too_much_fails(kind: Any, via: Any, script: list[Step], *, stream: bool) -> None:
    """What it held until then is told, and the rest is not asked for."""
    with kind(script) as upstream:
        lane = Upstream(via=via, base_url=upstream.url)
        server = Server(max_answer_bytes=2 * 1024 * 1024)
        settings = Settings(server=server, upstreams={"u": lane}, models={"*": Model(upstream="u")})
        with serving(settings) as url:
            ask = {"model": "m", "input": "Hi", "stream": stream}
            response = httpx.post(f"{url}/v1/responses", json=ask, timeout=20).text
    words = "The model's server sent more than one answer may contain (`max_answer_bytes`)."
    assert words in response
    assert "response.completed" not in response


def test_the_two_lanes_of_this_file_reach_the_end_of_an_answer() -> None:
    """Otherwise it would measure nothing."""
    ends = {name: type(tolerant(chat)(make(3))) for name, make in CHAT.items()}
    assert {name for name, kind in ends.items() if kind is not Work} == {"HTML instead of a stream"}
    last = relay(RELAY["deltas"](3)).last
    assert isinstance(last, RelayedLast)
    assert last.name == b"response.completed"
