"""What is kept of turns, which of them belong together, and what is written by `--record`."""

import json
import stat
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from websockets.sync.client import connect

from tests.deploy.program import config, last, soon, started, streams
from tests.watch.looking import STRANGE, WEATHER, Json, Looker
from tests.wire.script import counts, says, stops
from tests.wire.servers import ChatUpstream, Latch, Pause, Status

KEY = "sk-proj-a1b2c3d4e5f6g7h8"
DATA = b64encode(b"\x89PNG\r\n\x1a\n" + b"pixels" * 200).decode()
FILE = b64encode(b"lines\n" * 200).decode()
GRACE = "[server]\nshutdown_grace = 1"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Looker]:
    """A server whose model is the embedded one, for tests that say nothing twice."""
    with started(tmp_path_factory.mktemp("demo")) as server:
        yield Looker(server)


def test_all_about_a_turn(tmp_path: Path) -> None:
    busy = Status(503, {"error": {"message": "All workers are busy."}}, {"retry-after": "0"})
    answer = [says("Hi "), says("you"), stops(), counts(20, 2, cached=10)]
    prices = "input_price = 1\ncached_input_price = 0.5\noutput_price = 10\n"
    with ChatUpstream([busy], answer) as up, started(tmp_path, config(up.url, "m") + prices) as server:
        looker = Looker(server)
        with looker.http.stream(
            "POST", "/v1/responses", json={"model": "m", "input": "Hello!", "stream": True}
        ) as sent:
            events = [json.loads(line[6:]) for line in sent.iter_lines() if line.startswith("data: {")]
        [row] = looker.ended(1)
        turn = looker.get("turns/1")
    assert turn["row"].items() <= row.items()
    about = ("model", "upstream", "finish", "status", "said", "answered", "asks", "calls", "cost_estimate")
    assert [row[name] for name in about] == ["m", "it", "completed", 200, "Hello!", "Hi you", 2, [], 3.5e-05]
    assert [row[f"{name}_tokens"] for name in ("input", "cached", "output")] == [20, 10, 2]
    assert turn["request"] == {"model": "m", "input": "Hello!", "stream": True}
    assert [each["event"] for each in turn["events"]] == events
    assert turn["response"] == events[-1]["response"]
    failed, answered = turn["asks"]
    assert (failed["status"], failed["first"]) == (503, None)
    assert "All workers are busy." in failed["text"]
    assert "All workers are busy." in failed["cause"]
    assert answered["body"]["messages"] == [{"role": "user", "content": "Hello!"}]
    assert answered["text"].count("data: ") == 5
    times = [0, failed["at"], failed["end"], answered["at"], answered["first"], answered["end"]]
    assert times == sorted(times)
    assert answered["end"] <= turn["events"][-1]["at"] <= row["duration_ms"] + 1


def test_the_list_is_told_as_it_changes(tmp_path: Path) -> None:
    latch = Latch()
    up = ChatUpstream([says("Hi"), latch, stops(), counts(1, 1)])
    with up, started(tmp_path, config(up.url, more="[server]\nwatch = 2")) as server, Looker(server).feed() as told:
        assert next(told) == {"rows": [], "kept": []}
        with streams(server) as [lines]:
            [row] = next(told)["rows"]
            assert (row["state"], row["model"], row["said"], row.get("finish")) == ("running", "m", "Hi", None)
            running = Looker(server).get("turns/1")
            assert [each["event"]["type"] for each in running["events"]][-1] == "response.output_text.delta"
            assert "Hi" in running["asks"][0]["text"]
            latch.open()
            assert last(lines) == "response.completed"
        [row] = next(told)["rows"]
        assert (row["number"], row["state"], row["answered"]) == (1, "ended", "Hi")
        for number in (2, 3):
            server.ask()
            assert any(number in each["kept"] and each["rows"][-1]["state"] == "ended" for each in told)
        assert Looker(server).rows()[-1]["number"] == 3
        assert soon(lambda: [row["number"] for row in Looker(server).rows()] == [2, 3])
        with pytest.raises(httpx.HTTPStatusError, match="404"):
            Looker(server).get("turns/1")


