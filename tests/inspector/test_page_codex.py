"""The loop of a real agent as the page shows it: Codex runs a command, edits a file, and says that it is done."""

import json
from typing import Final

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from app.settings import Model, Secret, Server, Settings, Upstream
from tests.inspector.conftest import SIZE, without_errors
from tests.support.chromium import CHROMIUM
from tests.support.codex import Codex
from tests.support.script import call_turn, text_turn
from tests.support.servers import ChatUpstream
from tests.support.serving import serving

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
    pytest.mark.xdist_group("node"),
]
COMMAND: Final = "echo 3 passed > result.txt; cat result.txt"
DONE: Final = "# Done\nAll **tests** pass."


def follow(page: Page) -> None:
    """Looks at the conversation and at its turns as somebody who debugs the agent."""
    row = page.locator("#sessions li")
    expect(row).to_have_count(1)
    expect(row.locator(".called")).to_have_text("2 turns")
    expect(row.locator(".client")).to_contain_text("codex")
    row.click()
    expect(page.locator("#conversation tbody tr")).to_have_count(2)
    expect(page.locator("#conversation tbody .words").first).to_have_text("→ exec_command")
    first, second = (page.locator(".turn-of-session").nth(index) for index in range(2))
    expect(first.locator(".item[data-role=user]").last).to_contain_text("Run the tests")
    rules = first.locator("details[data-role=developer]").first
    assert not rules.evaluate("each => each.open")
    expect(first.locator(".pair .call")).to_contain_text("result.txt")
    expect(first.locator(".pair .output")).to_contain_text("3 passed")
    expect(second.locator(".message .heading")).to_have_text("Done")
    expect(second).not_to_contain_text("Run the tests")  # only what is new
    second.locator("h3 a").first.click()
    expect(page.locator("#watched .status")).to_have_text("completed")
    page.get_by_role("tab", name="Changes").click()
    pane = page.locator(".pane[data-name=changes]")
    expect(pane).to_contain_text("1 new (1 function_call_output)")
    expect(pane).to_contain_text("It continues the turn before")
    expect(pane).to_contain_text("Tools: same.")
    page.get_by_role("tab", name="Compare").click()
    expect(page.locator(".compared")).to_have_text(f"Text: the same ({len(DONE)} characters)")
    page.get_by_role("tab", name="Timing").click()
    expect(page.locator(".timing")).to_contain_text("waiting for the upstream")
    page.fill("#filter [name=text]", "result.txt")
    expect(page.locator("#number")).to_have_text("2 of 2")
    page.fill("#filter [name=text]", "All **tests** pass")
    expect(page.locator("#number")).to_have_text("1 of 2")


@pytest.mark.parametrize("websocket", [False, True], ids=["http", "websocket"])
def test_what_codex_did_can_be_followed(browser: Browser, codex: Codex, *, websocket: bool) -> None:
    call = call_turn("exec_command", json.dumps({"cmd": COMMAND}))
    with ChatUpstream(call, text_turn(DONE)) as upstream:
        settings = Settings(
            server=Server(watch=20, websocket=websocket),
            upstreams={"scripted": Upstream(via="chat", base_url=upstream.url, api_key=Secret("sk-scripted"))},
            models={"coder": Model(upstream="scripted", context_window=64_000)},
        )
        with serving(settings) as url:
            codex.set_up(url, "coder")
            assert codex.run("Run the tests").said == [DONE]
            page = browser.new_page(viewport=SIZE)
            with without_errors(page):
                page.goto(f"{url}/#sessions")
                follow(page)
            page.close()
            assert httpx.get(f"{url}/inspector/sessions/1").status_code == 200
