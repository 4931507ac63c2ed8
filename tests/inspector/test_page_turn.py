"""All about one turn: its conversation, each request to an upstream, its events and times, as the tabs show them."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, expect

from app.settings import Server, Settings
from tests.inspector.conftest import SIZE, without_errors
from tests.inspector.fake_feed import CALL, OUTPUT, THOUGHT, FakeFeed, answer, ask, changes, detail, row, said
from tests.support.chromium import CHROMIUM
from tests.support.serving import serving

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
MANY: Final = 10_000
RAW: Final = 'data: {"choices": [{"delta": {"content": "Good mornin"}}]}\n\ndata: [DONE]\n\n'


def deltas(count: int) -> list[dict[str, Any]]:
    """The events of a long answer."""
    first, second, *others = answer(said("".join(f"{number} " for number in range(count))))
    middle = [
        {"at": number / 10, "event": {"type": "response.output_text.delta", "output_index": 0, "delta": f"{number} "}}
        for number in range(count)
    ]
    return [first, second, *middle, *others]


FIX: Final = {"role": "user", "content": "Fix the tests."}
TURNS: Final = {
    1: detail(row(1), request={"model": "small", "instructions": "Be brief.", "input": [FIX]}, events=answer(CALL)),
    2: detail(
        row(2),
        request={"model": "small", "instructions": "Be very brief.", "input": [FIX, THOUGHT, CALL, OUTPUT]},
        events=answer(THOUGHT, said("# Done\nAll **tests** pass.")),
        asks=[
            ask(1, error={"code": "upstream_error", "message": "Busy."}, outcome="refused", warnings=["No search."]),
            ask(2, upstream="other", raw={"text": RAW, "bytes": len(RAW), "left_out": 12}),
        ],
        timeline=[
            {"phase": "preparing", "ask": None, "from": 0, "to": 4, "words": ""},
            {"phase": "ask", "ask": 1, "from": 4, "to": 890, "words": "local"},
            {"phase": "stall", "ask": 1, "from": 400, "to": 800, "words": "no data"},
        ],
        changes=changes(
            1,
            new_items=[3, 4],
            tools={"added": ["grep"], "removed": ["ls"], "changed": ["cat"], "is_reordered": True},
            instructions="changed",
            settings=["reasoning"],
        ),
    ),
    3: detail(row(3, tokens=None), events=deltas(MANY)),
    4: detail(row(4, finish="refused", status=404, error="model_not_found"),
              refused={"status": 404, "error": {"code": "model_not_found", "message": "The model is not known."}}),
    5: detail(row(5), request={"left_out": "… (9000000 bytes)"}, events_left_out=7),
}  # fmt: skip


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Settings(server=Server(watch=5))) as address:
        yield address


@pytest.fixture(scope="module")
def tab(browser: Browser, url: str) -> Page:
    page = browser.new_page(viewport=SIZE)
    feed = FakeFeed.at(page, f"{url}/#watch")
    feed.rows(*(each["row"] for each in TURNS.values()))
    feed.keep(turns=TURNS)
    return page


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    with without_errors(tab):
        yield tab


def show(page: Page, number: int, name: str = "Conversation") -> None:
    page.evaluate(f"location.hash = '#turn/{number}/conversation'")
    expect(page.locator("#watched h2")).to_have_text(f"small · req_{number}")
    page.locator("#watched").get_by_role("tab", name=name, exact=True).click()


def test_a_conversation_shows_what_is_new_and_calls_beside_their_outputs(page: Page) -> None:
    show(page, 2)
    conversation = page.locator(".pane[data-name=conversation]")
    pair = conversation.locator(":scope > .scrolled > .pair .item")
    expect(pair).to_have_count(2)
    expect(pair.first).to_contain_text('"cmd": "pytest -q"')
    expect(pair.last).to_contain_text("3 failed, 12 passed")
    expect(conversation.get_by_text("Fix the tests.")).to_be_hidden()
    conversation.get_by_text("3 items that were there before").click()
    expect(conversation.get_by_text("Fix the tests.")).to_be_visible()
    thought = conversation.locator(".answer-of-turn details.thought")
    assert not thought.evaluate("each => each.open")
    expect(conversation.locator(".answer-of-turn .heading")).to_have_text("Done")
    expect(conversation.locator(".answer-of-turn .message strong")).to_have_text("tests")


def test_what_changed_since_the_turn_before_is_said_in_words(page: Page) -> None:
    show(page, 2, "Changes")
    pane = page.locator(".pane[data-name=changes]")
    expect(pane.locator("mark").last).to_have_text("very ")
    assert pane.locator("li").all_text_contents() == [
        "Items: 1 new (1 function_call_output), after 3 that were there before.",
        "It continues the turn before: all that was there is unchanged.",
        "Instructions: changed.",
        "Tools: grep added; ls removed; cat changed; in another order.",
        "Settings: reasoning changed.",
    ]
    pane.get_by_role("button", name="Show the turn before").click()
    expect(page.locator("#watched h2")).to_have_text("small · req_1")


def test_each_request_to_an_upstream_has_a_tab(page: Page) -> None:
    show(page, 2, "Upstream request 1 · local")
    pane = page.locator(".pane[data-name=ask-1]")
    expect(pane).to_contain_text("small-7b · refused · began at 4 ms · first data at 400 ms · ended at 890 ms")
    expect(pane.locator("details", has_text="Error")).to_contain_text("Busy.")
    expect(page.locator("#watched .warnings")).to_have_text("No search.")
    show(page, 2, "Upstream request 2 · other")
    pane = page.locator(".pane[data-name=ask-2]")
    pane.get_by_text(f"Upstream bytes, as they came · {len(RAW)} bytes · 12 bytes not kept").click()
    expect(pane).to_contain_text("Good mornin")
    pane.get_by_text("Prompt, in no dialect").click()
    expect(pane).to_contain_text('"instructions": "Be brief."')


def test_the_times_of_all_phases_are_on_one_scale(page: Page) -> None:
    show(page, 2, "Timing")
    rows = page.locator(".timing tr")
    expect(rows).to_have_count(4)
    expect(rows.locator("td:first-child")).to_have_text(["preparing", "local · request 1", "no data · request 1"])
    scale, bar = (rows.last.locator(part).bounding_box() for part in ("td:last-child", ".bar-of-time"))
    assert scale is not None
    assert bar is not None
    assert bar["width"] / scale["width"] == pytest.approx(400 / 900, abs=0.05)
    show(page, 1, "Timing")
    expect(page.locator(".pane[data-name=timing]")).to_contain_text("No times are known")


def test_what_the_upstream_said_is_compared_with_what_the_client_got(page: Page) -> None:
    show(page, 2, "Compare")
    pane = page.locator(".pane[data-name=compare]")
    expect(pane).to_contain_text("12 bytes of the upstream are not kept")
    different = pane.locator(".compared[data-same=false]").first
    expect(different).to_contain_text("Text: upstream 11 characters, client 26")
    expect(different.locator("pre").first).to_have_text("Good mornin")
    show(page, 1, "Compare")
    expect(pane).to_contain_text("The bytes of the upstream are not kept")


def test_ten_thousand_events_are_shown_at_once_and_scrolled_through(page: Page) -> None:
    show(page, 1)
    took = page.evaluate("""async () => {
        const start = performance.now();
        location.hash = "#turn/3/events";
        const frame = () => new Promise(requestAnimationFrame);
        while (!document.querySelector("#watched .count")?.textContent.startsWith("10004 ")) await frame();
        return performance.now() - start;
    }""")
    assert took < 3000
    expect(page.locator("#watched .count")).to_have_text("10004 events, 9999 of them folded")
    page.check("#watched .every")
    page.focus("#watched .events")
    page.keyboard.press("End")
    expect(page.locator("#watched .events li").last).to_have_attribute("aria-posinset", "10004")
    assert page.locator("#watched .events li").count() < 100
    slowest = page.evaluate("""async () => {
        const list = document.querySelector("#watched .events");
        let slowest = 0;
        for (let step = 0; step < 40; step += 1) {
            const start = performance.now();
            list.scrollTop = (step / 40) * list.scrollHeight;
            await new Promise(requestAnimationFrame);
            await new Promise(requestAnimationFrame);
            slowest = Math.max(slowest, performance.now() - start);
        }
        return slowest;
    }""")
    assert slowest < 500


def test_a_refusal_is_the_answer(page: Page) -> None:
    show(page, 4)
    expect(page.locator("#watched .status")).to_have_text("404 model_not_found")
    expect(page.locator("#watched .note.failed")).to_contain_text("The model is not known.")


def test_what_is_not_kept_is_said_and_the_rest_is_there(page: Page) -> None:
    show(page, 5)
    expect(page.locator(".pane[data-name=conversation]")).to_contain_text("The request is not shown: … (9000000 bytes)")
    expect(page.locator("#watched .warnings")).to_have_text("7 events of this request were too large to be kept.")
    expect(page.locator("#watched .figures")).to_contain_text("1,000 → 30 tokens")


def test_a_running_turn_grows_while_it_is_watched(page: Page) -> None:
    feed = FakeFeed(page)
    running = row(6, state="running", finish="", status=None, total_ms=None, first_ms=None, tokens=None)
    feed.keep(turns={6: detail(running)})
    feed.tell(("row", running))
    show(page, 6)
    first, added, done, last = answer(said("All of it."))
    path = "turns/6/live"
    delta = {"type": "response.output_text.delta", "output_index": 0, "delta": "All of"}
    feed.tell(("sent", {"at": 1, "events": [first["event"], added["event"], delta]}), path=path)
    expect(page.locator(".answer-of-turn .message")).to_contain_text("All of")
    expect(page.locator("#watched .status")).to_have_text("streaming")
    feed.keep(turns={6: detail(row(6), events=answer(said("All of it.")), asks=[ask()])})
    feed.tell(("sent", {"at": 2, "events": [done["event"], last["event"]]}), ("ended", {"fields": {}}), path=path)
    page.evaluate(f"streams['{path}'].close()")
    expect(page.locator("#watched .status")).to_have_text("completed")
    expect(page.locator(".answer-of-turn .message")).to_contain_text("All of it.")
    expect(page.locator("#watched").get_by_role("tab", name="Upstream request")).to_be_visible()
    show(page, 6, "Events")
    expect(page.locator("#watched .count")).to_have_text("5 events")
