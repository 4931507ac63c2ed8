"""Which turns of Codex belong together: its own runs, one that is resumed, and the conversation after its summary."""

import json
from typing import Final

import httpx
import pytest

from app.settings import Model, Secret, Settings, Upstream
from tests.inspector.test_turn_endpoints import rows
from tests.support.codex import Codex
from tests.support.serving import serving
from tests.wire.script import call_turn, counts, text_turn
from tests.wire.servers import ChatUpstream

COMMAND: Final = {"cmd": "echo 3 passed"}


@pytest.mark.parametrize("websocket", [False, True], ids=["http", "websocket"])
def test_a_run_is_a_session_and_one_that_is_resumed_goes_on_with_it(codex: Codex, *, websocket: bool) -> None:
    call = call_turn("exec_command", json.dumps(COMMAND))
    scripts = (call, text_turn("It passes."), text_turn("Other."), text_turn("Again."))
    with ChatUpstream(*scripts) as upstream:
        settings = Settings(
            upstreams={"scripted": Upstream(via="chat", base_url=upstream.url, api_key=Secret("sk-scripted"))},
            models={"coder": Model(upstream="scripted", context_window=64_000)},
        )
        with serving(settings) as url:
            codex.set_up(url, "coder", provider="supports_websockets = true" if websocket else "")
            first = codex.run("Run the tests.")
            assert first.said == ["It passes."], first.stderr
            second = codex.run("Something else.")
            assert second.said == ["Other."], second.stderr
            thread = next(event["thread_id"] for event in first.events if event["type"] == "thread.started")
            resumed = codex.run("And now?", "resume", thread)
            assert resumed.said == ["Again."], resumed.stderr
            found = [row for name, row in rows(url) if name == "row"]
            turns = [httpx.get(f"{url}/inspector/turns/{row['number']}").json() for row in found]
    assert {(row["websocket"], row["client"]) for row in found} == {(websocket, "codex_exec")}
    warmed = [turn["changes"] for turn in turns if turn["row"]["prepared"]]
    assert [each is None for each in warmed] == [True, True, False] * websocket  # once on each connection
    turns = [turn for turn in turns if not turn["row"]["prepared"]]
    assert [turn["row"]["session"] for turn in turns] == [1, 1, 2, 1]
    places = [turn["row"]["place"] for turn in turns]
    assert places == ([1, 2, 1, 4] if websocket else [0, 1, 0, 2])
    numbers = {turn["row"]["number"]: index for index, turn in enumerate(turns)}
    since = [None if turn["changes"] is None else numbers.get(turn["changes"]["since"]) for turn in turns]
    assert since == [None, 0, None, 1]
    assert {turn["changes"]["is_continued"] for turn in turns if turn["changes"] is not None} == {True}
    found = [turn["row"] for turn in turns]
    start, end = turns[1]["changes"]["new_items"]
    assert [item["type"] for item in turns[1]["request"]["input"][start:end]] == ["function_call_output"]
    assert found[1]["said"].startswith("result: 3 passed")
    assert found[0]["calls"] == ["exec_command"]


def test_a_conversation_that_codex_sums_up_is_still_one_session(codex: Codex) -> None:
    """Codex writes the summary into a new conversation by itself."""
    long = [*call_turn("exec_command", json.dumps(COMMAND))[:-1], counts(60_000, 50)]
    with ChatUpstream(long, text_turn("All tests passed so far."), text_turn("Done.")) as upstream:
        model = Model(upstream="scripted", context_window=64_000, auto_compact_token_limit=20_000)
        up = Upstream(via="chat", base_url=upstream.url, api_key=Secret("sk-scripted"))
        with serving(Settings(upstreams={"scripted": up}, models={"coder": model})) as url:
            codex.set_up(url, "coder")
            ran = codex.run("Run the tests.")
            assert ran.said == ["Done."], ran.stderr
            found = [row for name, row in rows(url) if name == "row"]
            last = httpx.get(f"{url}/inspector/turns/3").json()
    assert [(row["session"], row["place"]) for row in found] == [(1, 0), (1, 1), (1, 2)]
    assert [row["answered"] for row in found] == ["", "All tests passed so far.", "Done."]
    start, end = last["changes"]["new_items"]
    assert "All tests passed so far." in json.dumps(last["request"]["input"][start:end])
