"""Long answers leave event by event, and long events are encoded in threads; short ones leave as they always did."""

import json
import threading
from collections.abc import Callable
from typing import Any, Final

import httpx
import msgspec
import pytest

import app.transports.http_turns
import app.transports.sse
import app.transports.websocket_lanes as lanes
from app.emitter.encoded_size import _TEXTS, _VALUES, LONG, size_of
from app.emitter.opening_response import opening_response
from app.parsing.request_body import parse_request
from app.protocol.events import Event, LifecycleEvent, Relayed, ResponseCompleted
from app.protocol.output_items import Message, OutputText
from app.settings import Model, Settings, Upstream
from app.transports.sse import is_short
from tests.support.serving import serving
from tests.support.websocket_server import settings_of
from tests.wire.script import opens, stops, text_turn
from tests.wire.servers import ChatUpstream, ResponsesUpstream
from tests.wire.servers.responses import answer, message
from tests.wire.sockets import opened

TEXT: Final = "long " * (LONG // 4)
ABOUT_ALL: Final = {
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
}
"""The events that hold the whole text, where it comes in one piece."""


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """In which thread each event was encoded, by its name."""
    seen: dict[str, str] = {}

    def watched(encode: Callable[..., bytes]) -> Callable[..., bytes]:
        def noted(event: Event, *more: Any) -> bytes:
            name = event.name.decode() if isinstance(event, Relayed) else str(type(event).__struct_config__.tag)
            seen[name] = "long work" if "long-work" in threading.current_thread().name else "loop"
            return encode(event, *more)

        return noted

    for way in ("data_of", "frame"):  # over a websocket, and as a server-sent event
        monkeypatch.setattr(app.transports.sse, way, watched(getattr(app.transports.sse, way)))
    return seen


def in_threads(seen: dict[str, str]) -> set[str]:
    return {name for name, thread in seen.items() if thread == "long work"}


@pytest.mark.parametrize(("text", "names"), [("Hi", set()), (TEXT, ABOUT_ALL)])
def test_a_stream(encoded: dict[str, str], text: str, names: set[str]) -> None:
    with ChatUpstream([opens(), *text_turn(text)]) as upstream, serving(settings_of(upstream)) as url:
        body = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi", "stream": True}).text
    assert in_threads(encoded) == names
    last = json.loads(body.split("data: ")[-2])
    assert last["response"]["output"][0]["content"][0]["text"] == text


@pytest.mark.parametrize(("text", "names"), [("Hi", set()), (TEXT, ABOUT_ALL)])
def test_a_relayed_stream(encoded: dict[str, str], text: str, names: set[str]) -> None:
    with ResponsesUpstream(answer(message("msg_1", text))) as upstream:
        there = Upstream(via="responses", base_url=upstream.url)
        settings = Settings(upstreams={"there": there}, models={"m": Model(upstream="there")})
        with serving(settings) as url:
            body = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi", "stream": True}).text
    assert in_threads(encoded) == names
    assert json.loads(body.split("data: ")[-2])["response"]["output"][0]["content"][0]["text"] == text


@pytest.mark.parametrize(("text", "names"), [("Hi", set()), (TEXT, ABOUT_ALL)])
async def test_a_websocket(
    encoded: dict[str, str], text: str, names: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    remembering: list[str] = []
    remembered = getattr(lanes, "conversation_of")  # noqa: B009 — it exports it not

    def noted(*given: Any) -> Any:
        remembering.append("long work" if "long-work" in threading.current_thread().name else "loop")
        return remembered(*given)

    monkeypatch.setattr(lanes, "conversation_of", noted)
    with ChatUpstream([opens(), *text_turn(text)], text_turn("ok")) as upstream, serving(settings_of(upstream)) as url:
        async with opened(url, max_size=None) as client:
            events = await client.ask(model="m", input="Hi")
            assert in_threads(encoded) == names
            await client.ask(model="m", input="More", previous_response_id=events[-1]["response"]["id"])
    assert events[-1]["response"]["output"][0]["content"][0]["text"] == text
    assert remembering[0] == ("long work" if names else "loop")


@pytest.mark.parametrize(("text", "thread"), [("Hi", "loop"), (TEXT, "long work")])
def test_a_whole_answer(text: str, thread: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    class Noted:
        """Stands for the encoder."""

        @staticmethod
        def encode(value: Any) -> bytes:
            seen.append("long work" if "long-work" in threading.current_thread().name else "loop")
            return msgspec.json.encode(value)

    class Stand:
        json = Noted

    monkeypatch.setattr(app.transports.http_turns, "msgspec", Stand)
    with ChatUpstream([opens(), *text_turn(text)]) as upstream, serving(settings_of(upstream)) as url:
        body = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi"}).json()
    assert body["output"][0]["content"][0]["text"] == text
    assert seen == [thread]


def test_what_a_response_repeats_of_its_request_counts(encoded: dict[str, str]) -> None:
    ask = {"model": "m", "input": "Hi", "instructions": TEXT, "stream": True}
    with ChatUpstream([opens(), *text_turn("Hi"), stops()]) as upstream, serving(settings_of(upstream)) as url:
        httpx.post(f"{url}/v1/responses", json=ask)
    assert in_threads(encoded) == {"response.created", "response.in_progress", "response.completed"}


def test_an_event_by_event_answer_leaves_in_as_many_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that is long only as a whole too: of none of its events, but of all together."""
    text = "x" * (LONG // 3)
    batches: list[list[str]] = []
    send_one_by_one = app.transports.sse.send_one_by_one

    async def noted(batch: list[Event], *rest: Any) -> None:
        batches.append([type(event).__name__ for event in batch])
        await send_one_by_one(batch, *rest)

    monkeypatch.setattr(app.transports.sse, "send_one_by_one", noted)
    with ChatUpstream([opens(), *text_turn(text)]) as upstream, serving(settings_of(upstream)) as url:
        body = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi", "stream": True}).text
    assert batches[-1][-4:] == ["OutputTextDone", "ContentPartDone", "OutputItemDone", "ResponseCompleted"]
    assert body.count("event: ") == 9


def test_every_event_with_a_text_of_its_own_has_a_size() -> None:
    """A new event is in one of the tables, is about the whole response, or holds nothing that may be long."""

    def kinds(base: type[Event]) -> set[type[Event]]:
        return {base, *(kind for each in base.__subclasses__() for kind in kinds(each))}

    may_be_long = {"delta", "text", "refusal", "arguments", "command", "input", "part", "item", "annotation", "data"}
    for kind in kinds(Event):
        long = [field for field in may_be_long if field in kind.__struct_fields__]
        added = kind.__name__.endswith("Added") and kind not in _VALUES
        assert bool(long) == (kind in _TEXTS or kind in _VALUES) or added or issubclass(kind, LifecycleEvent), kind


def test_a_response_of_very_many_short_items_is_long() -> None:
    request = parse_request(b'{"model": "m", "input": "Hi"}')
    response = opening_response(request, id="resp_1", created_at=1)
    items = [Message(id="m", status="completed", content=[OutputText(text="x")])] * 10_000
    many = ResponseCompleted(sequence_number=1, response=msgspec.structs.replace(response, output=items))
    assert size_of(many, 0) > LONG
    assert not is_short([many], 0)
