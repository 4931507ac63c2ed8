"""Long bodies are read and translated in threads, on every way in; short ones where they arrive."""

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from hashlib import sha256
from typing import Any, Final

import httpx
import pytest

import app.dialects.chat.turn
import app.fetching.attachments
import app.off_loop
import app.searching.opened_pages
import app.transports.websocket_frames
import app.transports.websocket_lanes
import app.turns.prompt_comparison
import app.turns.service
from app.compaction.summary_turn import SummaryTurn
from app.dialects.responses import relay, whole_answer
from app.off_loop import OWNER, SHORT, off_loop
from app.protocol.problems import Problem, ProblemError
from app.searching.page_text import PageText
from app.settings import Key, Model, Seal, Search, Server, Settings, Upstream
from app.turns.conversation_memory import ConversationMemory
from tests.support.serving import serving
from tests.support.websocket_server import settings_of
from tests.wire.script import text_turn
from tests.wire.search_server import SearchServer
from tests.wire.servers import ChatUpstream, ResponsesUpstream
from tests.wire.sockets import opened
from tests.wire.web_site import PDF, Site, page

ENOUGH: Final = 4096
"""Bytes that are long in these tests: the demo repeats them word by word."""
LONG: Final = "word " * (ENOUGH // 4)
STEPS: Final = [
    (app.turns.service, "decode_object"),
    (app.turns.service, "parse_object"),
    (app.turns.service, "parse_summary_request"),
    (app.turns.service, "parse_steer"),
    (app.transports.websocket_frames, "control_frame"),
    (app.transports.websocket_lanes, "conversation_of"),
    (app.dialects.chat.turn, "ChatTurn"),
    (app.fetching.attachments, "data_uri"),
    (relay, "RelayTurn"),
    (whole_answer, "RelayedObject"),
    (app.turns.prompt_comparison, "fingerprint"),
]
Seen = dict[str, set[str]]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """The threads in which each step ran: `loop` or `long work`."""
    found: Seen = {}

    def watched(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any, **kwargs: Any) -> Any:
            thread = "long work" if "long-work" in threading.current_thread().name else "loop"
            found.setdefault(name, set()).add(thread)
            return work(*args, **kwargs)

        return noted

    monkeypatch.setattr(app.off_loop, "SHORT", ENOUGH)
    for module, name in STEPS:
        monkeypatch.setattr(module, name, watched(name, getattr(module, name)))
    monkeypatch.setattr(ConversationMemory, "recall", watched("recall", ConversationMemory.recall))
    return found


def ran(thread: str, *steps: str) -> Seen:
    return {step: {thread} for step in steps}


@pytest.mark.parametrize(("text", "thread"), [("Hi", "loop"), (LONG, "long work")])
@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("/v1/responses", ("decode_object", "parse_object", "ChatTurn")),
        ("/v1/responses/input_tokens", ("decode_object", "parse_object", "ChatTurn")),
        ("/inspector/ask", ("decode_object", "parse_object", "ChatTurn")),
        ("/v1/responses/compact", ("decode_object", "parse_summary_request", "ChatTurn")),
    ],
)
def test_over_http(seen: Seen, text: str, thread: str, path: str, steps: tuple[str, ...]) -> None:
    with serving(Settings(server=Server(watch=0), seal=Seal())) as url:
        answer = httpx.post(f"{url}{path}", json={"model": "demo", "input": text})
    assert answer.status_code == 200
    assert seen == ran(thread, *steps)


@pytest.mark.parametrize(("text", "thread"), [("Hi", "loop"), (LONG, "long work")])
def test_a_prompt_that_the_inspector_keeps(seen: Seen, text: str, thread: str) -> None:
    with serving(Settings(server=Server(watch=5))) as url:
        httpx.post(f"{url}/v1/responses", json={"model": "demo", "input": text})
    assert seen == ran(thread, "decode_object", "parse_object", "ChatTurn", "fingerprint")


@pytest.mark.parametrize(("text", "thread"), [("Hi", "loop"), (LONG, "long work")])
def test_through_the_relay(seen: Seen, text: str, thread: str) -> None:
    with ResponsesUpstream() as upstream:
        there = Upstream(via="responses", base_url=upstream.url)
        settings = Settings(server=Server(watch=0), upstreams={"there": there}, models={"m": Model(upstream="there")})
        with serving(settings) as url:
            httpx.post(f"{url}/v1/responses", json={"model": "m", "input": text})
    assert seen == ran(thread, "decode_object", "parse_object", "RelayTurn")


