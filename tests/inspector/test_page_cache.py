"""Why the cache missed, as the inspector shows it."""

from typing import Any, Final

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from app.settings import Model, Server, Settings, Upstream
from tests.support.serving import serving
from tests.wire.script import counts, says, stops
from tests.wire.servers import ChatUpstream, Step

RULES: Final = "You are an agent. It is {}. " + "Read before you write. " * 40
TOOL: Final = {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}}
ITEMS: Final = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hi."}]


def replies(cached: int) -> list[Step]:
    return [says("Hi."), stops(), counts(1000, 5, cached=cached)]


def excerpts(page: Page) -> list[str]:
    """What the part said before, and what it says now."""
    return page.locator("#watched .cache .excerpt").all_text_contents()


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

            def show(request_id: str) -> Locator:
                page.click(f"#turns li[data-id='{request_id}']")
                expect(page.locator("#watched h2")).to_contain_text(request_id)
                return page.locator("#watched .cache")

            def when(request_id: str) -> str:
                return page.locator(f"#turns li[data-id='{request_id}'] .when").text_content() or ""

            expect(show(first)).to_be_hidden()
            unchanged = "nothing changed at the beginning of the prompt."
            expect(show(grown)).to_have_text(f"Cache: 98 % read. Since the request of {when(first)}, {unchanged}")
            since = f"Cache: 10 % read. Since the request of {when(grown)}, "
            expect(show(changed)).to_contain_text(f"{since}messages[0] (system) changed, near byte ")
            said = "You are an agent. It is 12:0{}. Read before you write. Read before you…"
            assert excerpts(page) == [f"before: {said.format(0)}", f"now:    {said.format(1)}"]
            assert page.locator("#watched .cache mark").all_text_contents() == ["0", "1"]
            live = send("12:01", 2)  # a turn that is shown while it ends
            page.click(f"#turns li[data-id='{live}']")
            expect(page.locator("#watched .cache")).to_contain_text(
                f"Cache: 0 % read. Since the request of {when(changed)}, nothing"
            )


LONG: Final = "word " * 100
BEFORE: Final[dict[str, Any]] = {
    "instructions": LONG,
    "tools": [TOOL, {**TOOL, "name": "find"}],
    "input": [{"role": "user", "content": f"{LONG}<b>one</b>{LONG}"}, *ITEMS],
    "reasoning": {"effort": "low"},
}


def around(text: str, changed: str) -> str:
    """What is shown of this text, in which `changed` is the part that differs."""
    start = text.index(changed)
    end = start + len(changed)
    return f"…{text[start - 40 : start]}{changed}{text[end : end + 40]}…"


@pytest.mark.parametrize(
    ("now", "before", "after"),
    [
        (
            {"input": [{"role": "user", "content": f"{LONG}<b>three</b>{LONG}"}, *ITEMS]},
            f"before: {around(f'{LONG}<b>one</b>{LONG}', 'on')}",
            f"now:    {around(f'{LONG}<b>three</b>{LONG}', 'thre')}",
        ),
        ({"tools": [TOOL, {**TOOL, "name": "fond"}]}, "before: find", "now:    fond"),
        ({"reasoning": {"effort": "high"}}, "before: low", "now:    high"),
        ({"input": "Hi"}, None, None),
        ({"instructions": LONG + "x" * 1000}, f"before: …{(LONG)[-40:]}", f"now:    …{LONG[-40:]}{'x' * 120}…"),
    ],
)
def test_what_changed_is_shown_as_text(page: Page, now: dict[str, Any], before: str | None, after: str | None) -> None:
    with ChatUpstream(replies(0)) as upstream:
        settings = Settings(
            server=Server(watch=5),
            upstreams={"local": Upstream(via="chat", base_url=upstream.url)},
            models={"m": Model(upstream="local", reasoning_efforts=("low", "high"))},
        )
        with serving(settings) as url:
            for body in (BEFORE, BEFORE | now):
                httpx.post(f"{url}/v1/responses", json={"model": "m", **body}).raise_for_status()
            page.goto(url)
            page.click("#tab-watch")
            expect(page.locator("#turns li")).to_have_count(2)
            page.locator("#turns li").first.click()
            expect(page.locator("#watched .cache")).to_contain_text("Since the request of ")
            found = excerpts(page)
    if before is not None:
        assert found == [before, after]
    assert all(len(line) < 250 for line in found)
