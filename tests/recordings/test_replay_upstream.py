"""`via = "replay"` serves recordings: the recorded answer to each recorded ask, and a clear refusal of any other."""

import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.recordings.folders import folders_in
from app.recordings.recording import Recording
from app.settings import Model, Server, Settings, Upstream
from tests.support.provider_lanes import LANES, RELAYED, wired
from tests.support.recorded import one_upstream, recorded, recording
from tests.support.running import run
from tests.support.serving import serving
from tests.wire.script import says, stops, text_turn
from tests.wire.servers import Calls, ChatUpstream, Pause, ResponsesUpstream, Says, Status, Thinks

Json = dict[str, Any]


def replaying(folder: Path, name: str = "u", model: str = "m", theirs: str | None = None, **upstream: Any) -> Settings:
    """One model that answers from this folder. `theirs`: its name at the upstream."""
    table = Upstream(via="replay", recordings=str(folder), **upstream)
    return Settings(server=Server(), upstreams={name: table}, models={model: Model(upstream=name, name=theirs)})


def post(url: str, body: Json) -> httpx.Response:
    return httpx.post(f"{url}/v1/responses", json={"model": "m", **body}, timeout=30)


def text_of(answer: httpx.Response) -> str:
    return "".join(
        part["text"] for item in answer.json()["output"] if item["type"] == "message" for part in item["content"]
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two questions, of which the first was asked twice."""
    folder = tmp_path_factory.mktemp("recorded") / "all"
    failed = [Status(400, {"error": {"message": "no such city", "param": "x"}})]
    with ChatUpstream(text_turn("One"), text_turn("Two"), failed) as upstream:
        recorded(one_upstream(upstream.url), folder, *[{"input": text} for text in ("Hi", "Hi", "Rome?")])
    return folder


def test_each_request_gets_the_answers_that_it_got(folder: Path) -> None:
    with serving(replaying(folder)) as url:
        assert [text_of(post(url, {"input": "Hi"})) for _ in range(4)] == ["One", "Two", "Two", "Two"]
        failed = post(url, {"input": "Rome?"})
    assert (failed.status_code, "no such city" in failed.text) == (400, True)


def test_the_model_may_have_another_name_here(folder: Path) -> None:
    with serving(replaying(folder, "any", "other")) as url:
        assert text_of(post(url, {"model": "other", "input": "Hi"})) == "One"


def test_another_request_is_refused_with_what_is_nearest(folder: Path) -> None:
    with serving(replaying(folder)) as url:
        refused = post(url, {"input": "Ho", "tools": [{"type": "function", "name": "f"}]})
        assert text_of(post(url, {"input": "Hi"})) == "One"
    [name] = [each.name for each in folders_in(folder)[:1]]
    assert refused.status_code == 400
    assert refused.json()["error"]["message"] == (
        f'No recording has this request. The nearest is in {name}: messages[0].content is "Hi" there, and "Ho" here.'
    )


def test_the_pace_is_kept_where_that_is_wanted(tmp_path: Path) -> None:
    with ChatUpstream([says("a"), Pause(0.8), says("b"), stops()]) as upstream:
        recorded(one_upstream(upstream.url), tmp_path, {})
    for pace in (False, True):
        with serving(replaying(tmp_path, recorded_pace=pace)) as url:
            begun = time.monotonic()
            assert text_of(post(url, {"input": "Hi"})) == "ab"
            assert (time.monotonic() - begun >= 0.8) is pace


def first_turn(name: str, text: str) -> Json:
    tool = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
    return {"model": name, "input": [{"role": "user", "content": text}], "tools": [tool],
            "include": ["reasoning.encrypted_content"]}  # fmt: skip


def loop(url: str, name: str, text: str = "Go.") -> Json:
    """An agent's loop of two turns: the second sends back what the first has said."""
    body = first_turn(name, text)
    first = post(url, body).json()
    assert "output" in first, first
    call = next(item for item in first["output"] if item["type"] == "function_call")
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "done"}
    answer = post(url, {**body, "input": [*body["input"], *first["output"], output]})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


SOME = ("anthropic, as messages", "deepseek, directly", "gemini", "vllm, as responses")


