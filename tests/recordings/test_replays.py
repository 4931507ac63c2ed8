"""Turns of every kind are replayed without a difference; a change of behaviour shows where it is."""

import asyncio
import json
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect

from app.cli.replayed_turn import NotReplayedError, differences
from app.recordings.reading import NoRecordingError
from app.recordings.recording import Recording
from app.settings import Model, Server, Settings, Upstream
from tests.support.recorded import one_upstream, recorded, recording, recordings_in
from tests.wire.script import says, stops, text_turn, thinks
from tests.wire.servers import ChatUpstream, Cut, Hang, Pause, ResponsesUpstream, Script, Status

Json = dict[str, Any]
HISTORY = [
    {"role": "user", "content": "Remember this. " * 60},
    {"role": "assistant", "content": "OK."},
    {"role": "user", "content": "Go on."},
]
NO_FUNCTION = {"tools": [{"type": "function", "name": "f"}], "tool_choice": {"type": "function", "name": "g"}}
SHELL = {"tools": [{"type": "custom", "name": "say"}]}
BUSY = Status(503, {"error": {"message": "busy"}}, {"retry-after": "0"})
SLOW = Status(429, {"error": {"message": "slow"}}, {"retry-after": "30"})
LARGE = Status(400, {"error": {"message": "maximum context length is 9 tokens", "code": "context_length_exceeded"}})

CASES: dict[str, tuple[list[Script], Json]] = {
    "text": ([[thinks("Hm."), *text_turn("Hi")]], {}),
    "no stream": ([text_turn("Hi")], {"stream": False}),
    "retried": ([[BUSY], text_turn("Hi")], {}),
    "refused": ([[Status(401, {"error": {"message": "bad key"}})]], {}),
    "refused without a stream": ([[SLOW]], {"stream": False}),
    "too long": ([[LARGE]], {}),
    "cut off": ([[says("Hel"), Cut()]], {}),
    "cut off without a stream": ([[says("Hel"), Cut()]], {"stream": False}),
    "nothing": ([[]], {}),
    "no stream of events": ([[b"<html>"]], {}),
    "silent": ([[Hang()]], {}),
    "silent in the middle": ([[says("Hel"), Hang()]], {}),
    "not translated": ([], NO_FUNCTION),
    "a warning": ([text_turn("Hi")], {"tools": [{"type": "web_search"}]}),
    "a summary first": (
        [text_turn("1. It was remembered."), text_turn("Yes.")],
        {"input": HISTORY, "context_management": [{"type": "compaction", "compact_threshold": 100}]},
    ),
    "a picture": ([text_turn("Nice")], {"input": [{"role": "user", "content": [
        {"type": "input_image", "image_url": "data:image/png;base64," + "iVBORw0KGgo" * 100},
        {"type": "input_text", "text": "And é?"},
    ]}]}),
    "a key": ([[says("sk-abc"), says("def123456"), says(" it is"), stops()]], {"input": "Say sk-abcdef123456"}),
}  # fmt: skip


def replayed(made: Recording) -> list[Any]:
    return asyncio.run(differences(made))


@pytest.mark.parametrize("name", CASES)
def test_a_turn_is_replayed_as_it_was(name: str, tmp_path: Path) -> None:
    scripts, body = CASES[name]
    with ChatUpstream(*scripts) if scripts else ChatUpstream() as upstream:
        [made] = recorded(one_upstream(upstream.url, timeout=0.4), tmp_path, body)
    assert replayed(made) == []


def test_what_is_not_known_is_not_waited_for(tmp_path: Path) -> None:
    """AM Proxy stopped reading at a limit; with another limit it would read more."""
    with ChatUpstream([says("word " * 300_000), says("more"), Hang()]) as upstream:
        settings = one_upstream(upstream.url)
        settings = replace(settings, server=Server(max_answer_bytes=1024 * 1024))
        [made] = recorded(settings, tmp_path, {})
    assert made.exchanges[0].arrivals[-1].closed
    assert replayed(made) == []
    made.about.settings["server"] = {}
    begun = time.monotonic()
    assert replayed(made)[-1][0].startswith(("event", "outcome"))
    assert time.monotonic() - begun < 5


