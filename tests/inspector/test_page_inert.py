"""Nothing that a model, a client or a file says becomes markup, a script, or a request to another server."""

import json
from base64 import b64encode
from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, expect

from app.settings import Server, Settings
from tests.inspector.conftest import SIZE, without_errors
from tests.inspector.fake_feed import CALL, OUTPUT, FakeFeed, answer, ask, changes, detail, row, said
from tests.support.serving import serving

TAKEN: Final = "document.title='taken'"
MARKUP: Final = f'"><img src=x onerror="{TAKEN}"><script>{TAKEN}</script><svg onload="{TAKEN}"><h1>'
SVG: Final = f'<svg xmlns="http://www.w3.org/2000/svg" onload="{TAKEN}"><script>{TAKEN}</script></svg>'
SVG_URL: Final = f"data:image/svg+xml;base64,{b64encode(SVG.encode()).decode()}"
PNG_URL: Final = (
    "data:image/png;base64,"
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
TABS: Final = ["Conversation", "Changes", "Client request", "Upstream request", "Events", "Response", "Timing",
               "Run again"]  # fmt: skip


def image(url: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "input_image", "image_url": url}]}


def markdown(text: str) -> list[dict[str, Any]]:
    return [said(text), {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]}]


CASES: Final[dict[str, list[dict[str, Any]]]] = {
    "the text of a model": markdown(MARKUP),
    "code": markdown(f"```html\n{MARKUP}\n```\n`{MARKUP}`"),
    "a heading, a list, a table, and a quote": markdown(f"# {MARKUP}\n- {MARKUP}\n\n| {MARKUP} |\n|---|\n> {MARKUP}"),
    "the address of a link": markdown(
        f"[a](javascript:{TAKEN}) [a](javascript://x%0a{TAKEN}) [b](data:text/html,{SVG}) ![c](https://x.invalid/c.png)"
    ),
    "an image of Markdown": markdown(f"![x](x{MARKUP}) ![y](https://x.invalid/y.png)"),
    "the name and the arguments of a call": [{**CALL, "name": MARKUP, "namespace": MARKUP, "arguments": MARKUP}],
    "JSON in arguments": [{**CALL, "arguments": json.dumps({MARKUP: MARKUP})}],
    "lines in arguments": [{**CALL, "arguments": json.dumps({MARKUP: f"{MARKUP}\n{MARKUP}"})}],
    "the output of a tool": [CALL, {**OUTPUT, "output": MARKUP}],
    "the parts of an output": [CALL, {**OUTPUT, "output": [{"type": "input_text", "text": MARKUP}, {"type": MARKUP}]}],
    "an image that is SVG": [
        image(SVG_URL),
        {"type": "image_generation_call", "output_format": "svg+xml", "result": "eA=="},
    ],
    "an image of another server": [image("https://x.invalid/x.png"), image("//x.invalid/x"), image("x")],
    "an image that is none": [image("data:image/png;base64,eA=="), {"type": "image_generation_call", "result": MARKUP}],
    "a format with markup": [{"type": "image_generation_call", "output_format": MARKUP, "result": "eA=="}],
    "a type and a role": [{"type": MARKUP, "x": MARKUP}, {"type": "message", "role": MARKUP, "content": MARKUP}],
    "a status": [{**CALL, "status": MARKUP}],
    "citations": [
        {
            "type": "message",
            "role": "assistant",
            "content": [
                {
                    "type": "output_text",
                    "text": "x",
                    "annotations": [
                        {"type": "url_citation", "url": f"javascript:{TAKEN}", "title": MARKUP},
                        {"url": "https://x.invalid", "title": MARKUP},
                    ],
                }
            ],
        }
    ],
    "annotations that are no list": [
        {**said("x"), "content": [{"type": "output_text", "text": "x", "annotations": 5}]}
    ],
    "a citation that is null": [
        {**said("x"), "content": [{"type": "output_text", "text": "x", "annotations": [None]}]}
    ],
    "a summary that is no list": [{"type": "reasoning", "summary": 5}, {"type": "reasoning", "summary": {"a": 1}}],
    "a type that is no text": [{"type": 5}, {"type": {"a": 1}, "name": {"b": 2}}],
    "a table that is too wide": markdown(f"{'|' * 90_000}\n{'|-' * 40_000}"),
}
"""What -> items that are both input and output of a turn."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Settings(server=Server(watch=5))) as address:
        yield address


FRAME: Final = "data: " + json.dumps(
    {"choices": [{"finish_reason": MARKUP, "delta": {"content": MARKUP}}, None], "usage": {"prompt_tokens": MARKUP}}
)
"""What an upstream may say."""


@pytest.fixture(scope="module")
def tab(browser: Browser, url: str) -> Page:
    page = browser.new_page(viewport=SIZE)
    feed = FakeFeed.at(page, f"{url}/#watch")
    feed.rows(row(1))
    return page


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    with without_errors(tab):
        yield tab
    title, address = tab.title(), tab.url
    markup = tab.locator("main :is(script, h1, iframe, object, embed, [onerror], [onload], svg script)").count()
    assert (title, markup) == ("AM Proxy · inspector", 0)
    home = address.split("#")[0]
    assert [each for each in asked if not each.startswith((home, "data:image/png;base64,"))] == []
    links = tab.locator("main a").evaluate_all("all => all.map(each => each.protocol)")
    assert set(links) <= {"http:", "https:"}
    assert tab.locator("main img").evaluate_all("all => all.every(each => each.src.startsWith('data:image/png;'))")


def turn(items: list[dict[str, Any]], number: int = 1) -> dict[str, Any]:
    return detail(
        row(number),
        request={"model": MARKUP, "instructions": MARKUP, "input": items},
        events=answer(*items),
        asks=[
            ask(
                body={"x": MARKUP},
                raw={"text": MARKUP, "bytes": 9, "left_out": 0},
                chunks={"text": f"{MARKUP}\n\n{FRAME}", "bytes": 9, "left_out": 0},
                failed_tries=[{"status": MARKUP, "failed": MARKUP, "raw": {"text": MARKUP, "bytes": 9, "left_out": 0}}],
                upstream=MARKUP,
                warnings=[MARKUP],
            )
        ],
        timeline=[{"phase": MARKUP, "ask": None, "from": 0, "to": 4, "words": MARKUP}],
        changes=changes(1, settings=[MARKUP], tools={"added": [MARKUP]}),
    )


def show_turn(page: Page, number: int) -> None:
    page.evaluate(f"location.hash = '#turn/{number}/conversation'")
    expect(page.locator("#watched h2")).to_contain_text(f"req_{number}")
    opened = "each => each.querySelectorAll('details').forEach(part => (part.open = true))"
    page.locator("#watched").evaluate(opened)


@pytest.mark.parametrize("case", CASES)
def test_it_stays_text_in_the_conversation(page: Page, case: str) -> None:
    number = list(CASES).index(case) + 1
    items = CASES[case]
    changed = changes(1, settings=[MARKUP], tools={"added": [MARKUP]}, instructions=MARKUP, cache={"words": MARKUP})
    one = {"row": row(number), "changes": changed, "instructions": MARKUP, "new": items, "output": items}
    FakeFeed(page).keep(turns={number: turn(items, number)}, sessions={number: {"session": number, "turns": [one]}})
    show_turn(page, number)
    page.evaluate(f"location.hash = '#session/{number}'")
    expect(page.locator("#conversation h2")).to_have_text(f"Conversation {number}")
    expect(page.locator(".turn-of-session .item").first).to_be_visible()


def test_items_that_are_none_are_left_out_of_a_conversation(page: Page) -> None:
    one = {"row": row(78), "changes": None, "instructions": None, "new": [None, 5, said("x")], "output": [None]}
    FakeFeed(page).keep(sessions={78: {"session": 78, "turns": [one]}})
    page.evaluate("location.hash = '#session/78'")
    expect(page.locator("#conversation h2")).to_have_text("Conversation 78")
    expect(page.locator(".turn-of-session .item")).to_have_count(1)


def test_it_stays_text_in_every_tab(page: Page) -> None:
    FakeFeed(page).keep(turns={77: turn([item for items in CASES.values() for item in items], 77)})
    show_turn(page, 77)
    for name in TABS:
        page.locator("#watched").get_by_role("tab", name=name, exact=name != "Upstream request").click()
        expect(page.locator("#watched .pane:not([hidden])")).not_to_be_empty()


ENDS: Final[dict[str, dict[str, Any]]] = {
    "a refusal": {"refused": {"status": 400, "error": {"code": MARKUP, "message": MARKUP}}},
    "a failure": {"events": [{"type": "response.failed", "response": {"error": {"code": MARKUP, "message": MARKUP}}}]},
    "an error": {"events": [{"type": "error", "error": {"code": MARKUP, "message": MARKUP}}]},
    "a cut": {"events": [{"type": "response.incomplete", "response": {"incomplete_details": {"reason": MARKUP}}}]},
}


@pytest.mark.parametrize("case", ENDS)
def test_the_end_of_an_answer_stays_text(page: Page, case: str) -> None:
    number = 60 + list(ENDS).index(case)
    more = ENDS[case] | {"events": [{"at": 1, "event": event} for event in ENDS[case].get("events", [])]}
    FakeFeed(page).keep(turns={number: detail(row(number, finish=MARKUP, error=MARKUP, model=MARKUP), **more)})
    show_turn(page, number)
    expect(page.locator("#watched .note")).to_contain_text("<script>")


def test_a_warning_stays_text(page: Page) -> None:
    FakeFeed(page).keep(turns={90: detail(row(90), request={"model": "small", "input": "Hi"})})
    page.route(
        "**/v1/responses",
        lambda route: route.fulfill(headers={"x-am-warnings": json.dumps([MARKUP])}, body=""),
    )
    page.route("**/inspector/ask", lambda route: route.fulfill(json={"ask": {MARKUP: MARKUP}, "warnings": [MARKUP]}))
    page.evaluate("location.hash = '#turn/90/again'")
    expect(page.locator("#watched h2")).to_contain_text("req_90")
    page.get_by_role("button", name="Send again").click()
    expect(page.locator(".again .warnings").last).to_contain_text("<script>")
    expect(page.locator(".again .run").last.locator("[data-pane=asked] .json")).to_contain_text("<script>")
    page.unroute("**/v1/responses")
    page.unroute("**/inspector/ask")


def test_a_row_stays_text(page: Page) -> None:
    names = ("model", "said", "answered", "problem", "error", "key", "client", "when", "id")
    FakeFeed(page).tell(("row", row(99, **dict.fromkeys(names, MARKUP), calls=[MARKUP])))
    page.evaluate("location.hash = '#watch'")
    expect(page.locator("#turns li").first).to_contain_text("<script>")
    page.focus("#filter [name=text]")
    page.evaluate("markup => (location.hash = `#watch?model=${encodeURIComponent(markup)}`)", MARKUP)
    expect(page.locator("#filter [name=model]")).to_have_value(MARKUP)
    page.evaluate("location.hash = '#watch'")
    page.evaluate("location.hash = '#sessions'")
    expect(page.locator("#sessions li").first).to_contain_text("<script>")


def test_an_image_in_the_conversation_is_shown(page: Page) -> None:
    feed = FakeFeed(page)
    feed.keep(turns={88: detail(row(88), request={"input": [image(PNG_URL)]})})
    page.evaluate("location.hash = '#turn/88/conversation'")
    shown = page.locator("#watched .item img")
    expect(shown).to_have_attribute("src", PNG_URL)
    expect(shown).to_have_attribute("alt", "image of this conversation")
    assert shown.evaluate("each => each.decode().then(() => each.naturalWidth)") > 0


def test_an_image_that_cannot_be_read_is_said(page: Page) -> None:
    feed = FakeFeed(page)
    feed.keep(turns={89: detail(row(89), request={"input": [image("data:image/png;base64,eA==")]})})
    page.evaluate("location.hash = '#turn/89/conversation'")
    expect(page.locator("#watched .item[data-role=user]").first).to_contain_text("[image: it cannot be read]")