@pytest.mark.parametrize(("size", "thread"), [(100, "loop"), (2 * ENOUGH, "long work")])
def test_a_short_body_that_names_a_long_file(seen: Seen, size: int, thread: str) -> None:
    """What is fetched is as long as if it had been sent."""
    document = PDF + bytes(size)
    with Site({"/a.pdf": page(document)}) as site, ChatUpstream(text_turn("Hi")) as upstream:
        settings = settings_of(upstream, allow_private_urls=True, watch=0)
        part = {"type": "input_file", "file_url": f"{site.url}/a.pdf"}
        with serving(settings) as url:
            body = {"model": "m", "input": [{"role": "user", "content": [part]}]}
            assert httpx.post(f"{url}/v1/responses", json=body).status_code == 200
    assert seen == ran("loop", "decode_object", "parse_object") | ran(thread, "data_uri", "ChatTurn")


@pytest.mark.parametrize(("times", "thread"), [(1, "loop"), (ENOUGH, "long work")])
@pytest.mark.parametrize("command", ["open", "find"])
def test_the_lines_of_an_opened_page(
    seen: Seen, monkeypatch: pytest.MonkeyPatch, command: str, times: int, thread: str
) -> None:
    read = app.searching.opened_pages.page_text  # type: ignore[attr-defined]

    class Lines(list[str]):
        def __iter__(self) -> Iterator[str]:
            name = "long work" if "long-work" in threading.current_thread().name else "loop"
            seen.setdefault("lines", set()).add(name)
            return super().__iter__()

    def noted(*args: Any) -> PageText:
        return (text := read(*args))._replace(lines=Lines(text.lines))

    monkeypatch.setattr(app.searching.opened_pages, "page_text", noted)
    with Site({"/a": page(b"a\n" * times, kind="text/plain")}) as site, SearchServer() as server:
        search = Search(backend="searxng", base_url=server.url)
        with serving(Settings(search=search, server=Server(allow_private_urls=True))) as url:
            body = {"commands": {command: [{"ref_id": f"{site.url}/a", "pattern": "a"}]}}
            answer = httpx.post(f"{url}/v1/alpha/search", json=body)
    assert "L0: a" in answer.json()["output"]
    assert seen["lines"] == {thread}


@pytest.mark.parametrize(("times", "thread"), [(1, "loop"), (40, "long work")])
def test_the_second_ask_of_a_turn_that_sums_up_first(
    seen: Seen, monkeypatch: pytest.MonkeyPatch, times: int, thread: str
) -> None:
    """So is what is made of the summary: its window, and the seal around it."""
    ran_in: list[str] = []
    finish = SummaryTurn.finish

    def noted(turn: SummaryTurn) -> Any:
        ran_in.append("long work" if "long-work" in threading.current_thread().name else "loop")
        return finish(turn)

    monkeypatch.setattr(SummaryTurn, "finish", noted)
    items = [{"role": "user", "content": "Remember this. " * 30}, {"role": "assistant", "content": "OK."}]
    body = {"model": "m", "input": [*items * times, {"role": "user", "content": "Go on."}]}
    managed = {"context_management": [{"type": "compaction", "compact_threshold": 100}]}
    with (
        ChatUpstream(text_turn("Yes."), text_turn("1. It was remembered."), text_turn("Yes.")) as upstream,
        serving(settings_of(upstream)) as url,
    ):
        assert httpx.post(f"{url}/v1/responses", json=body).status_code == 200
        assert httpx.post(f"{url}/v1/responses", json=body | managed).status_code == 200
    assert ran_in == [thread]
    assert (seen["decode_object"], seen["ChatTurn"]) == ({thread}, {thread})


@pytest.mark.parametrize(("text", "thread"), [("Hi", "loop"), (LONG, "long work")])
async def test_over_a_websocket_which_remembers(seen: Seen, text: str, thread: str) -> None:
    """A short frame that continues a long conversation is long."""
    with serving(Settings(server=Server(watch=0))) as url:
        async with opened(url) as client:
            first = await client.id_of(model="demo", input=text)
            await client.id_of(model="demo", input="Go on", previous_response_id=first)
    assert seen.pop("decode_object") == {"loop", thread}
    assert seen == ran(thread, "recall", "parse_object", "ChatTurn", "conversation_of", "fingerprint")