def test_several_upstreams(tmp_path: Path) -> None:
    with ExitStack() as stack:
        first = stack.enter_context(ResponsesUpstream([Status(500)]))
        second = stack.enter_context(ChatUpstream([Status(503)], [Status(503)]))
        third = stack.enter_context(ChatUpstream(text_turn("Hi")))
        settings = Settings(
            upstreams={
                "a": Upstream(via="responses", base_url=first.url),
                "b": Upstream(via="chat", base_url=second.url, system_role="developer"),
                "c": Upstream(via="litellm", base_url=third.url),
                "d": Upstream(via="chat", base_url="http://127.0.0.1:9/v1"),
            },
            models={"m": Model.model_validate({"upstreams": ["d", "a", "b", "c"], "names": {"c": "theirs"}})},
        )
        [made] = recorded(settings, tmp_path, {"instructions": "Be brief."})
    assert made.about.upstreams == ["d", "d", "a", "b", "b", "c"]
    assert replayed(made) == []


def test_a_conversation_over_a_websocket(tmp_path: Path) -> None:
    async def talk(url: str) -> None:
        async with connect(
            url.replace("http", "ws") + "/v1/responses", additional_headers={"originator": "codex_x"}
        ) as ws:
            more: Json = {}
            for text in ("Hi", "And now?"):
                await ws.send(json.dumps({"type": "response.create", "model": "m", "input": text, **more}))
                while (event := json.loads(await ws.recv()))["type"] != "response.completed":
                    pass
                more = {"previous_response_id": event["response"]["id"]}

    with (
        ChatUpstream(text_turn("Hello"), text_turn("Later")) as upstream,
        recording(one_upstream(upstream.url), tmp_path) as url,
    ):
        asyncio.run(talk(url))
    made = recordings_in(tmp_path)
    assert [(each.about.transport, each.about.for_codex) for each in made] == [("websocket", True)] * 2
    assert [replayed(each) for each in made] == [[], []]


def test_a_summary_alone(tmp_path: Path) -> None:
    with ChatUpstream(text_turn("1. It was.")) as upstream, recording(one_upstream(upstream.url), tmp_path) as url:
        body = {"model": "m", "input": HISTORY}
        assert httpx.post(f"{url}/v1/responses/compact", json=body).status_code == 200
    [made] = recordings_in(tmp_path)
    assert made.about.summary_only
    assert replayed(made) == []


def test_a_client_that_left_is_compared_up_to_there(tmp_path: Path) -> None:
    body = {"model": "m", "input": "Hi", "stream": True}
    with (
        ChatUpstream([says("Hello"), Hang()]) as upstream,
        recording(one_upstream(upstream.url), tmp_path) as url,
        httpx.stream("POST", f"{url}/v1/responses", json=body) as answer,
    ):
        next(line for line in answer.iter_lines() if "output_text.delta" in line)
    [made] = recordings_in(tmp_path)
    assert replayed(made) == []
    made.events[-1].event["delta"] = "Bye"  # type: ignore[index]
    assert [(each.where, each.recorded, each.now) for each in replayed(made)] == [("event 5, delta", "Bye", "Hello")]


@pytest.mark.parametrize("frame", ["response.interrupt", "response.cancel"])
def test_a_response_that_was_stopped_is_compared_up_to_there(frame: str, tmp_path: Path) -> None:
    async def talk(url: str) -> None:
        async with connect(url.replace("http", "ws") + "/v1/responses") as ws:
            await ws.send(json.dumps({"type": "response.create", "model": "m", "input": "Hi"}))
            while (event := json.loads(await ws.recv()))["type"] != "response.output_text.delta":
                pass
            await asyncio.sleep(0.05)
            await ws.send(json.dumps({"type": frame}))
            while (event := json.loads(await ws.recv()))["type"] != "response.incomplete":
                pass
            assert event["response"]["incomplete_details"]

    with ChatUpstream([says("Hello"), Hang()]) as upstream, recording(one_upstream(upstream.url), tmp_path) as url:
        asyncio.run(talk(url))
    [made] = recordings_in(tmp_path)
    assert made.about.outcome["reason"] in {"interrupted", "cancelled"}
    assert replayed(made) == []


