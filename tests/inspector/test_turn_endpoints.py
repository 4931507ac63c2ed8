"""What the page reads of turns: the list, one turn, a conversation, and where a text occurs."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final

import httpx
import pytest
from websockets.sync.client import connect

from app.settings import Key, Model, Server, Settings, Upstream
from tests.inspector import fake_feed
from tests.support.serving import serving
from tests.wire.script import calls, counts, says, stops
from tests.wire.servers import ChatUpstream, Status, Step

Json = dict[str, Any]
KEYS: Final = tuple(Key(name=name, digest=sha256(name.encode()).digest()) for name in ("alice", "bob"))
TOOL: Final = {"type": "function", "name": "ls", "parameters": {"type": "object", "properties": {}}}
SECRET: Final = "sk-abcdef1234567890"
ASKED: Final = [{"role": "user", "content": f"Fix it with {SECRET}"}]
CALL: Final[list[Step]] = [says("I look."), calls(0, "ls", arguments="{}"), stops(), counts(100, 20, cached=10)]
DONE: Final[list[Step]] = [says("Done."), stops(), counts(150, 5, cached=90)]
FAILS: Final[list[Step]] = [Status(500, {"error": {"message": f"It broke: {SECRET}"}})]


@contextmanager
def agent(*scripts: list[Step], **more: Any) -> Iterator[str]:
    """The address of a server whose model answers so."""
    with ChatUpstream(*scripts) as upstream:
        up = Upstream(via="chat", base_url=upstream.url, retries=0)
        with serving(Settings(upstreams={"up": up}, models={"m": Model(upstream="up")}, **more)) as url:
            yield url


def post(url: str, given: Any, key: str = "", **fields: Any) -> Json:
    headers = {"originator": "codex_exec"} | ({"authorization": f"Bearer {key}"} if key else {})
    body = {"model": "m", "instructions": "Be brief.", "tools": [TOOL], "input": given, **fields}
    answer: Json = httpx.post(f"{url}/v1/responses", json=body, headers=headers).json()
    return answer


def get(url: str, path: str, key: str = "") -> Any:
    return httpx.get(f"{url}/inspector/{path}", headers={"authorization": f"Bearer {key}"} if key else {}).json()


def rows(url: str, key: str = "") -> list[tuple[str, Json]]:
    """What the list begins with."""
    found: list[tuple[str, Json]] = []
    headers = {"authorization": f"Bearer {key}"} if key else {}
    with httpx.stream("GET", f"{url}/inspector/rows", headers=headers, timeout=10) as feed:
        name = ""
        for line in feed.iter_lines():
            name = line[7:] if line.startswith("event: ") else name
            if line.startswith("data: "):
                found.append((name, json.loads(line[6:])))
                if name == "ready":
                    break
    return found


def two_turns(url: str) -> None:
    """A call of a tool, and what follows."""
    output = post(url, ASKED)["output"]
    call = output[-1]
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "a.txt"}
    post(url, [*ASKED, *output, result], instructions="Be very brief.", tools=[TOOL, {**TOOL, "name": "cat"}])


def test_the_list_tells_turns_apart() -> None:
    with agent(CALL, DONE, FAILS) as url:
        two_turns(url)
        post(url, "Something else")
        *found, last = rows(url)
    assert last == ("ready", {"turns": 3})
    assert [name for name, _ in found] == ["row"] * 3
    keys = ("number", "session", "place", "said", "answered", "calls", "finish", "status", "error", "client", "asks")
    assert [[row[key] for key in keys] for _, row in found] == [
        [1, 1, 0, "Fix it with sk-***", "I look.", ["ls"], "completed", 200, "", "codex_exec", 1],
        [2, 1, 1, "result: a.txt", "Done.", [], "completed", 200, "", "codex_exec", 1],
        [3, 2, 0, "Something else", "", [], "refused", 502, "upstream_error", "codex_exec", 1],
    ]
    assert [row["tokens"] for _, row in found] == [
        {"input": 100, "cached": 10, "written": 0, "output": 20, "reasoning": 0},
        {"input": 150, "cached": 90, "written": 0, "output": 5, "reasoning": 0},
        None,
    ]
    assert "It broke" not in found[2][1]["problem"] or SECRET not in found[2][1]["problem"]
    assert all(0 < row["first_ms"] <= row["total_ms"] + 1 for _, row in found[:2])


def test_one_turn_is_shown_with_all_that_happened_in_it() -> None:
    with agent(CALL, DONE) as url:
        two_turns(url)
        first, second = get(url, "turns/1"), get(url, "turns/2")
        live = httpx.get(f"{url}/inspector/turns/2/live").text
    assert first["changes"] is None
    assert second["changes"] == {
        "since": 1,
        "since_id": first["row"]["id"],
        "is_continued": True,
        "new_items": [3, 4],
        "tools": {"added": ["cat"], "removed": [], "changed": [], "is_reordered": False},
        "instructions": "changed",
        "settings": [],
    }
    assert second["request"]["input"][0]["content"] == "Fix it with sk-***"
    (ask,) = second["asks"]
    assert ask["body"]["messages"][-1] == {
        "role": "tool",
        "tool_call_id": second["request"]["input"][-1]["call_id"],
        "content": "a.txt",
    }
    assert [entry["kind"] for entry in ask["prompt"]["entries"]] == ["System", "User", "Assistant", "ToolOutput"]
    assert ask["prompt"]["entries"][1]["parts"][0]["text"] == "Fix it with sk-***"
    assert [function["name"] for function in ask["prompt"]["functions"]] == ["ls", "cat"]
    assert (ask["upstream"], ask["model"], ask["outcome"], ask["error"]) == ("up", "m", "answered", None)
    assert ask["raw"]["text"].startswith('data: {"id": "chatcmpl-1"')
    assert ask["raw"]["text"].endswith("data: [DONE]\n\n")
    assert (ask["raw"]["bytes"], ask["raw"]["left_out"]) == (len(ask["raw"]["text"]), 0)
    assert second["response"]["output"][0]["content"][0]["text"] == "Done."
    assert second["events"][-1]["event"]["response"] == second["response"]
    phases = {phase["phase"] for phase in second["timeline"]}
    assert {"admission", "body", "reading", "preparing", "ask", "waiting", "streaming"} <= phases
    assert [line for line in live.splitlines() if line.startswith("event")][-1] == "event: ended"
    assert SECRET not in json.dumps([first, second]) + live


def test_the_page_is_tried_with_what_the_server_sends() -> None:
    with agent(CALL, DONE) as url:
        two_turns(url)
        turn = get(url, "turns/2")
    assert fake_feed.detail(turn["row"]).keys() == turn.keys()
    assert fake_feed.row(2).keys() == turn["row"].keys()
    assert fake_feed.ask().keys() == turn["asks"][0].keys()
    assert fake_feed.changes(1).keys() == turn["changes"].keys()


def test_the_timeline_of_a_refused_turn_has_its_end_and_the_error() -> None:
    with agent(FAILS) as url:
        post(url, "Hi")
        turn = get(url, "turns/1")
    assert turn["refused"]["status"] == 502
    assert (turn["asks"][0]["outcome"], turn["asks"][0]["error"]["code"]) == ("refused", "upstream_error")
    assert "It broke: sk-***" in turn["asks"][0]["raw"]["text"]
    assert (turn["response"], turn["events"]) == (None, [])
    assert all(phase["to"] is not None for phase in turn["timeline"])


def test_a_conversation_shows_what_was_new_in_each_turn() -> None:
    with agent(CALL, DONE) as url:
        two_turns(url)
        found = get(url, "sessions/1")
    first, second = found["turns"]
    assert (first["instructions"], second["instructions"]) == ("Be brief.", "Be very brief.")
    assert [item["content"] for item in first["new"]] == ["Fix it with sk-***"]
    assert [item["type"] for item in first["output"]] == ["message", "function_call"]
    assert [item["output"] for item in second["new"]] == ["a.txt"]
    assert second["output"][0]["content"][0]["text"] == "Done."


@pytest.mark.parametrize(
    ("text", "numbers"), [("a.TXT", [2]), ("Be brief", [1]), ("i look.", [2, 1]), ("ü", []), ('"quoted"', [])]
)
def test_a_text_is_found_in_all_that_is_kept(text: str, numbers: list[int]) -> None:
    with agent(CALL, DONE) as url:
        two_turns(url)
        found = httpx.get(f"{url}/inspector/found", params={"text": text}).json()
        none = httpx.get(f"{url}/inspector/found", params={"text": "x" * 201})
    assert found == {"numbers": numbers}
    assert none.status_code == 400


@pytest.mark.parametrize("text", ['echo "HI"', "line\nnext", "a\\b", "größe", '"path": '])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_text_is_found_in_the_arguments_of_a_call(text: str, *, ascii_only: bool) -> None:
    given = json.dumps({"cmd": 'echo "hi"\nline\nnext a\\b größe', "path": "x"}, ensure_ascii=ascii_only)
    call = {"type": "function_call", "call_id": "c", "name": "ls", "arguments": given}
    with agent(DONE) as url:
        post(url, [*ASKED, call, {"type": "function_call_output", "call_id": "c", "output": ""}])
        assert httpx.get(f"{url}/inspector/found", params={"text": text}).json() == {"numbers": [1]}


def test_a_key_sees_nothing_of_the_turns_of_another() -> None:
    with agent(DONE, DONE, keys=KEYS) as url:
        for name in ("alice", "bob"):
            post(url, f"I am {name}.", key=name)
        assert [row["said"] for name, row in rows(url, "bob") if name == "row"] == ["I am bob."]
        assert get(url, "found?text=alice", "bob") == {"numbers": []}
        for path in ("turns/1", "turns/1/live", "sessions/1", "turns/99", "sessions/99"):
            assert get(url, path, "bob")["error"]["code"] == "not_found"
        for path in ("rows", "turns/2", "sessions/2", "found?text=a", "turns/2/live"):
            assert httpx.get(f"{url}/inspector/{path}").status_code == 401
        assert get(url, "turns/2", "bob")["row"]["key"] == "bob"
        assert len(get(url, "sessions/2", "bob")["turns"]) == 1


def test_a_turn_that_is_larger_than_the_bound_says_so_and_the_rest_is_there() -> None:
    with agent(DONE, server=Server(watch=5)) as url:
        post(url, "x" * 4_200_000)
        turn = get(url, "turns/1")
    assert turn["request"]["left_out"].endswith("bytes)")
    assert turn["asks"][0]["body"]["left_out"].endswith("bytes)")
    assert turn["response"]["output"][0]["content"][0]["text"] == "Done."


def test_a_conversation_of_more_than_a_mebibyte_is_still_one() -> None:
    long = [{"role": "user", "content": f"{number} " + "word " * 30_000} for number in range(12)]
    with agent(DONE, DONE) as url:
        output = post(url, long)["output"]
        post(url, [*long, *output, {"role": "user", "content": "Go on."}])
        assert "event: ended" in httpx.get(f"{url}/inspector/turns/2/live").text  # it is written in a thread
        found = get(url, "sessions/1")["turns"]
        whole = get(url, "turns/2")
    assert [[item["content"][:6] for item in turn["new"]] for turn in found][1:] == [["Go on."]]
    assert [item["content"][:7] for item in found[0]["new"]] == [item["content"][:7] for item in long]
    assert whole["changes"]["is_continued"]
    assert len(whole["request"]["input"]) == len(whole["asks"][0]["body"]["messages"]) - 1 == 14


def test_a_turn_of_a_websocket_that_continues_another_is_kept_as_a_request_for_http() -> None:
    with agent(DONE, DONE, DONE) as url:
        with connect(f"{url.replace('http', 'ws')}/v1/responses") as websocket:
            more: Json = {}
            for text in ("First.", "Second."):
                frame = {"type": "response.create", "model": "m", "input": [{"role": "user", "content": text}], **more}
                websocket.send(json.dumps(frame))
                while (event := json.loads(websocket.recv(timeout=10)))["type"] != "response.completed":
                    assert event["type"] != "error"
                more = {"previous_response_id": event["response"]["id"]}
        kept = get(url, "turns/2")["request"]
        again = httpx.post(f"{url}/v1/responses", json=kept)
    assert "previous_response_id" not in kept
    assert [item.get("role") for item in kept["input"]] == ["user", "assistant", "user"]
    assert again.status_code == 200
