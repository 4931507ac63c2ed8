"""A server that records writes each turn into a folder of its own: every ask with its bytes, and every event."""

import json
import re
import threading
import time
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from app.observers.recorded_settings import nowhere
from app.options import Via
from app.recordings import recording_files
from app.recordings.recording import Exchange, Recording
from app.settings import Key, Model, Secret, Server, Settings, Upstream
from tests.support.recorded import one_upstream, recorded, recording, recordings_in, with_folder
from tests.support.serving import serving
from tests.wire.script import says, stops, text_turn
from tests.wire.servers import AnthropicUpstream, ChatUpstream, Cut, Hang, ResponsesUpstream, Script, Status

SETTINGS = Settings(models={"m": Model(upstream="demo")})


def body_of(exchange: Exchange) -> str:
    return "".join(arrival.text or "" for arrival in exchange.arrivals)


def kinds(recording: Recording) -> list[str]:
    return [line.event["type"] if line.event else "refused" for line in recording.events]


def test_a_turn_with_a_chat_server(tmp_path: Path) -> None:
    with ChatUpstream(text_turn("Hello")) as upstream:
        [made] = recorded(one_upstream(upstream.url, timeout=7), tmp_path, {"metadata": {"a": "b"}})
        [ask] = upstream.asks
    [exchange] = made.exchanges
    assert made.request == {"model": "m", "input": "Hi", "stream": True, "metadata": {"a": "b"}}
    assert (exchange.upstream, exchange.ask) == ("u", ask.body)
    assert exchange.arrivals[0].status == 200
    assert body_of(exchange).encode() == bytes(ask.told)
    assert kinds(made)[0] == "response.created"
    assert kinds(made)[-1] == "response.completed"
    times = [arrival.at for arrival in exchange.arrivals] + [line.at for line in made.events]
    assert 0 < min(times) <= max(times) < 10_000
    address = nowhere(upstream.url)
    assert re.fullmatch(r"http://[0-9a-f]{12}\.invalid/v1", address)
    assert made.about.settings == {
        "model": {"upstream": "u"},
        "upstreams": {"u": {"via": "chat", "timeout": 7, "base_url": address}},
    }
    outcome = {name: made.about.outcome[name] for name in ("finish", "status")}
    assert (outcome, made.about.left_out) == ({"finish": "completed", "status": 200}, [])


def test_nothing_is_recorded_unless_it_is_wanted(tmp_path: Path) -> None:
    with serving(SETTINGS) as url:
        httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi"})
    assert list(tmp_path.iterdir()) == []


def test_every_ask_of_a_turn(tmp_path: Path) -> None:
    """A retry, and another upstream."""
    busy = Status(503, {"error": {"message": "busy"}}, {"retry-after": "0", "x-secret": "1"})
    with (
        ChatUpstream([busy]) as first,
        ResponsesUpstream([Status(500)]) as second,
        ChatUpstream(text_turn("Hi")) as third,
    ):
        settings = Settings(
            upstreams={
                "a": Upstream(via="chat", base_url=first.url),
                "b": Upstream(via="responses", base_url=second.url),
                "c": Upstream(via="chat", base_url=third.url),
            },
            models={"m": Model.model_validate({"upstreams": ["a", "b", "c"]})},
        )
        [made] = recorded(settings, tmp_path, {})
    assert made.about.upstreams == ["a", "a", "b", "c"]
    heads = [exchange.arrivals[0] for exchange in made.exchanges]
    assert [head.status for head in heads] == [503, 503, 500, 200]
    assert heads[0].headers == {"retry-after": "0", "content-type": "application/json"}
    assert json.loads(body_of(made.exchanges[0])) == {"error": {"message": "busy"}}
    assert set(made.exchanges[2].ask) >= {"input", "model"}


