"""The loop of a real agent as the page shows it: Codex runs a command, edits a file, and says that it is done."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from app.settings import Model, Secret, Server, Settings, Upstream
from tests.inspector.conftest import SIZE, without_errors
from tests.support.codex import Codex
from tests.support.node import NODE, modules_with
from tests.support.serving import serving
from tests.wire.script import call_turn, text_turn
from tests.wire.servers import ChatUpstream

pytestmark = pytest.mark.needs("node", "npm:openai", "curl")
COMMAND: Final = "echo 3 passed > result.txt; cat result.txt"
PREPARED: Final = "Only prepared: the client wanted no answer"
DONE: Final = "# Done\nAll **tests** pass."


def follow(page: Page, warmed: int) -> None:
    """Looks at the conversation and at its turns as somebody who debugs the agent. So many of them were warm-ups."""
    row = page.locator("#sessions li")
    expect(row).to_have_count(1)
    expect(row.locator(".called")).to_have_text(f"{2 + warmed} turns")
    expect(row.locator(".said")).to_have_text("Run the tests")
    expect(row.locator(".client")).to_contain_text("codex")
    row.click()
    expect(page.locator("#conversation tbody tr")).to_have_count(2 + warmed)
    words = page.locator("#conversation tbody .words").all_text_contents()
    assert words == [*[PREPARED] * warmed, f"→ exec_command {COMMAND}", "# Done All **tests** pass."]
    expect(page.locator(".turn-of-session", has_text=PREPARED)).to_have_count(warmed)
    expect(page.locator(".turns-of-session")).not_to_contain_text("The conversation before was changed")
    expect(page.locator(".turns-of-session")).not_to_contain_text("Settings changed")
    first, second = (page.locator(".turn-of-session").nth(index + warmed) for index in range(2))
    expect(first.locator(".item[data-role=user]").last).to_contain_text("Run the tests")
    rules = page.locator(".turn-of-session details[data-role=developer]").first
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
    page.get_by_role("tab", name="Timing").click()
    expect(page.locator(".timing")).to_contain_text("waiting for first data")
    page.fill("#filter [name=text]", "result.txt")
    expect(page.locator("#number")).to_have_text(f"2 of {2 + warmed}")
    page.fill("#filter [name=text]", "All **tests** pass")
    expect(page.locator("#number")).to_have_text(f"1 of {2 + warmed}")


def command_for(language: str, text: str, folder: Path) -> list[str]:
    """What runs this program."""
    if language == "curl":
        return ["bash", "-ec", text]
    if language == "Python":
        return [sys.executable, "-c", text]
    (folder / "node_modules").symlink_to(modules_with("openai"))
    (folder / "program.mjs").write_text(text)
    return [NODE, "program.mjs"]


def run_again(page: Page, url: str, folder: Path, number: int) -> None:
    """Runs the turn once more in every way: on the page and as a program."""
    page.evaluate(f"location.hash = '#turn/{number}/again'")
    page.get_by_role("button", name="Send again").click()
    runs = page.locator(".again .run")
    expect(runs.locator(".status")).to_have_text(["completed", "completed"])
    expect(runs.first).to_contain_text("tests pass")
    expect(runs.last).to_contain_text("Again on the page.")
    for language in ("curl", "Python", "JavaScript"):
        page.get_by_role("button", name=f"Copy as {language}").click()
        text = page.locator(".again output").get_attribute("data-text") or ""
        ran = subprocess.run(
            command_for(language, text, folder), cwd=folder, capture_output=True, text=True, timeout=60, check=False
        )
        assert ran.returncode == 0, ran.stderr
        assert "Again elsewhere." in ran.stdout
    turns = [httpx.get(f"{url}/inspector/turns/{each}").json() for each in range(number, number + 5)]
    asked = [turn["asks"][0]["body"] for turn in turns]
    assert all(body == asked[0] for body in asked)


@pytest.mark.parametrize("websocket", [False, True], ids=["http", "websocket"])
def test_what_codex_did_can_be_followed(browser: Browser, codex: Codex, tmp_path: Path, *, websocket: bool) -> None:
    call = call_turn("exec_command", json.dumps({"cmd": COMMAND}))
    again = [text_turn("Again on the page."), *[text_turn("Again elsewhere.")] * 3]
    with ChatUpstream(call, text_turn(DONE), *again) as upstream:
        settings = Settings(
            server=Server(watch=20),
            upstreams={"scripted": Upstream(via="chat", base_url=upstream.url, api_key=Secret("sk-scripted"))},
            models={"coder": Model(upstream="scripted", context_window=64_000)},
        )
        with serving(settings) as url:
            codex.set_up(url, "coder", provider="supports_websockets = true" if websocket else "")
            assert codex.run("Run the tests").said == [DONE]
            page = browser.new_page(viewport=SIZE)
            with without_errors(page):
                page.goto(f"{url}/#sessions")
                follow(page, warmed=int(websocket))
                run_again(page, url, tmp_path, number=2 + websocket)
            page.close()
            assert httpx.get(f"{url}/inspector/sessions/1").status_code == 200
