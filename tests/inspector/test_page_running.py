"""A turn that still runs grows while it is watched. At its end, nothing that somebody reads or writes is lost."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, expect

from app.settings import Server, Settings
from tests.inspector.conftest import SIZE, without_errors
from tests.inspector.fake_feed import FakeFeed, answer, ask, changes, detail, row, said
from tests.support.serving import serving

EVENTS: Final = answer(said("All of it."))
DELTA: Final = {"type": "response.output_text.delta", "output_index": 0, "delta": "All of"}
FIX: Final = {"role": "user", "content": "Fix the tests."}


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    with serving(Settings(server=Server(watch=5))) as url:
        page = browser.new_page(viewport=SIZE)
        FakeFeed.at(page, f"{url}/#watch")
        yield page


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    with without_errors(tab):
        yield tab


def begin(page: Page, number: int, name: str = "Conversation", **more: Any) -> None:
    """A turn begins, and somebody looks at it."""
    running = row(number, state="running", finish="", status=None, total_ms=None, first_ms=None, tokens=None)
    FakeFeed(page).keep(turns={number: detail(running, **more)})
    FakeFeed(page).tell(("row", running))
    page.evaluate(f"location.hash = '#turn/{number}/conversation'")
    expect(page.locator("#watched h2")).to_contain_text(f"req_{number}")
    page.locator("#watched").get_by_role("tab", name=name).click()


def tell(page: Page, number: int, *notes: tuple[str, Any]) -> None:
    FakeFeed(page).tell(*notes, path=f"turns/{number}/live")


def grow(page: Page, number: int) -> None:
    """It begins to answer."""
    events = [EVENTS[0]["event"], EVENTS[1]["event"], DELTA]
    tell(page, number, ("sent", {"at": 1, "events": events}))


def end(page: Page, number: int, **more: Any) -> None:
    """It ends."""
    FakeFeed(page).keep(turns={number: detail(row(number), events=EVENTS, **more)})
    events = [event["event"] for event in EVENTS[2:]]
    tell(page, number, ("sent", {"at": 2, "events": events}), ("ended", {"fields": {}}))
    page.evaluate(f"streams['turns/{number}/live'].close()")
    expect(page.locator("#watched .status")).to_have_text("completed")


def pane(page: Page) -> Any:
    return page.locator("#watched > article > .pane:not([hidden])")


def test_it_grows_while_it_is_watched(page: Page) -> None:
    begin(page, 1)
    grow(page, 1)
    expect(pane(page).locator(".message").last).to_contain_text("All of")
    expect(page.locator("#watched .status")).to_have_text("streaming")
    end(page, 1, asks=[ask()])
    expect(pane(page).locator(".message").last).to_contain_text("All of it.")
    page.locator("#watched").get_by_role("tab", name="Upstream request").click()
    expect(pane(page)).to_contain_text("small-7b")


def test_its_request_is_shown_as_soon_as_an_upstream_is_asked(page: Page) -> None:
    begin(page, 2, request=None)
    expect(pane(page)).to_contain_text("not read yet")
    running = row(2, state="running", finish="", status=None, total_ms=None, first_ms=None, tokens=None)
    FakeFeed(page).keep(turns={2: detail(running, request={"input": [FIX]}, asks=[ask()])})
    tell(page, 2, ("asked", {"ask_number": 1}))
    expect(pane(page)).to_contain_text("Fix the tests.")
    grow(page, 2)
    expect(pane(page).locator(".message").last).to_contain_text("All of")
    expect(page.locator("#watched .status")).to_have_text("streaming")


def test_its_events_stay_selected_at_its_end(page: Page) -> None:
    begin(page, 3, "Events")
    grow(page, 3)
    events = page.locator("#watched .events")
    expect(events.locator("li")).to_have_count(3)
    events.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    end(page, 3)
    expect(page.locator("#watched .count")).to_have_text("5 events")
    expect(events.locator("li")).to_have_count(5)
    expect(events).to_be_focused()
    expect(events.locator("li[aria-selected=true]")).to_contain_text("created")
    expect(page.locator("#watched .raw")).to_contain_text("response.created")
    page.keyboard.press("ArrowDown")
    expect(events.locator("li[aria-selected=true]")).to_contain_text("output_item.added")


def test_a_tab_keeps_the_focus_and_its_place_when_others_come(page: Page) -> None:
    begin(page, 4, "Timing")
    tab = page.locator("#watched").get_by_role("tab", name="Timing")
    expect(tab).to_be_focused()
    end(page, 4, asks=[ask(), ask(2, upstream="other")], changes=changes(1))
    expect(tab).to_be_focused()
    names = page.locator("#watched .tabs [role=tab]").all_inner_texts()
    assert names == ["Conversation", "Changes", "Client request", "Upstream request 1 · local",
                     "Upstream request 2 · other", "Events", "Response", "Timing", "Run again"]  # fmt: skip
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#watched").get_by_role("tab", name="Response")).to_have_attribute("aria-selected", "true")


def test_what_was_written_for_another_run_stays(page: Page) -> None:
    begin(page, 5, "Run again", request={"model": "small", "input": "Hi"})
    field = page.locator(".again textarea")
    field.fill('{"model": "large", "input": "Edited"}')
    end(page, 5)
    expect(field).to_be_focused()
    expect(field).to_have_value('{"model": "large", "input": "Edited"}')


def test_who_has_scrolled_stays_there(page: Page) -> None:
    items = [{"role": "user", "content": f"Line {number}\n" * 40} for number in range(20)]
    begin(page, 6, request={"model": "small", "input": items})
    place = pane(page).locator(".scrolled")
    place.focus()
    place.evaluate("each => (each.scrollTop = 700)")
    end(page, 6, request={"model": "small", "input": items})
    expect(place).to_be_focused()
    assert place.evaluate("each => each.scrollTop") == 700