FAILURES: dict[str, tuple[Script, str | None, bool, str]] = {
    "cut off": ([says("Hel"), Cut()], "broke_off", False, "response.failed"),
    "silent": ([Hang()], None, True, "refused"),
    "silent in the middle": ([says("Hel"), Hang()], None, True, "response.failed"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_an_answer_that_fails(name: str, tmp_path: Path) -> None:
    script, failed, closed, last = FAILURES[name]
    with ChatUpstream(script) as upstream:
        [made] = recorded(one_upstream(upstream.url, timeout=0.3), tmp_path, {})
    end = made.exchanges[-1].arrivals[-1]
    assert (end.failed, end.closed, kinds(made)[-1]) == (failed, closed, last)


def test_a_server_that_cannot_be_reached(tmp_path: Path) -> None:
    [made] = recorded(one_upstream("http://127.0.0.1:9/v1", retries=0), tmp_path, {})
    assert [[arrival.failed for arrival in exchange.arrivals] for exchange in made.exchanges] == [["unreachable"]]
    assert made.events[-1].refused is not None
    assert made.events[-1].refused["status"] == 502


def test_a_request_that_cannot_be_translated(tmp_path: Path) -> None:
    body = {"tools": [{"type": "function", "name": "f"}], "tool_choice": {"type": "function", "name": "g"}}
    [made] = recorded(SETTINGS, tmp_path, body)
    assert made.request["tool_choice"] == {"type": "function", "name": "g"}
    assert (made.exchanges, kinds(made)) == ([], ["refused"])


def test_a_request_that_is_not_understood_is_not_recorded(tmp_path: Path) -> None:
    assert recorded(SETTINGS, tmp_path, {"input": 7}) == []


def test_a_client_that_leaves(tmp_path: Path) -> None:
    with ChatUpstream([says("Hello"), Hang()]) as upstream, recording(one_upstream(upstream.url), tmp_path) as url:
        body = {"model": "m", "input": "Hi", "stream": True}
        with httpx.stream("POST", f"{url}/v1/responses", json=body) as answer:
            next(line for line in answer.iter_lines() if "output_text.delta" in line)
    [made] = recordings_in(tmp_path)
    assert made.about.outcome["finish"] == "disconnected"
    assert made.exchanges[0].arrivals[-1].closed


def test_litellm_and_the_demo_give_chunks(tmp_path: Path) -> None:
    with ChatUpstream(text_turn("Hello")) as upstream:
        table = Upstream(via="litellm", base_url=upstream.url)
        settings = Settings(upstreams={"u": table}, models={"m": Model(upstream="u")})
        [made] = recorded(settings, tmp_path / "litellm", {})
    [demo] = recorded(SETTINGS, tmp_path / "demo", {})
    for each in (made, demo):
        [exchange] = each.exchanges
        assert exchange.ask["messages"] == [{"role": "user", "content": "Hi"}]
        assert all(arrival.chunk["choices"] or arrival.chunk["usage"] for arrival in exchange.arrivals)
        assert kinds(each)[-1] == "response.completed"
    [refused] = recorded(SETTINGS, tmp_path / "busy", {"input": "busy"})
    assert refused.exchanges[0].arrivals[-1].problem == {
        "code": "rate_limit_exceeded", "message": "The demo was asked to be busy.", "param": "", "retry_after": 1,
        "elsewhere": False, "timed_out": False,
    }  # fmt: skip


def test_no_key_is_in_a_recording(tmp_path: Path) -> None:
    """Neither the client's, nor the upstream's, nor one that the model spells, nor one in an error."""
    key, own = "sk-of-the-client-123", "sk-of-the-upstream-456"
    spelled = [says("The key is s"), says("k-spelled"), says("-123"), says(" now."), stops()]
    failed = [Status(400, {"error": {"message": f"bad key {own} in https://me:hunter2hunter2@host/?api_key={own}"}})]
    with ChatUpstream(spelled, failed) as upstream:
        settings = Settings(
            keys=(),
            upstreams={"u": Upstream.model_validate({"via": "chat", "base_url": upstream.url, "api_key": own})},
            models={"m": Model(upstream="u")},
        )
        with recording(settings, tmp_path) as url:
            for stream in (True, False):
                body = {
                    "model": "m",
                    "input": f"Use {key}",
                    "stream": stream,
                    "metadata": {"password": "hunter2hunter2"},
                }
                headers = {"authorization": f"Bearer {key}", "cookie": "id=hunter2hunter2"}
                httpx.post(f"{url}/v1/responses?key={key}", json=body, headers=headers)
    [written, _] = [{file.name: file.read_text() for file in folder.iterdir()} for folder in sorted(tmp_path.iterdir())]
    assert "now." in written["events.jsonl"]
    for text in (file.read_text() for folder in sorted(tmp_path.iterdir()) for file in folder.iterdir()):
        for secret in ("of-the-client", "of-the-upstream", "spelled", "hunter2"):
            assert secret not in text


@pytest.mark.parametrize("via", ["chat", "messages", "responses", "litellm"])
def test_a_configured_key_that_a_server_repeats_is_in_no_recording(via: Via, tmp_path: Path) -> None:
    """It looks like no key of a known provider."""
    key = "ourhouse4711plain"
    whole = {"stream": False}
    refused = [Status(code, {"error": {"message": f"{key} is wrong."}}) for code in (401, 400)]
    kind = {"responses": ResponsesUpstream, "messages": AnthropicUpstream}.get(via, ChatUpstream)
    with kind(*([each] for each in refused)) as upstream:
        made = recorded(one_upstream(upstream.url, via=via, api_key=Secret(key), retries=0), tmp_path, whole, whole)
    assert [each.exchanges[0].ask is not None for each in made] == [True, True]
    assert "is wrong." in str(made)
    assert key not in "".join(file.read_text() for folder in sorted(tmp_path.iterdir()) for file in folder.iterdir())


def test_a_turn_that_is_too_long_says_what_is_missing(tmp_path: Path) -> None:
    with ChatUpstream([says("word " * 1000), stops()]) as upstream:
        [made] = recorded(one_upstream(upstream.url), tmp_path / "answer", {}, record_turn_bytes=4000)
        [request] = recorded(
            one_upstream(upstream.url), tmp_path / "request", {"input": "a" * 5000}, record_turn_bytes=4000
        )
    assert made.about.left_out == ["It is longer than record_turn_bytes: the rest of an answer is missing."]
    assert made.request is not None
    assert request.about.left_out == ["It is longer than record_turn_bytes: the request is missing."]
    assert (request.request, request.events) == (None, [])
    assert request.about.outcome["finish"] == "completed"


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Those about recordings, without the first, which every server begins with."""
    found = [record.getMessage() for record in caplog.records if record.getMessage().startswith("record")]
    assert found[0].startswith("record is on: ")
    return found[1:]


def test_a_full_folder_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made = recorded(SETTINGS, tmp_path, *[{}] * 4, record_bytes=20_000)
    assert 0 < len(made) < 4
    assert sum(file.stat().st_size for folder in sorted(tmp_path.iterdir()) for file in folder.iterdir()) <= 20_000
    assert warnings_of(caplog) == [f"record: {tmp_path} is full, so nothing more is recorded: see record_bytes"]
    assert len(recorded(SETTINGS, tmp_path, {}, record_bytes=20_000)) == len(made)


def test_one_of_several_callers_fills_a_quarter(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    keys = [Key(name=name, digest=sha256(name.encode()).digest()) for name in ("one", "other")]
    settings = Settings(server=Server(), keys=tuple(keys), models={"m": Model(upstream="demo")})
    with recording(settings, tmp_path, record_bytes=100_000) as url:
        for name in ("one", "one", "one", "other"):
            headers = {"authorization": f"Bearer {name}"}
            httpx.post(f"{url}/v1/responses", json={"model": "m", "input": name, "stream": True}, headers=headers)
    assert [made.request["input"] for made in recordings_in(tmp_path)].count("other") == 1
    assert 0 < [made.request["input"] for made in recordings_in(tmp_path)].count("one") < 3
    [said] = warnings_of(caplog)
    assert said == f"record: one has filled its share of {tmp_path}, a quarter, so no more of its turns are recorded"


def test_a_slow_disk_delays_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("app.observers.recording_writer.MOST_WAITING", 9)
    let_go = threading.Event()
    write = recording_files.files_of

    def slow(made: Recording) -> dict[str, bytes]:
        let_go.wait(20)
        return write(made)

    monkeypatch.setattr("app.observers.recording_writer.files_of", slow)
    with ExitStack() as stack:
        url = stack.enter_context(recording(SETTINGS, tmp_path, record_turn_bytes=40_000))
        stack.callback(let_go.set)
        started = time.monotonic()
        for _ in range(12):
            assert httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi"}).status_code == 200
        assert time.monotonic() - started < 5
    left_out = [each.about.left_out for each in recordings_in(tmp_path)]
    assert len(left_out) == 9
    assert 0 < left_out.count([]) < 9
    assert all(sentence.startswith("Too much waited to be written: ") for each in left_out for sentence in each)
    assert warnings_of(caplog) == [
        "record: recordings are incomplete, because too much waits",
        f"record: turns are not recorded, because {tmp_path} is written too slowly",
    ]


def test_a_folder_that_cannot_be_used_is_a_mistake_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for folder, why in ((tmp_path / "file", "is not a folder"), (tmp_path, "holds file, which is no recording")):
        with pytest.raises(Exception, match=why), serving(with_folder(SETTINGS, folder)):
            pass