def test_running_turns_end_properly_although_somebody_watches(tmp_path: Path) -> None:
    """The library behind the feed ends its streams at a signal by replacing a method of uvicorn."""
    up = ChatUpstream([says("Hi"), Pause(60)])
    with up, started(tmp_path, config(up.url, more=GRACE)) as it, Looker(it).feed() as told, streams(it) as [lines]:
        assert any(each["rows"] for each in told)
        it.tell()
        assert all(each["kept"] == [1] for each in told)  # the list ends, and at once
        assert last(lines) == "response.failed"


USER = {"role": "user", "content": "Please use get_weather."}
TOOLS = {"tools": [WEATHER]}


def goes_on(looker: Looker) -> list[int]:
    first = looker.post([USER], **TOOLS)
    call = next(item for item in first["output"] if item["type"] == "function_call")
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "Warm."}
    without_ids = [{key: item[key] for key in item if key not in {"id", "status"}} for item in first["output"]]
    second = looker.post([USER, *without_ids, result], **TOOLS)
    history = [{"type": "message", **USER}, *first["output"], result, *second["output"]]
    looker.post([*history, {"role": "user", "content": "And?"}], **TOOLS)
    looker.post([*history, {"role": "user", "content": "Another way."}], **TOOLS)
    return [1, 1, 1, 1]


def unrelated(looker: Looker) -> list[int]:
    looker.post("Hello!")
    looker.post("Hello!")
    looker.post("Hello!", instructions="Be brief.")
    looker.post("Hello! Please fail.")
    looker.post("Hello! Please fail.")
    looker.post("Hello!", model=3)
    looker.post("Hello!", temperature="hot")
    return [1, 2, 3, 4, 5, 6, 7]


def repeated(looker: Looker) -> list[int]:
    items = [{"role": "developer", "content": "Rules."}, {"role": "user", "content": "Please be busy."}]
    looker.post(items)
    looker.post(items)
    looker.post([items[0], {"role": "user", "content": "Another one."}])
    return [1, 1, 3]


def named(looker: Looker) -> list[int]:
    for name in ("12345678-1234-1234-1234-123456789abc", "mine"):
        looker.post("One.", prompt_cache_key=name)
        looker.post("Two.", prompt_cache_key=name)
    return [1, 1, 3, 4]


def over_a_websocket(looker: Looker) -> list[int]:
    with connect(str(looker.http.base_url).replace("http", "ws") + "/v1/responses") as socket:
        before = None
        for text in ("Three.", "Four."):
            frame = {"type": "response.create", "model": "demo", "input": text, "previous_response_id": before}
            socket.send(json.dumps({name: value for name, value in frame.items() if value}))
            while (event := json.loads(socket.recv()))["type"] != "response.completed":
                pass
            before = event["response"]["id"]
    return [1, 1]


def summed_up(looker: Looker) -> list[int]:
    kept = looker.http.post("/v1/responses/compact", json={"model": "demo", "input": "Much."}).json()["output"]
    looker.post([*kept, {"role": "user", "content": "Go on."}])
    return [1, 1]


@pytest.mark.parametrize("said", [goes_on, unrelated, repeated, named, over_a_websocket, summed_up])
def test_turns_of_a_conversation_are_found_by_what_they_say(demo: Looker, said: Callable[[Looker], list[int]]) -> None:
    before = len(demo.rows())
    expected = said(demo)
    rows = demo.ended(before + len(expected))[before:]
    assert [row["conversation"] - before for row in rows] == expected


