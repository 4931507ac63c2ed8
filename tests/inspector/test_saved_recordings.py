"""A turn that the inspector keeps is saved as a recording, which is replayed without a difference."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

import httpx
import pytest
from websockets.sync.client import connect

from app.cli.replay import replay
from app.cli.replayed_turn import NotReplayedError, differences
from app.recordings.reading import read
from app.settings import Key, Model, Secret, Server, Settings, Upstream
from tests.inspector.test_time_of_turns import searched
from tests.inspector.test_turn_endpoints import KEYS
from tests.support.provider_lanes import LANES, RELAYED, wired
from tests.support.serving import serving
from tests.upstreams.test_paused_answers import GOES_ON, PAUSES
from tests.wire.script import calls, says, stops, text_turn, thinks
from tests.wire.servers import AnthropicUpstream, Calls, ChatUpstream, Cut, Says, Script, Status, Thinks

Json = dict[str, Any]
EVERY: Final = {**LANES, **RELAYED}
TOOL: Final = {"type": "function", "name": "ls", "parameters": {"type": "object", "properties": {}}}
PICTURE: Final = "data:image/png;base64," + "iVBORw0KGgo" * 100
LONG_PICTURE: Final = "data:image/png;base64," + "iVBORw0KGgo" * 60_000
KEY: Final = "sk-abcdef123456"
SEALED: Final = {"type": "reasoning", "summary": [], "encrypted_content": "gAAAAA" + "x" * 400}
BUSY: Final = Status(503, {"error": {"message": "busy"}}, {"retry-after": "0"})


@contextmanager
def watching(*scripts: Script, keys: tuple[Key, ...] = (), **server: Any) -> Iterator[str]:
    """The address of a server whose model answers so."""
    with ChatUpstream(*scripts) as upstream:
        upstream.may_violate = True  # a server that refuses `stream_options` is asked without
        up = Upstream(via="chat", base_url=upstream.url, system_role="developer")
        settings = Settings(
            server=Server(watch=9, **server), keys=keys, upstreams={"up": up}, models={"m": Model(upstream="up")}
        )
        with serving(settings) as url:
            yield url


def post(url: str, **fields: Any) -> None:
    httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi", "stream": True} | fields, timeout=30)


def saved(url: str, number: int = 1, headers: Json | None = None) -> httpx.Response:
    """The answer, once the turn has been kept: its client may have its own a little earlier."""
    while True:
        answer = httpx.get(f"{url}/inspector/turns/{number}/recording", headers=headers)
        if "still runs" not in answer.text:
            return answer
        time.sleep(0.05)


def unzipped(answer: httpx.Response, folder: Path) -> Path:
    """The folder that was saved, as anybody would unzip it."""
    assert answer.headers["content-type"] == "application/zip", answer.text
    with ZipFile(BytesIO(answer.content)) as archive:
        archive.extractall(folder)
    return folder / "turn-1"


CASES: Final[dict[str, tuple[list[Script], Json]]] = {
    "text": ([[thinks("Hm."), *text_turn("Grüße 🎈")]], {"instructions": "Be brief."}),
    "no stream": ([text_turn("Hi")], {"stream": False}),
    "a call": ([[says("I look."), calls(0, "ls", arguments="{}"), stops()]], {"tools": [TOOL]}),
    "a warning": ([text_turn("Hi")], {"tools": [{"type": "web_search"}]}),
    "a key": ([[says("sk-abc"), says("def123456"), says(" it is"), stops()]], {"input": f"Say {KEY}"}),
    "a picture": ([text_turn("Nice")], {"input": [{"role": "user", "content": [
        {"type": "input_image", "image_url": PICTURE}, {"type": "input_text", "text": "And?"}]}]}),
    "reasoning for the client": ([[thinks("Hm."), *text_turn("Hi")]], {"include": ["reasoning.encrypted_content"]}),
    "encrypted reasoning of another server": (
        [text_turn("Hi")], {"input": [SEALED, {"role": "user", "content": "Hi"}]}
    ),
    "a second try": ([[BUSY], text_turn("Hi")], {}),
    "two tries that failed": ([[BUSY], [BUSY]], {}),
    "a refusal": ([[Status(401, {"error": {"message": f"bad key {KEY}"}})]], {}),
    "a refusal without a stream": ([[Status(400, {"error": {"message": "no"}})]], {"stream": False}),
    "another body after a refusal": ([[Status(400, {"error": {"message": "stream_options?"}})], text_turn("Hi")], {}),
    "an answer that broke off": ([[says("Hel"), Cut()]], {}),
    "an answer that broke off without a stream": ([[says("Hel"), Cut()]], {"stream": False}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_saved_turn_is_replayed_without_a_difference(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scripts, fields = CASES[name]
    with watching(*scripts) as url:
        post(url, **fields)
        folder = unzipped(saved(url), tmp_path)
    assert KEY not in "".join(file.read_text() for file in folder.iterdir())
    assert replay(folder, as_json=False, timing=False) == 0, capsys.readouterr().out
    made = read(folder)
    assert made.about.settings["upstreams"]["up"]["base_url"].split("/")[2].endswith(".invalid")
    assert made.exchanges[0].arrivals[-1].at >= made.exchanges[0].arrivals[0].at > 0


def test_a_difference_of_a_saved_turn_is_found(tmp_path: Path) -> None:
    with watching(text_turn("Hello there")) as url:
        post(url)
        folder = unzipped(saved(url), tmp_path)
    file = folder / "upstream.jsonl"
    file.write_text(file.read_text().replace("Hello", "Howdy"))
    assert asyncio.run(differences(read(folder)))


def test_the_body_is_the_one_that_the_server_got(tmp_path: Path) -> None:
    with watching(text_turn("Hi")) as url:
        post(url, instructions="Be brief.")
        folder = unzipped(saved(url), tmp_path)
        [ask] = httpx.get(f"{url}/inspector/turns/1").json()["asks"]
    assert [message["role"] for message in ask["body"]["messages"]] == ["developer", "user"]
    assert read(folder).exchanges[0].ask == ask["body"]


def test_a_paused_answer(tmp_path: Path) -> None:
    with AnthropicUpstream(PAUSES, GOES_ON) as server:
        up = Upstream(via="messages", base_url=server.url, api_key=Secret("sk-upstream"))
        model = Model(upstream="up", name="claude-sonnet-4-6", web_search=True)
        with serving(Settings(server=Server(watch=5), upstreams={"up": up}, models={"m": model})) as url:
            post(url, tools=[{"type": "web_search"}])
            folder = unzipped(saved(url), tmp_path)
    made = read(folder)
    assert len(made.exchanges) == 2
    assert asyncio.run(differences(made)) == []


def test_a_request_that_no_upstream_was_asked_for(tmp_path: Path) -> None:
    with watching(text_turn("Hi"), strict=True) as url:
        post(url, tools=[{"type": "web_search"}])
        folder = unzipped(saved(url), tmp_path)
    made = read(folder)
    assert (made.exchanges, made.about.outcome["status"]) == ([], 400)
    assert asyncio.run(differences(made)) == []


def test_a_turn_that_searched_is_saved_but_not_replayed(tmp_path: Path) -> None:
    with searched() as url:
        folder = unzipped(saved(url), tmp_path)
    made = read(folder)
    assert len(made.exchanges) == 2
    with pytest.raises(NotReplayedError, match="searched the web"):
        asyncio.run(differences(made))


@pytest.mark.parametrize("words", ["Hi", "busy", "think, then fail", "cut"])
def test_the_demo(words: str, tmp_path: Path) -> None:
    with serving(Settings(server=Server(watch=5))) as url:
        post(url, model="demo", input=words)
        folder = unzipped(saved(url), tmp_path)
    assert asyncio.run(differences(read(folder))) == []


def test_a_turn_of_a_websocket_that_continues_another(tmp_path: Path) -> None:
    with watching(text_turn("Hello"), text_turn("Later")) as url:
        with connect(f"{url.replace('http', 'ws')}/v1/responses") as websocket:
            more: Json = {}
            for text in ("Hi", "And now?"):
                websocket.send(json.dumps({"type": "response.create", "model": "m", "input": text, **more}))
                while (event := json.loads(websocket.recv(timeout=10)))["type"] != "response.completed":
                    pass
                more = {"previous_response_id": event["response"]["id"]}
        unzipped(saved(url, 2), tmp_path)
    made = read(tmp_path / "turn-2")
    assert made.about.transport == "websocket"
    assert asyncio.run(differences(made)) == []


@pytest.mark.parametrize("name", EVERY)
def test_turns_of_every_provider_are_saved_with_the_reasoning_that_a_client_sends_back(
    name: str, tmp_path: Path
) -> None:
    asked = {"model": name, "tools": [TOOL], "reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"]}
    hi = {"role": "user", "content": "Hi"}
    with wired({name: EVERY[name]}, server=Server(watch=5)) as server:
        server.wires[name].say([Thinks("Let me see."), Says("It is "), Calls("ls", "{}")], [Says("Done.")])
        output = httpx.post(f"{server.url}/v1/responses", json={**asked, "input": [hi]}, timeout=30).json()["output"]
        result = {"type": "function_call_output", "call_id": output[-1]["call_id"], "output": "a.txt"}
        post(server.url, **asked, input=[hi, *output, result])
        shown = httpx.get(f"{server.url}/inspector/turns/2").text
        for number in (1, 2):
            unzipped(saved(server.url, number), tmp_path)
    for item in output:
        assert item.get("encrypted_content", "?" * 99) not in shown
    for number in (1, 2):
        assert asyncio.run(differences(read(tmp_path / f"turn-{number}"))) == []
    if any(item.get("encrypted_content") for item in output):
        request = read(tmp_path / "turn-2").request
        assert all("AM2." not in item.get("encrypted_content", "") for item in request["input"])
        assert all("left out" not in item.get("encrypted_content", "") for item in request["input"])


NOT_KEPT: Final[dict[str, tuple[list[Script], Json, str]]] = {
    "a long request": ([text_turn("Hi")], {"input": "x" * 4_200_000}, "The request is not kept in full"),
    "a long picture": (
        [text_turn("Hi")],
        {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": LONG_PICTURE}]}]},
        "The request is not kept in full",
    ),
    "a long answer": ([text_turn("word " * 250_000)], {}, "too long to be kept in full"),
    "no request": ([], {"model": 5}, "refused before it was understood"),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_KEPT)
def test_what_is_not_kept_is_said(name: str) -> None:
    scripts, fields, words = NOT_KEPT[name]
    with watching(*(scripts or [text_turn("Hi")])) as url:
        post(url, **fields)
        answer = saved(url)
    assert answer.status_code == 404
    assert words in answer.json()["error"]["message"]
    assert "--record DIR" in answer.json()["error"]["message"]


def test_only_who_may_see_the_settings_of_the_server_gets_a_recording() -> None:
    with watching(text_turn("Hi"), text_turn("Hi"), keys=KEYS) as url:
        alice, bob = ({"authorization": f"Bearer {name}"} for name in ("alice", "bob"))
        httpx.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi"}, headers=alice)
        answers = [saved(url), saved(url, 1, bob), saved(url, 1, alice), saved(url, 99, alice)]
    assert [answer.status_code for answer in answers] == [401, 404, 404, 404]
    assert "settings of this server" in answers[2].json()["error"]["message"]
    with watching(text_turn("Hi")) as url:
        post(url)
        assert saved(url, 1, {"x-forwarded-for": "10.0.0.1"}).status_code == 404
        assert saved(url).status_code == 200