@pytest.fixture
def made(tmp_path: Path) -> Recording:
    with ChatUpstream(text_turn("Hi")) as upstream:
        [made] = recorded(one_upstream(upstream.url), tmp_path, {"instructions": "Be brief."})
    return made


def test_a_change_of_what_is_asked(made: Recording) -> None:
    made.exchanges[0].ask["messages"][0]["content"] = "Be long."
    assert replayed(made) == [("ask 1, messages[0].content", "Be long.", "Be brief.")]


def test_a_change_of_the_answer(made: Recording) -> None:
    position = next(index for index, arrival in enumerate(made.exchanges[0].arrivals) if "Hi" in (arrival.text or ""))
    arrival = made.exchanges[0].arrivals[position]
    made.exchanges[0].arrivals[position] = type(arrival)(at=1, text=(arrival.text or "").replace("Hi", "Ho"))
    found = replayed(made)
    assert found[0] == ("event 5, delta", "Hi", "Ho")
    assert found[-1][1:] == ("Hi", "Ho")


def test_one_more_ask(made: Recording) -> None:
    made.exchanges.append(made.exchanges[0])
    assert replayed(made) == [("ask 2", "to u", None)]
    del made.exchanges[:]
    assert replayed(made)[0] == ("ask 1", None, "to u")


def test_a_change_of_a_setting(made: Recording) -> None:
    made.about.settings["upstreams"]["u"]["system_role"] = "developer"
    assert replayed(made) == [("ask 1, messages[0].role", "system", "developer")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"settings": {}}, "its settings are not understood: 'upstreams'"),
        ({"settings": {"upstreams": {"u": {"via": "magic"}}, "model": {"upstream": "u"}}}, "validation error"),
        ({"settings": {"upstreams": 7}}, "its settings are not understood"),
        ({"settings": {"upstreams": {"u": {"via": "chat"}}, "model": {"upstream": "v"}}}, "understood: 1 validation"),
    ],
)  # fmt: skip
def test_settings_from_anybody(made: Recording, change: Json, message: str) -> None:
    for name, value in change.items():
        setattr(made.about, name, value)
    with pytest.raises(NoRecordingError, match=message):
        replayed(made)


def test_an_outcome_from_anybody(made: Recording) -> None:
    made.about.outcome.update(finish=["completed"], reason={})
    assert replayed(made)[0][:2] == ("outcome, finish", ["completed"])


def test_a_refusal_behind_litellm_whose_reason_the_operator_sees(tmp_path: Path) -> None:
    with ChatUpstream([Status(401, {"error": {"message": "bad key"}})]) as upstream:
        table = Upstream(via="litellm", base_url=upstream.url)
        settings = Settings(upstreams={"u": table}, models={"m": Model(upstream="u")})
        [made] = recorded(settings, tmp_path, {})
    assert "answered 401" in str(made.events)
    assert replayed(made) == []


@pytest.mark.parametrize("via", ["chat", "litellm"])
def test_a_refusal_after_the_stream_has_begun(via: str, tmp_path: Path) -> None:
    with ChatUpstream([Pause(0.6), Status(400, {"error": {"message": "No."}})]) as upstream:
        [made] = recorded(one_upstream(upstream.url, via=via), tmp_path, {}, first_payload_wait=0.1)
    assert made.about.outcome["finish"] == "failed"
    assert replayed(made) == []


def test_what_is_missing_is_said(made: Recording) -> None:
    made.about.left_out.append("It was too long.")
    with pytest.raises(NotReplayedError, match="not all of it was recorded: It was too long"):
        replayed(made)


def test_the_pace_is_kept_where_that_is_wanted(tmp_path: Path) -> None:
    with ChatUpstream([says("a"), Pause(0.8), says("b"), stops()]) as upstream:
        [made] = recorded(one_upstream(upstream.url), tmp_path, {})
    loop = asyncio.new_event_loop()
    begun = loop.time()
    assert loop.run_until_complete(differences(made)) == []
    quick = loop.time() - begun
    assert loop.run_until_complete(differences(made, keeps_pace=True)) == []
    assert loop.time() - begun - quick >= 0.8 > quick
    loop.close()