async def test_a_thread_sees_what_the_loop_sees_and_its_errors_come_back() -> None:
    variable: ContextVar[str] = ContextVar("variable")
    variable.set("here")
    assert await off_loop(SHORT + 1, variable.get) == "here"

    def refuse() -> None:
        raise ProblemError.__new__(ProblemError)

    with pytest.raises(ProblemError):
        await off_loop(SHORT + 1, refuse)


@pytest.mark.parametrize(("text", "thread"), [("Hi", "loop"), (LONG, "long work")])
async def test_a_frame_that_steers_and_its_answer(seen: Seen, text: str, thread: str) -> None:
    with serving(Settings(server=Server(watch=0))) as url:
        async with opened(url) as client:
            await client.send(type="response.steer", previous_response_id="resp_x", input=text, model=None, store=None)
            assert (await client.event())["steer"]["input"] == text
    assert seen == ran(thread, "decode_object", "parse_steer", "control_frame")


async def test_long_work_of_one_owner_leaves_a_thread_to_others() -> None:
    may_end = threading.Event()

    async def done_for(owner: str, work: Callable[[], bool]) -> bool:
        OWNER.set(owner)
        return await off_loop(SHORT + 1, work)

    many = [asyncio.create_task(done_for("key:a", lambda: may_end.wait(10))) for _ in range(20)]
    await asyncio.sleep(0)
    try:
        for _ in range(3):
            assert await asyncio.wait_for(asyncio.create_task(done_for("key:b", lambda: True)), 5)
    finally:
        may_end.set()
    assert await asyncio.gather(*many) == [True] * 20


async def test_who_is_cancelled_keeps_its_slot_until_its_thread_has_ended() -> None:
    """Otherwise one caller could fill all threads by leaving again and again."""
    may_end, began = threading.Event(), threading.Event()

    def work() -> bool:
        began.set()
        return may_end.wait(10)

    OWNER.set("key:a")
    first = asyncio.create_task(off_loop(SHORT + 1, work))
    assert await asyncio.to_thread(began.wait, 10)
    first.cancel()
    second = asyncio.create_task(off_loop(SHORT + 1, lambda: "second"))
    await asyncio.sleep(0.02)
    assert (first.done(), second.done()) == (False, False)
    may_end.set()
    assert await second == "second"
    with pytest.raises(asyncio.CancelledError):
        await first


def test_a_callers_long_bodies_do_not_hold_up_another_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bodies of one key hang in a thread for as long as they may; that of another is read all the same."""
    may_end, hung = threading.Event(), threading.Event()
    decode = app.turns.service.decode_object  # type: ignore[attr-defined]

    def hanging(body: bytes, most: int) -> Any:
        if b"hang" in body:
            hung.set()
            may_end.wait(20)
        return decode(body, most)

    monkeypatch.setattr(app.off_loop, "SHORT", ENOUGH)
    monkeypatch.setattr(app.turns.service, "decode_object", hanging)
    keys = [Key(name, sha256(name.encode()).digest()) for name in ("alice", "bob")]

    def ask(url: str, key: str, text: str) -> int:
        headers = {"authorization": f"Bearer {key}"}
        answer = httpx.post(f"{url}/v1/responses", json={"model": "demo", "input": text}, headers=headers, timeout=15)
        return answer.status_code

    with serving(Settings(keys=tuple(keys))) as url, ThreadPoolExecutor(6) as clients:
        many = [clients.submit(ask, url, "alice", f"hang {LONG}") for _ in range(5)]
        try:
            assert hung.wait(10)
            assert ask(url, "bob", LONG) == 200
        finally:
            may_end.set()
        assert [each.result() for each in many] == [200] * 5


async def test_work_that_fails_keeps_nothing_of_its_input() -> None:
    """Left to the collector, refused bodies would be counted as given back and stay in memory."""
    given = {1, 2}
    kept = weakref.ref(given)

    def refuse(_body: set[int]) -> None:
        raise ProblemError(Problem(code="invalid_value", message="No."))

    gc.disable()
    try:
        with pytest.raises(ProblemError):
            await off_loop(SHORT + 1, refuse, given)
        del given
        for _ in range(500):  # the thread gives its own references back a moment after the result
            if kept() is None:
                break
            await asyncio.sleep(0.01)
        assert kept() is None
    finally:
        gc.enable()