@pytest.mark.parametrize("name", SOME)
def test_an_agent_does_its_loop_once_more_without_the_server(name: str, tmp_path: Path) -> None:
    """Whatever way the server was asked, with the thoughts that it needs back."""
    lanes = {name: {**LANES, **RELAYED}[name]}
    with wired(lanes, server=Server(record=str(tmp_path / "all"))) as server:
        server.wires[name].say([Thinks("Hm."), Calls("f", "{}")], [Says("Done.")])
        then = loop(server.url, name)
    with serving(replaying(tmp_path / "all", name, name, lanes[name].wire.model)) as url:
        now = loop(url, name)
    assert [item["type"] for item in now["output"]] == [item["type"] for item in then["output"]]
    assert now["usage"] == then["usage"]


def test_a_loop_whose_ids_are_made_by_am_proxy(tmp_path: Path) -> None:
    """The demo gives its calls no ids, so they differ each time."""
    settings = Settings(models={"m": Model(upstream="demo")})
    with recording(settings, tmp_path) as url:
        then = loop(url, "m", "f")
    with serving(replaying(tmp_path, "demo")) as url:
        assert [item["type"] for item in loop(url, "m", "f")["output"]] == [item["type"] for item in then["output"]]


def test_recordings_of_several_upstreams(tmp_path: Path) -> None:
    with ResponsesUpstream([Status(500)]) as first, ChatUpstream(text_turn("Hi")) as second:
        settings = Settings(
            upstreams={
                "a": Upstream(via="responses", base_url=first.url),
                "b": Upstream(via="chat", base_url=second.url),
            },
            models={"m": Model.model_validate({"upstreams": ["a", "b"]})},
        )
        recorded(settings, tmp_path, {"input": "Hi"})
    with serving(replaying(tmp_path, "b")) as url:
        assert text_of(post(url, {"input": "Hi"})) == "Hi"
    with serving(replaying(tmp_path, "a")) as url:
        assert post(url, {"input": "Hi"}).status_code == 502
    with pytest.raises(Exception, match=r"has recordings of a, b: name \[upstreams\.c\] like one of these"):
        serving(replaying(tmp_path, "c")).__enter__()


def config(folder: Path, tmp_path: Path) -> Path:
    file = tmp_path / "am-proxy.toml"
    file.write_text(
        f'[upstreams.u]\nvia = "replay"\nrecordings = {json.dumps(str(folder))}\n[models."*"]\nupstream = "u"\n'
    )
    return file


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "cannot be read: No such file or directory"),
        ({}, "has no recording"),
        ({"x": b"{}"}, "recording.json is missing"),
        ({"recording.json": b"{"}, "recording.json is not JSON"),
        ({"recording.json": b'{"format": 9}'}, "its format is 9, and this AM Proxy reads 1"),
    ],
)
def test_unfit_recordings_are_a_mistake_at_the_start(content: Any, why: str, tmp_path: Path) -> None:
    folder = tmp_path / "all"
    if content is not None:
        folder.mkdir()
    if content:
        (folder / "one").mkdir()
        for name, data in content.items():
            (folder / "one" / name).write_bytes(data)
    config(folder, tmp_path)
    done = run("serve", "--port", "0", folder=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert why in done.stderr
    assert done.stderr.startswith("am-proxy: recordings: ")
    assert why in run("doctor", folder=tmp_path).stdout


def test_doctor_and_probe_connect_to_nothing(folder: Path, tmp_path: Path) -> None:
    config(folder, tmp_path)
    done = run("doctor", folder=tmp_path)
    assert (done.returncode, "2 different requests, recorded with via = chat" in done.stdout) == (0, True)
    assert "api_key" not in run("check", folder=tmp_path).stdout
    assert "not probed: it runs inside this server" in run("check", "--probe", folder=tmp_path).stdout


def test_what_is_replayed_can_be_recorded_once_more(folder: Path, tmp_path: Path) -> None:
    found: list[Recording] = recorded(replaying(folder), tmp_path / "again", {"input": "Hi"})
    assert [each.about.outcome["finish"] for each in found] == ["completed"]
    assert "One" in "".join(arrival.text or "" for arrival in found[0].exchanges[0].arrivals)
