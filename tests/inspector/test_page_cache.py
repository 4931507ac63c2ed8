"""Why the cache missed, as the inspector shows it."""

from typing import Any, Final

import httpx
import pytest
from playwright.sync_api import Page, expect

from app.settings import Model, Server, Settings, Upstream
from tests.support.chromium import CHROMIUM
from tests.support.script import counts, says, stops
from tests.support.servers import ChatUpstream, Step
from tests.support.serving import serving

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")

RULES: Final = "You are an agent. It is {}. " + "Read before you write. " * 40
TOOL: Final = {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}}
ITEMS: Final = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hi."}]


def replies(cached: int) -> list[Step]:
    return [says("Hi."), stops(), counts(1000, 5, cached=cached)]


def test_a_turn_says_how_much_was_read_and_what_changed_first(page: Page) -> None:
    with ChatUpstream(replies(0), replies(987), replies(101), replies(0)) as upstream:
        settings = Settings(
            server=Server(watch=5),
            upstreams={"local": Upstream(via="chat", base_url=upstream.url)},
            models={"m": Model(upstream="local")},
        )
        with serving(settings) as url:

            def send(time: str, count: int) -> str:
                items = (ITEMS * 5)[: 2 * count + 1]
                body: dict[str, Any] = {"model": "m", "instructions": RULES.format(time), "tools": [TOOL]}
                return httpx.post(f"{url}/v1/responses", json={**body, "input": items}).headers["x-request-id"]

            first, grown, changed = send("12:00", 0), send("12:00", 1), send("12:01", 2)
            page.goto(url)
            page.click("#tab-watch")
            expect(page.locator("#turns li")).to_have_count(3)

            def shown(request_id: str) -> str:
                page.click(f"#turns li[data-id='{request_id}']")
                expect(page.locator("#watched .status")).to_have_text("completed")
                line = page.locator("#watched .cache")
                return (line.text_content() or "") if line.is_visible() else ""

            def when(request_id: str) -> str:
                return page.locator(f"#turns li[data-id='{request_id}'] .when").text_content() or ""

            assert shown(first) == ""
            unchanged = "nothing changed at the beginning of the prompt."
            assert shown(grown) == f"Cache: 98 % read. Since the request of {when(first)}, {unchanged}"
            line = shown(changed)
            since = f"Cache: 10 % read. Since the request of {when(grown)}, "
            assert line.startswith(f"{since}messages[0] (system) changed, near byte "), line
            live = send("12:01", 2)  # a turn that is shown while it ends
            page.click(f"#turns li[data-id='{live}']")
            expect(page.locator("#watched .cache")).to_contain_text(
                f"Cache: 0 % read. Since the request of {when(changed)}, nothing"
            )
