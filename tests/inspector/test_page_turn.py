"""All about one turn: its conversation, each request to an upstream, its events and times, as the tabs show them."""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, expect

from app.settings import Server, Settings
from tests.inspector.conftest import SIZE, without_errors
from tests.inspector.fake_feed import CALL, OUTPUT, THOUGHT, FakeFeed, answer, ask, changes, detail, row, said
from tests.support.serving import serving

MANY: Final = 10_000
RAW: Final = "".join(
    f"data: {json.dumps(chunk)}\n\n"
    for chunk in (
        {"choices": [{"delta": {"content": "Good mornin"}, "finish_reason": "length"}]},
        {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": None}},
        {"choices": 5},
    )
)
BUSY: Final = '{"error": {"message": "busy"}}'
CHUNKS: Final = 'data: {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}\n\n'


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
    6: detail(
        row(6), events=answer(said("Hi")),
        asks=[ask(1, chunks={"text": CHUNKS, "bytes": len(CHUNKS), "left_out": 0},
                  failed_tries=[{"status": 503, "failed": None, "raw": {"text": BUSY, "bytes": 30, "left_out": 0}},
                                {"status": None, "failed": "unreachable", "raw": None}])],
    ),
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


ARGUMENTS: Final[dict[str, tuple[Any, list[str]]]] = {
    "one line": ({"cmd": "ls"}, ['{\n  "cmd": "ls"\n}']),
    "several lines": ({"cmd": "cat <<E\nHi \\n\nE", "workdir": "w"},
                      ['{\n  "workdir": "w"\n}', "cmd:", "cat <<E\nHi \\n\nE"]),
    "two texts of several lines": ({"old": "a\nb", "new": "c\nd"}, ["old:", "a\nb", "new:", "c\nd"]),
    "no object": (["a\nb"], ['[\n  "a\\nb"\n]']),
    "null": (None, ["null"]),
}  # fmt: skip


@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments_of_several_lines_are_shown_as_lines(page: Page, case: str) -> None:
    given, texts = ARGUMENTS[case]
    number = 20 + list(ARGUMENTS).index(case)
    FakeFeed(page).keep(turns={number: detail(row(number), events=answer({**CALL, "arguments": json.dumps(given)}))})
    show(page, number)
    shown = page.locator(".answer-of-turn .call .body > *")
    expect(shown).to_have_count(len(texts))
    assert shown.all_text_contents() == texts


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
    show(page, 6, "Upstream request")
    pane = page.locator(".pane[data-name=ask-1]")
    expect(pane).to_contain_text("Try 1 failed: HTTP 503")
    pane.get_by_text("What came back after try 1 · 30 bytes").click()
    expect(pane).to_contain_text(BUSY)
    expect(pane).to_contain_text("Try 2 failed: unreachable")
    expect(pane).to_contain_text("There are no upstream bytes")
    pane.get_by_text("Chunks that AM Proxy read").click()
    expect(pane).to_contain_text(CHUNKS.strip())


def test_the_head_says_which_upstream_answered_and_how_fast(page: Page) -> None:
    show(page, 2)
    figures = page.locator("#watched .figures")
    expect(figures).to_have_text(
        "upstream local, 2 requests · first token 120 ms · total 900 ms · 1,000 → 30 tokens · 38 tokens/s"
    )
    show(page, 1)
    expect(figures).to_contain_text("upstream local · first token")


def test_the_times_of_all_phases_are_on_one_scale(page: Page) -> None:
    show(page, 2, "Timing")
    rows = page.locator(".timing tr")
    expect(rows).to_have_count(4)
    expect(rows.locator("td:first-child")).to_have_text(
        ["preparing", "local · request 1 to local · refused", "no data · request 1"]
    )
    expect(rows.locator("td:first-child").last).to_have_css("padding-left", "40px")
    scale, bar = (rows.last.locator(part).bounding_box() for part in ("td:last-child", ".bar-of-time"))
    assert scale is not None
    assert bar is not None
    assert bar["width"] / scale["width"] == pytest.approx(400 / 900, abs=0.05)
    show(page, 1, "Timing")
    expect(page.locator(".pane[data-name=timing]")).to_contain_text("No times are known")


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
    times = page.evaluate("""async () => {
        const list = document.querySelector("#watched .events");
        const times = [];
        for (let step = 0; step < 40; step += 1) {
            const start = performance.now();
            list.scrollTop = (step / 40) * list.scrollHeight;
            await new Promise(requestAnimationFrame);
            await new Promise(requestAnimationFrame);
            times.push(performance.now() - start);
        }
        return times;
    }""")
    assert sorted(times)[-4] < 500  # a machine may stand still now and then


def test_a_refusal_is_the_answer(page: Page) -> None:
    show(page, 4)
    expect(page.locator("#watched .status")).to_have_text("404 model_not_found")
    expect(page.locator("#watched .note.failed")).to_contain_text("The model is not known.")


def test_a_request_that_nobody_could_read_is_said(page: Page) -> None:
    feed = FakeFeed(page)
    feed.keep(turns={7: detail(row(7, finish="refused", status=400, error="invalid_json"), request=None)})
    show(page, 7)
    for name in ("Conversation", "Client request"):
        page.locator("#watched").get_by_role("tab", name=name).click()
        expect(page.locator("#watched .pane:not([hidden])")).to_contain_text("it is not a JSON object")


def test_what_is_not_kept_is_said_and_the_rest_is_there(page: Page) -> None:
    show(page, 5)
    pane = page.locator(".pane[data-name=conversation]")
    expect(pane).to_contain_text("The request is too long to be kept: … (9000000 bytes)")
    expect(page.locator("#watched .warnings")).to_have_text("7 events of this request were too large to be kept.")
    expect(page.locator("#watched .figures")).to_contain_text("1,000 → 30 tokens")
