"""The loop of a real agent as the page shows it."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.deploy.program import config, started
from tests.support.codex import Codex
from tests.watch.looking import Looker
from tests.wire.script import call_turn, text_turn
from tests.wire.servers import ChatUpstream

MODEL = "context_window = 64000\n"


@pytest.mark.parametrize("websocket", [False, True], ids=["http", "websocket"])
def test_what_codex_did_can_be_followed(tmp_path: Path, page: Page, codex: Codex, *, websocket: bool) -> None:
    call = call_turn("exec_command", json.dumps({"cmd": "echo 3 passed"}))
    scripts = (call, text_turn("It passes."), text_turn("Other."), text_turn("Again."))
    with ChatUpstream(*scripts) as up, started(tmp_path, config(up.url, "coder") + MODEL) as server:
        home = server.url.removesuffix("/v1")
        codex.set_up(home, "coder", provider="supports_websockets = true" if websocket else "")
        first = codex.run("Run the tests.")
        assert first.said == ["It passes."], first.stderr
        assert codex.run("Something else.").said == ["Other."]
        thread = next(event["thread_id"] for event in first.events if event["type"] == "thread.started")
        assert codex.run("And now?", "resume", thread).said == ["Again."]
        rows = Looker(server).ended(4)
        page.goto(f"{home}/#conversation/{rows[0]['conversation']}")
        expect(page.locator(".talk-view .pair")).to_have_text(re.compile("echo 3 passed.*3 passed", re.DOTALL))
        for words in ("Run the tests.", "It passes.", "And now?", "Again."):
            expect(page.locator(".talk-view")).to_contain_text(words)
        expect(page.locator(".talk-view .words", has_text="Only prepared")).to_have_count(2 if websocket else 0)
        expect(page.locator(".talk-view")).not_to_contain_text("Something else.")
        expect(page.locator(".talk-view")).not_to_contain_text("was changed")
        assert page.locator(".talk-view .item", has_text="Run the tests.").count() == 1  # only where it was new
    asked = [row for row in rows if row["asks"]]
    assert [row["conversation"] == asked[0]["conversation"] for row in asked] == [True, True, False, True]
    assert (len(rows) > len(asked)) == websocket  # there it warms up first
