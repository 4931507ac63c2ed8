import json
import threading
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.key_search import redacted_line
from app.observers.body_log import BodyLog
from app.observers.in_order import Backlog, InOrder
from app.observers.redaction import LONGEST
from app.protocol.events import ResponseCompleted
from app.protocol.output_items import Message, OutputText
from app.protocol.response import Response
from app.settings import Model, Server, Settings, Upstream
from tests.support.running import run
from tests.support.serving import serving
from tests.wire.script import says, stops
from tests.wire.servers import ChatUpstream

BODY: dict[str, Any] = {"model": "demo", "input": "A secret."}


def lines(caplog: pytest.LogCaptureFixture, settings: Settings, **body: Any) -> list[tuple[str, dict[str, Any]]]:
    with caplog.at_level("INFO", "am_proxy.bodies"), serving(settings) as url:
        httpx.post(f"{url}/v1/responses", json=BODY | body, headers={"x-request-id": "req-1"})
    records = [record for record in caplog.records if record.name == "am_proxy.bodies"]
    assert {record.__dict__["request_id"] for record in records} <= {"req-1"}
    return [(record.getMessage(), record.__dict__["fields"]) for record in records]


def test_what_was_asked_and_answered_is_written_down_where_somebody_wants_it(caplog: pytest.LogCaptureFixture) -> None:
    asked, answered = lines(caplog, Settings(server=Server(log_bodies=True)))
    assert asked[0] == "asked"
    assert asked[1]["request"] == BODY
    assert asked[1]["ask"]["messages"] == [{"role": "user", "content": "A secret."}]
    assert answered[0] == "answered"
    assert answered[1]["response"]["status"] == "completed"


def test_otherwise_nothing_that_is_said_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    assert lines(caplog, Settings()) == []
    assert "A secret." not in caplog.text


LONG = "word " * 40_000


@pytest.mark.parametrize(("text", "places"), [("word", {"loop"}), (LONG, {"long work"})])
def test_long_bodies_are_redacted_in_a_thread(
    text: str, places: set[str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = set()

    def look(line: str) -> str:
        if "word" in line:
            seen.add("long work" if "long-work" in threading.current_thread().name else "loop")
        return redacted_line(line)

    monkeypatch.setattr("app.observers.redaction.redacted_line", look)
    with ChatUpstream([says(text), stops()]) as upstream:
        settings = Settings(
            server=Server(log_bodies=True),
            upstreams={"u": Upstream(via="chat", base_url=upstream.url)},
            models={"demo": Model(upstream="u")},
        )
        asked, answered = lines(caplog, settings, input=text)
    assert seen == places
    assert (asked[0], asked[1]["request"]["input"]) == ("asked", text)
    assert (answered[0], answered[1]["response"]["output"][0]["content"][0]["text"]) == ("answered", text)


def test_of_a_very_long_answer_the_size_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    content = Message(id="msg_1", status="completed", content=[OutputText(text="a" * LONGEST)])
    last = ResponseCompleted(
        sequence_number=9, response=Response(id="resp_1", created_at=1, model="m", output=[content])
    )
    with caplog.at_level("INFO", "am_proxy.bodies"):
        BodyLog().began({"request_id": "req-1"}).sent([last])
    assert caplog.records[0].__dict__["fields"] == {"response": {"left_out": f"… (more than {LONGEST} bytes)"}}


async def test_pieces_wait_in_their_order_and_one_owner_leaves_room_for_others() -> None:
    backlog = Backlog(most=400_000, most_of_one=200_000)
    one, other = (InOrder(backlog, {"owner": owner}) for owner in ("key:a", "key:b"))
    written: list[int] = []
    assert [one.write(size, partial(written.append, size)) for size in (100_000, 1, 100_000, 99_000)] == [
        True, True, False, True,
    ]  # fmt: skip
    assert [other.write(150_000, partial(written.append, 2)), written] == [True, []]
    await backlog.close()
    assert ([size for size in written if size != 2], sorted(written)[1]) == ([100_000, 1, 99_000], 2)
    assert one.write(100_000, partial(written.append, 3))
    await backlog.close()
    assert written[-1] == 3


async def test_pieces_without_bytes_wait_for_the_others(caplog: pytest.LogCaptureFixture) -> None:
    backlog = Backlog()
    pieces = InOrder(backlog, {})
    written: list[int] = []
    assert all(pieces.write(size, partial(written.append, size)) for size in (100_000, 0, 0))
    await backlog.close()
    assert (written, caplog.records) == ([100_000, 0, 0], [])


async def test_a_piece_that_cannot_be_written_is_an_observer_that_failed(caplog: pytest.LogCaptureFixture) -> None:
    backlog = Backlog(most=100_000)
    lines = InOrder(backlog, {"request_id": "req-1"})
    assert lines.write(90_000, partial(divmod, 1, 0))
    assert lines.write(10_000, partial(divmod, 1, 0))
    await backlog.close()
    assert [(record.message, record.__dict__["request_id"]) for record in caplog.records] == [
        ("an observer failed", "req-1")
    ]
    assert backlog.take("", 100_000)


def test_the_server_warns_of_it_at_its_start(tmp_path: Path) -> None:
    """Here it cannot start, and so ends by itself."""
    flags = ["--log-format", "json", "--host", "256.0.0.1", "--insecure-no-auth"]
    result = run("serve", *flags, folder=tmp_path, environ={"AM_LOG_BODIES": "true"})
    assert json.loads(result.stderr.splitlines()[0])["message"].startswith("log_bodies is on")
