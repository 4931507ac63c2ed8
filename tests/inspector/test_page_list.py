"""The list of turns: a thousand of them, which are searched, filtered, linked to, and read while more come."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, expect

from app.settings import Server, Settings
from tests.inspector.conftest import SIZE, without_errors
from tests.inspector.fake_feed import FakeFeed, detail, row
from tests.support.serving import serving

COUNT: Final = 1000
ROWS: Final = "#turns li"
TOP: Final = "document.querySelector('#turns').scrollTop"


def varied(number: int) -> dict[str, Any]:
    """Turns that differ in everything that can be filtered."""
    return row(
        number,
        model=("small", "tall")[number % 2],
        key=("alice", "bob")[number % 4 // 2],
        finish="failed" if number % 10 == 0 else "completed",
        calls=["exec_command"] if number % 5 == 0 else [],
        total_ms=10 * number,
    )


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Settings(server=Server(watch=5))) as address:
        yield address


@pytest.fixture(scope="module")
def tab(browser: Browser, url: str) -> Page:
    """One page with a thousand turns for all tests here."""
    page = browser.new_page(viewport=SIZE)
    feed = FakeFeed.at(page, f"{url}/#watch")
    feed.rows(*(varied(number) for number in range(COUNT)))
    feed.keep(
        turns={number: detail(varied(number)) for number in (COUNT - 2, COUNT - 1, 500)},
        found={"hidden words": [3, 500]},
    )
    expect(page.locator("#number")).to_have_text(str(COUNT))
    return page


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    """The same page without a filter, at its beginning."""
    tab.mouse.move(0, 0)
    tab.evaluate("document.querySelector('#filter').reset(); document.activeElement.blur()")
    tab.evaluate(f"{TOP} = 0")
    expect(tab.locator("#number")).to_have_text(str(COUNT))
    with without_errors(tab):
        yield tab


def test_of_a_thousand_turns_those_in_sight_are_elements(page: Page) -> None:
    expect(page.locator(ROWS).first).to_contain_text("Question 999")
    assert page.locator(ROWS).count() < 60
    page.focus("#turns")
    page.keyboard.press("End")
    last = page.locator(ROWS).last
    expect(last).to_contain_text("Question 0")
    expect(last).to_be_in_viewport(ratio=0.9)
    assert [last.get_attribute(name) for name in ("aria-posinset", "aria-setsize")] == ["1000", "1000"]
    assert page.get_attribute("#turns", "aria-activedescendant") == last.get_attribute("id")
    page.keyboard.press("Home")
    expect(page.locator(ROWS).first).to_have_attribute("aria-posinset", "1")


@pytest.mark.parametrize(
    ("field", "value", "count"),
    [
        ("model", "tall", 500),
        ("key", "bob", 500),
        ("outcome", "failed", 100),
        ("tool", "exec_command", 200),
        ("longer", "9.9", 10),
        ("text", "question 77", 11),
        ("text", "hidden words", 2),
        ("text", "nothing like this", 0),
    ],
)
def test_a_filter_leaves_what_passes_it(page: Page, field: str, value: str, count: int) -> None:
    page.locator("#filter details").evaluate("each => each.open = true")
    entry = page.locator(f"#filter [name={field}]")
    entry.focus()
    if field in {"text", "longer"}:
        entry.fill(value)
    else:
        entry.select_option(value)
    expect(page.locator("#number")).to_have_text(f"{count} of {COUNT}")
    assert page.locator(ROWS).count() == min(count, page.locator(ROWS).count())
    page.keyboard.press("Escape")
    expect(page.locator("#number")).to_have_text(str(COUNT))


def test_a_search_finds_turns_that_end_later(page: Page) -> None:
    feed = FakeFeed(page)
    page.fill("#filter [name=text]", "hidden words")
    expect(page.locator("#number")).to_have_text(f"2 of {COUNT}")
    feed.keep(found={"hidden words": [3, 500, 3000]})
    feed.tell(("row", varied(3000)))
    expect(page.locator("#number")).to_have_text(f"3 of {COUNT + 1}")
    feed.keep(found={"hidden words": [3, 500]})
    feed.tell(("forgotten", {"number": 3000}))
    expect(page.locator("#number")).to_have_text(f"2 of {COUNT}")


def test_filters_are_combined(page: Page) -> None:
    page.locator("#filter details").evaluate("each => each.open = true")
    page.focus("#filter [name=model]")
    page.select_option("#filter [name=model]", "small")
    page.select_option("#filter [name=outcome]", "failed")
    page.fill("#filter [name=longer]", "5")
    expect(page.locator("#number")).to_have_text(f"50 of {COUNT}")
    page.click("#filter [type=reset]")
    expect(page.locator("#number")).to_have_text(str(COUNT))


def test_filters_are_in_the_address_and_survive_a_reload(browser: Browser, url: str) -> None:
    page = browser.new_page(viewport=SIZE)
    feed = FakeFeed.at(page, f"{url}/#watch")
    rows = [varied(number) for number in range(40)]
    feed.rows(*rows)
    with without_errors(page):
        page.locator("#filter summary").click()
        page.focus("#filter [name=model]")
        page.select_option("#filter [name=model]", "small")
        page.fill("#filter [name=longer]", "0.2")
        page.fill("#filter [name=text]", "question 3")
        expect(page.locator("#number")).to_have_text("5 of 40")
        assert page.url == f"{url}/#watch?text=question+3&longer=0.2&model=small"
        page.locator(ROWS).first.click()
        expect(page.locator("#watched")).to_contain_text("not kept")
        page.reload()
        FakeFeed(page).rows(*rows)
        assert page.url == f"{url}/#turn/38?text=question+3&longer=0.2&model=small"
        expect(page.locator("#number")).to_have_text("5 of 40")
        expect(page.locator("#filter [name=longer]")).to_be_visible()
        page.focus("#filter [name=model]")
        expect(page.locator("#filter [name=model]")).to_have_value("small")
        page.go_back()
        expect(page.locator("#number")).to_have_text("5 of 40")
        page.go_back()
        expect(page.locator("#number")).to_have_text("40")
        page.go_forward()
        expect(page.locator("#number")).to_have_text("5 of 40")
        page.click("#filter [type=reset]")
        expect(page.locator("#number")).to_have_text("40")
        assert page.url == f"{url}/#watch"
    page.close()


def test_a_link_leads_to_a_turn_and_its_tab(page: Page, url: str) -> None:
    page.locator(ROWS).nth(1).click()
    expect(page.locator("#watched h2")).to_contain_text("req_998")
    page.get_by_role("tab", name="Response").click()
    assert page.url == f"{url}/#turn/998/response"
    page.evaluate("location.hash = '#turn/500/request'")
    expect(page.locator("#watched h2")).to_contain_text("req_500")
    expect(page.get_by_role("tab", name="Client request")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#turns [aria-selected=true]")).to_contain_text("Question 500")
    page.evaluate("location.hash = '#turn/77777'")
    expect(page.locator("#watched")).to_have_text("This turn is not kept, or no longer.")
    page.go_back()
    expect(page.locator("#watched h2")).to_contain_text("req_500")


def test_the_newest_turn_is_on_top_and_nothing_moves_for_someone_who_reads(page: Page) -> None:
    feed = FakeFeed(page)
    feed.tell(("row", varied(1000)))
    expect(page.locator(ROWS).first).to_contain_text("Question 1000")
    page.evaluate(f"{TOP} = 4000")
    page.wait_for_timeout(50)
    middle = "document.elementFromPoint(100, 540).closest('li').textContent"
    before = page.evaluate(middle)
    feed.tell(*(("row", varied(number)) for number in range(1001, 1011)))
    button = page.locator("#newer")
    expect(button).to_have_text("10 new")
    assert page.evaluate(middle) == before
    button.click()
    expect(page.locator(ROWS).first).to_contain_text("Question 1010")
    expect(button).to_be_hidden()
    feed.tell(("forgotten", {"number": 1010}), *(("forgotten", {"number": number}) for number in range(1000, 1010)))
    expect(page.locator(ROWS).first).to_contain_text("Question 999")
    assert page.evaluate(middle) != before


def test_a_turn_that_ends_changes_its_row(page: Page) -> None:
    feed = FakeFeed(page)
    running = varied(2000) | {"state": "running", "finish": "", "status": None, "total_ms": None, "tokens": None}
    feed.tell(("row", running))
    first = page.locator(ROWS).first
    expect(first.locator(".finish")).to_have_text("…")
    expect(first.locator(".asks")).to_have_count(0)
    feed.tell(("row", varied(2000) | {"asks": 3}))
    expect(first.locator(".finish")).to_have_text("200 failed")
    expect(first.locator(".asks")).to_have_text("3 upstream requests")
    feed.tell(("forgotten", {"number": 2000}))
    expect(first).to_contain_text("Question 999")


def test_slash_leads_to_the_search(page: Page) -> None:
    page.locator("body").press("/")
    expect(page.locator("#filter [name=text]")).to_be_focused()


def test_enter_leads_from_a_row_to_its_turn(page: Page) -> None:
    page.locator(ROWS).nth(1).click()
    expect(page.locator("#watched h2")).to_contain_text("req_998")
    page.focus("#turns")
    page.keyboard.press("Enter")
    expect(page.locator("#watched [role=tab][aria-selected=true]")).to_be_focused()


def test_enter_right_after_an_arrow_leads_to_the_turn_of_the_new_row(page: Page) -> None:
    page.focus("#turns")
    page.keyboard.press("Home")
    expect(page.locator("#watched h2")).to_contain_text("req_999")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#watched h2")).to_contain_text("req_998")
    expect(page.locator("#watched [role=tab][aria-selected=true]")).to_be_focused()
