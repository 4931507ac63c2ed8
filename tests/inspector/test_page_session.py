"""The conversations: their list, a table of the turns, and what was new in each turn."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, expect

from app.settings import Server, Settings
from tests.inspector.conftest import SIZE, without_errors
from tests.inspector.fake_feed import CALL, OUTPUT, THOUGHT, FakeFeed, changes, detail, row, said
from tests.support.serving import serving

COST: Final = {"amount": 0.0123, "currency": "USD", "source": "litellm"}
FIRST: Final[dict[str, Any]] = {
    "row": row(10, calls=["exec_command"], cost=COST),
    "changes": None,
    "instructions": "Be brief.",
    "new": [{"role": "user", "content": "Fix the tests."}],
    "output": [THOUGHT, CALL],
}
SECOND: Final[dict[str, Any]] = {
    "row": row(11, cost=COST),
    "changes": changes(10, tools={"added": ["grep"], "removed": [], "changed": []}, settings=["reasoning"]),
    "instructions": None,
    "new": [OUTPUT],
    "output": [said("Two tests *fail*.")],
}
RUNNING: Final[dict[str, Any]] = {
    "row": row(12, state="running", finish="", status=None, tokens=None, total_ms=None, first_ms=None),
    "changes": None,
    "instructions": None,
    "new": [{"role": "user", "content": "Go on."}],
    "output": [],
}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Settings(server=Server(watch=5))) as address:
        yield address


@pytest.fixture(scope="module")
def tab(browser: Browser, url: str) -> Page:
    page = browser.new_page(viewport=SIZE)
    feed = FakeFeed.at(page, f"{url}/#sessions")
    long = [row(number, session=7) for number in range(100, 400)]
    feed.rows(FIRST["row"], SECOND["row"], row(30, finish="failed"), *long)
    feed.keep(
        sessions={
            1: {"session": 1, "turns": [FIRST, SECOND]},
            7: {"session": 7, "turns": [{**FIRST, "row": each, "output": [said("Word " * 50)]} for each in long]},
        }
    )
    return page


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    with without_errors(tab):
        yield tab


def show(page: Page, number: int) -> None:
    page.evaluate(f"location.hash = '#session/{number}'")
    expect(page.locator("#conversation h2")).to_have_text(f"Conversation {number}")


def test_turns_are_grouped_and_the_latest_conversation_is_first(page: Page) -> None:
    rows = page.locator("#sessions li")
    expect(rows).to_have_count(3)
    assert rows.locator(".called").all_text_contents() == ["300 turns", "1 turn", "2 turns"]
    expect(rows.nth(1).locator(".finish")).to_have_text("1 failed")
    expect(rows.last).to_contain_text("Question 10")
    expect(rows.last).to_contain_text("2,000 → 60 tokens")
    expect(rows.last.locator(".cost")).to_have_text("≈ 0.025 USD")


def test_each_turn_is_a_row_with_its_tokens_times_outcome_and_cost(page: Page) -> None:
    show(page, 1)
    rows = page.locator("#conversation tbody tr")
    expect(rows).to_have_count(2)
    assert [rows.nth(index).locator("td").all_text_contents()[1:] for index in range(2)] == [
        ["→ exec_command pytest -q", "1,000", "400 (40 %)", "30", "120 ms", "900 ms", "200 completed", "≈ 0.012 USD"],
        ["Answer 11", "1,000", "400 (40 %)", "30", "120 ms", "900 ms", "200 completed", "≈ 0.012 USD"],
    ]
    expect(page.locator("#conversation .figures")).to_have_text(
        "2 turns · 2,000 tokens in · 40 % cached · 60 out · 1800 ms in turns · 100 ms between them"
        " · ≈ 0.025 USD estimated"
    )


def test_the_loop_of_an_agent_reads_as_one_conversation(page: Page) -> None:
    show(page, 1)
    first, second = (page.locator(".turn-of-session").nth(index) for index in range(2))
    expect(first.locator(".item[data-role=user]")).to_contain_text("Fix the tests.")
    expect(first.locator("details", has_text="Instructions · 9 characters")).to_be_visible()
    assert not first.locator("details.thought").evaluate("each => each.open")
    expect(first.locator(".pair .item").first).to_contain_text("pytest -q")
    expect(first.locator(".pair .item").last).to_contain_text("3 failed, 12 passed")
    expect(first.locator(".pair .item h3").last).to_contain_text("sent at 18:00:11")
    expect(second).to_contain_text("1 output of a call, shown next to its call")
    assert "3 failed" not in (second.text_content() or "")
    expect(second).to_contain_text("Tools: + grep.")
    expect(second).to_contain_text("Settings changed: reasoning.")
    expect(second.locator(".message em")).to_have_text("fail")


def test_the_table_shows_which_turn_was_long_or_dear_and_where_the_cache_was_lost(page: Page) -> None:
    used = {"input": 1000, "written": 0, "output": 30, "reasoning": 0}
    turns = [
        row(40, session=8, tokens={**used, "cached": 900}, cost=COST),
        row(41, session=8, tokens={**used, "cached": 100}, cost={**COST, "amount": 1}, began=1_763_562_760),
        row(42, session=8, tokens={**used, "cached": 990}, total_ms=9000, finish="failed", began=1_763_562_770),
        row(43, session=8, tokens=None, total_ms=None, state="running", began=1_763_562_780),
    ]
    shown: list[dict[str, Any]] = [
        {"row": each, "changes": None, "instructions": None, "new": [], "output": []} for each in turns
    ]
    FakeFeed(page).keep(sessions={8: {"session": 8, "turns": shown}})
    show(page, 8)
    body = page.locator("#conversation tbody")
    cached = body.locator("td:nth-child(4)")
    assert cached.all_text_contents() == ["900 (90 %)", "100 (10 %), was 900", "990 (99 %)", ""]
    expect(body.locator(".lost")).to_have_text("100 (10 %), was 900")
    assert body.locator(".most").all_text_contents() == ["≈ 1.00 USD", "9000 ms"]
    expect(page.locator("#conversation .figures")).to_contain_text("10.8 s in turns · 11.2 s between them")
    expect(page.locator(".turn-of-session h3").nth(2)).to_contain_text("9100 ms after the turn before")


def test_a_row_of_the_table_leads_to_what_was_said(page: Page) -> None:
    show(page, 7)
    last = page.locator("#conversation tbody tr").last
    last.get_by_role("button", name="Answer 399").press("Enter")
    section = page.locator(".turn-of-session").last
    expect(section).to_be_focused()
    expect(section).to_be_in_viewport()
    expect(section).to_contain_text("Word Word")
    page.evaluate("location.hash = '#sessions'")


def test_a_time_leads_to_the_turn_and_the_turn_back(page: Page) -> None:
    FakeFeed(page).keep(turns={11: detail(SECOND["row"])})
    show(page, 1)
    page.locator(".turn-of-session a").last.click()
    expect(page.locator("#watched h2")).to_have_text("small · req_11")
    page.get_by_role("button", name="Show the conversation").click()
    expect(page.locator("#conversation h2")).to_be_visible()
    assert page.url.endswith("#session/1")


def test_back_from_a_turn_the_conversation_is_where_it_was(page: Page) -> None:
    FakeFeed(page).keep(turns={150: detail(row(150, session=7))})
    show(page, 7)
    place = page.locator(".turns-of-session")
    place.evaluate("each => (each.scrollTop = 3000)")
    expect(page.locator(".turn-of-session", has_text="Word Word").nth(12)).to_be_attached()
    before = place.evaluate("each => each.scrollTop")
    page.evaluate("location.hash = '#turn/150'")
    expect(page.locator("#watched h2")).to_contain_text("req_150")
    page.go_back()
    expect(place).to_be_visible()
    assert place.evaluate("each => each.scrollTop") == before > 1000


def test_a_conversation_that_goes_on_grows(page: Page) -> None:
    show(page, 1)
    kept = page.locator(".turn-of-session").first
    kept.evaluate("each => each.dataset.mark = 'same'")
    feed = FakeFeed(page)
    feed.keep(sessions={1: {"session": 1, "turns": [FIRST, SECOND, RUNNING]}})
    feed.tell(("row", RUNNING["row"]))
    third = page.locator(".turn-of-session").nth(2)
    expect(third).to_contain_text("This turn is running.")
    expect(kept).to_have_attribute("data-mark", "same")
    link = page.locator("#conversation tbody a").first
    link.focus()
    ended = {**RUNNING, "row": row(12), "output": [said("Gone on.")]}
    feed.keep(sessions={1: {"session": 1, "turns": [FIRST, SECOND, ended]}})
    feed.tell(("row", row(12)))
    expect(third).to_contain_text("Gone on.")
    expect(link).to_be_focused()
    feed.keep(sessions={1: {"session": 1, "turns": [FIRST, SECOND]}})
    feed.tell(("forgotten", {"number": 12}))


def test_of_a_long_conversation_what_is_near_is_made(page: Page) -> None:
    show(page, 7)
    expect(page.locator(".turn-of-session")).to_have_count(300)
    expect(page.locator(".turn-of-session").first).to_contain_text("Fix the tests.")
    made = "all => all.filter(each => each.childElementCount).length"
    assert page.locator(".turn-of-session").evaluate_all(made) < 60
    page.locator(".turns-of-session").evaluate("each => each.scrollTop = each.scrollHeight")
    expect(page.locator(".turn-of-session").last).to_contain_text("Word Word")


def test_one_that_is_not_kept_is_said(page: Page) -> None:
    page.evaluate("location.hash = '#session/555'")
    expect(page.locator("#conversation")).to_have_text("This conversation is not kept, or no longer.")


def test_a_conversation_is_listed_by_its_last_turn_and_named_by_its_first_question(browser: Browser, url: str) -> None:
    page = browser.new_page(viewport=SIZE)
    with without_errors(page):
        feed = FakeFeed.at(page, f"{url}/#sessions")
        feed.rows(
            row(1, session=2),
            row(2, session=1),
            row(3, session=2, prepared=True, said="You are an agent."),
            row(4, session=3, prepared=True, said="You are an agent."),
            row(5, session=3, said="Fix the tests."),
        )
        expect(page.locator("#sessions .said")).to_have_text(["Fix the tests.", "Question 1", "Question 2"])
    page.close()
