"""The page where things go wrong: no key, no answer, no room, and models that write markup."""

import re
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Page, expect

from app.settings import Key, Model, Server, Settings, Upstream
from tests.support.running import running
from tests.support.serving import serving
from tests.wire.script import calls, counts, says, stops, thinks
from tests.wire.servers import ChatUpstream, Status, Step

MARKUP = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script></pre><h1>"
KEYS = (Key(name="alice", digest=sha256(b"sk-alice").digest()),)
DONE = [stops(), counts(1, 1)]
SETTLED = 20_000


def behind(upstream: ChatUpstream) -> Settings:
    return Settings(
        server=Server(watch=5),
        upstreams={"local": Upstream(via="chat", base_url=upstream.url)},
        models={"small": Model(upstream="local"), "tall": Model(upstream="local")},
    )


def show(page: Page, url: str, model: str) -> None:
    page.goto(url)
    page.fill("#model", model)


def ask(page: Page, status: str) -> None:
    page.fill("#input", "Hello!")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".status").first).to_have_text(status, timeout=SETTLED)


def test_a_key_can_be_pasted_where_one_is_needed(page: Page) -> None:
    with serving(Settings(keys=KEYS, server=Server(watch=5))) as url:
        page.goto(url)
        expect(page.locator("#key")).to_have_attribute("placeholder", "required")
        page.click("#tab-watch")
        expect(page.locator("#watch-state")).to_contain_text("key")
        page.fill("#key", "sk-alice")
        page.keyboard.press("Enter")
        expect(page.locator("#watch-state")).to_have_text("live")
        page.click("#tab-try")
        expect(page.locator("#model")).to_have_value("demo")
        ask(page, "completed")


@pytest.mark.parametrize(("status", "status_text"), [(400, "400 invalid_value"), (500, "502 upstream_error")])
def test_what_is_refused_is_told_in_words_and_to_those_who_watch(page: Page, status: int, status_text: str) -> None:
    with ChatUpstream([Status(status, {"error": {"message": "Not like this."}})]) as upstream:
        settings = behind(upstream)
        with serving(settings) as url:
            show(page, url, "small")
            ask(page, status_text)
            expect(page.locator(".note.failed")).to_be_visible()
            expect(page.locator('.pane[data-pane="whole"] pre')).to_contain_text('"code"')
            page.click("#tab-watch")
            page.locator("#turns li").first.click()
            expect(page.locator("#watched .status")).to_have_text(status_text)
            expect(page.locator("#watched .note.failed")).to_be_visible()


def test_markup_of_a_model_stays_text(page: Page) -> None:
    script: list[Step] = [thinks(MARKUP), says(MARKUP), calls(0, "get_weather", arguments='{"a": "<b>"}'), *DONE]
    with ChatUpstream(script) as upstream, serving(behind(upstream)) as url:
        show(page, url, "small")
        ask(page, "completed")
        page.locator(".events li", has_text="output_item.done").first.click()
        page.get_by_role("tab", name="Response").click()
        expect(page.locator(".item.message .text")).to_have_text(MARKUP)
        assert page.locator("#runs :is(img, script, h1, b)").count() == 0
        assert page.title() == "AM Proxy · inspector"


def test_calls_have_lanes_under_their_names(page: Page) -> None:
    script: list[Step] = [
        says("Both."),
        calls(0, "get_time", arguments="{}"),
        calls(1, "get_weather", arguments="{}"),
        *DONE,
    ]
    with ChatUpstream(script) as upstream, serving(behind(upstream)) as url:
        show(page, url, "small")
        ask(page, "completed")
        names = ["lifecycle", "message", "get_time", "get_weather"]
        assert page.locator(".strip .names span").all_text_contents() == names


def test_thousands_of_events_are_a_few_rows_or_all_of_them_and_the_last_is_in_sight(page: Page) -> None:
    script: list[Step] = [*(says(f"{number} ") for number in range(2000)), *DONE]
    with ChatUpstream(script) as upstream, serving(behind(upstream)) as url:
        show(page, url, "small")
        ask(page, "completed")
        expect(page.locator(".count")).to_have_text("2008 events, 1999 of them folded")
        row = page.locator(".events li", has_text=re.compile("2000 . output_text.delta"))
        row.click()
        expect(page.locator(".raw pre")).to_contain_text("1998 1999")
        page.check(".every")
        expect(page.locator(".count")).to_have_text("2008 events")
        page.focus(".events")
        page.keyboard.press("End")
        last = page.locator(".events li").last
        expect(last).to_be_in_viewport()
        expect(last).to_have_attribute("aria-posinset", "2008")
        expect(last).to_have_attribute("aria-setsize", "2008")
        assert page.locator(".events li").count() < 100  # the others are no elements
        expect(page.locator(".item.message .text")).to_contain_text("1998 1999")


def test_nothing_stands_beyond_the_edge_of_a_narrow_window(page: Page) -> None:
    page.set_viewport_size({"width": 380, "height": 700})
    with ChatUpstream([says("Hello."), *DONE]) as upstream, serving(behind(upstream)) as url:
        show(page, url, "small")
        ask(page, "completed")
        assert page.evaluate("document.documentElement.scrollWidth") <= 380
        page.locator(".events li").first.scroll_into_view_if_needed()
        expect(page.locator(".events li").first).to_be_in_viewport()


def test_a_watcher_whose_server_was_started_anew_sees_each_event_once(page: Page, tmp_path: Path) -> None:
    with running("--watch", "5", folder=tmp_path) as first:
        page.goto(first.url.removesuffix("/v1"))
        page.click("#tab-watch")
        expect(page.locator("#watch-state")).to_have_text("live")
        httpx.post(f"{first.url}/responses", json={"model": "demo", "input": "Hi"})
        expect(page.locator("#turns .finish")).to_have_text("200 completed")
        assert first.stop() == 0
        expect(page.locator("#watch-state")).to_contain_text("Reconnecting")
    port = str(urlsplit(first.url).port)
    with running("--port", port, "--watch", "5", folder=tmp_path) as second:
        expect(page.locator("#watch-state")).to_have_text("live", timeout=SETTLED)
        expect(page.locator("#turns li")).to_have_count(0)
        httpx.post(f"{second.url}/responses", json={"model": "demo", "input": "Hi"})
        expect(page.locator("#turns .finish")).to_have_text("200 completed")
        page.locator("#turns li").click()
        page.get_by_role("tab", name="Events").click()
        expect(page.locator("#watched .type").last).to_have_text("completed")
        last = int(page.locator("#watched .number").last.text_content() or "")
        expect(page.locator("#watched .count")).to_contain_text(f"{last + 1} events")