def test_what_was_new_and_what_changed(tmp_path: Path) -> None:
    answers = [[says(text), stops(), counts(1, 1)] for text in ("One.", "Two.")]
    with ChatUpstream(*answers) as up, started(tmp_path, config(up.url, "demo")) as server:
        looker = Looker(server)
        first = looker.post([USER], instructions="Be brief.", temperature=0.5)
        new = {"role": "user", "content": "And?"}
        looker.post([USER, *first["output"], new], instructions="Be long.", **TOOLS)
        looker.ended(2)
        one, two = looker.get("conversations/1")["turns"]
        asked = [looker.get(f"turns/{number}") for number in (1, 2)]
    assert (one["new"], one["instructions"], one["changes"]) == ([USER], "Be brief.", None)
    assert (two["new"], two["output"][0]["content"][0]["text"]) == ([new], "Two.")
    changes = two["changes"]
    differs = changes.pop("differs")
    expected: Json = {"since": 1, "continues": True, "known": 2, "instructions": "changed", "settings": ["temperature"]}
    assert changes == {**expected, "tools": {"added": ["get_weather"], "removed": [], "changed": []}}
    assert (differs["before"], differs["now"][1][:6]) == (
        ['[{"', 'role":"system","content":"Be brief."},{"role":"user","conten'],
        'type":',
    )
    assert asked[1]["changes"]["known"] == 2


def test_secrets_and_data_are_shown_and_written_nowhere_but_pictures_on_the_page(tmp_path: Path) -> None:
    folder = tmp_path / "turns"
    with started(tmp_path, f'[server]\nrecord = "{folder}"\n') as server:
        looker = Looker(server)
        image = {"type": "input_image", "image_url": f"data:image/png;base64,{DATA}"}
        words = {"type": "input_file", "filename": "f.txt", "file_data": f"data:text/plain;base64,{FILE}"}
        sealed = {"type": "reasoning", "summary": [], "encrypted_content": "gAAAA" + "x" * 40}
        mcp = {
            "type": "mcp",
            "server_label": "s",
            "headers": {"X-Mine": "hush-hush"},
            "server_url": "https://s.example",
        }
        said = {"role": "user", "content": [{"type": "input_text", "text": f"My key is {KEY}. Think!"}, image, words]}
        body = {"model": KEY, "input": [said, sealed], "tools": [mcp, WEATHER], "metadata": {"api_key": "123456789"}}
        answer = looker.http.post("/v1/responses", json={**body, "stream": True}, headers={"x-request-id": KEY})
        assert answer.status_code == 200, answer.text
        looker.ended(1)
        texts = [looker.http.get(f"/inspector/{path}").text for path in ("turns/1", "conversations/1")]
        texts.append(json.dumps(looker.rows()))
        assert looker.get("found?text=my%20key%20is")["numbers"] == [1]
        assert looker.get(f"found?text={KEY}")["numbers"] == []
        assert soon(lambda: len(list(folder.iterdir())) == 1)
        texts += [looker.http.get("/metrics").text, server.log]
    [file] = folder.iterdir()
    texts += [file.name, file.read_text()]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    written = json.loads(file.read_text())
    assert written["request"]["input"][0]["content"][0]["text"] == "My key is … Think!"
    for text in texts:
        assert [word for word in (KEY, FILE[100:300], "x" * 40, "hush-hush", "123456789") if word in text] == []
    assert [DATA in text for text in texts] == [True, True, *[False] * 5]


def test_whatever_was_posted_is_shown(demo: Looker) -> None:
    before = len(demo.rows())
    for body in STRANGE:
        assert demo.http.post("/v1/responses", json={"model": "demo", **body}).status_code == 400
    demo.http.post("/v1/responses", content=b"[1]", headers={"content-type": "application/json"})
    assert [row["finish"] for row in demo.ended(before + 5)[before:]] == ["refused"] * 5
    for number in range(before + 1, before + 6):
        assert demo.get(f"turns/{number}")["problem"]["status"] == 400
        assert demo.get(f"conversations/{number}")["turns"] != []
    assert demo.get("found?text=needle")["numbers"] == []


def test_two_hundred_turns_of_two_hundred_kilobytes_fit(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        looker = Looker(server)

        def most() -> int:
            """Megabytes."""
            text = Path(f"/proc/{server.process.pid}/status").read_text()
            return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmHWM")) // 1024

        looker.post("x" * 200_000)
        looker.ended(1)
        before = most()
        for number in range(210):
            looker.post(f"{number}-{'x' * 200_000}")
        numbers = [row["number"] for row in looker.rows()]
        assert numbers == list(range(numbers[0], 212))
        assert len(numbers) <= 200
        assert looker.get("found?text=209-xxx")["numbers"] == [211]
        assert most() - before < 128
