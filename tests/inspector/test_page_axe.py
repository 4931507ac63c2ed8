"""axe-core finds nothing serious on any view, in both themes, on a desk and on a phone."""

from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from app.settings import Server, Settings
from tests.inspector.fake_feed import CALL, OUTPUT, THOUGHT, FakeFeed, answer, ask, changes, detail, row, said
from tests.support.node import modules_with
from tests.support.serving import serving

pytestmark = pytest.mark.needs("npm:axe-core")
ITEMS: Final = [{"role": "user", "content": "Fix the tests."}, THOUGHT, CALL, OUTPUT]
TEXT: Final = (
    "# Done\n1. Read [this](https://example.com/)\n```sh\npytest\n```\n| a | b |\n|---|---|\n| 1 | 2 |\n> quoted"
)
RAW: Final = 'data: {"choices": [{"delta": {"content": "Other"}}]}\n'
TURN: Final = detail(
    row(2),
    request={"model": "small", "instructions": "Be brief.", "input": ITEMS},
    events=answer(THOUGHT, CALL, said(TEXT)),
    asks=[ask(warnings=["No search."], raw={"text": RAW, "bytes": 50, "left_out": 0})],
    timeline=[{"phase": "ask", "ask": 1, "from": 4, "to": 890, "words": "local"}],
    changes=changes(1, new_items=[3, 4], tools={"added": ["grep"]}),
)
REFUSED: Final = detail(
    row(3, finish="refused", status=404, error="model_not_found"),
    refused={"status": 404, "error": {"code": "model_not_found", "message": "The model is not known."}},
)
SESSION: Final = {
    "session": 0,
    "turns": [
        {"row": row(1), "changes": None, "instructions": "Be brief.", "new": ITEMS[:1], "output": [THOUGHT, CALL]},
        {
            "row": row(2),
            "changes": changes(1, settings=["reasoning"]),
            "instructions": None,
            "new": [OUTPUT],
            "output": [said(TEXT)],
        },
    ],
}
TABS: Final = ["conversation", "changes", "request", "ask-1", "events", "response", "timing", "again"]
PLACES: Final = {
    "try": None,
    "watch": "#turns li",
    **{f"turn/2/{tab}": f"#watched .pane[data-name={tab}]:not([hidden])" for tab in TABS},
    "sessions": "#sessions li",
    "session/0": ".turn-of-session .item",
}


def send(page: Page) -> None:
    page.evaluate("location.hash = '#try'")
    page.fill("#model", "demo")
    page.check("#with-tools")
    page.fill("#input", "Please think it over.")
    page.click("#send")
    expect(page.locator("#runs .status")).to_have_text("completed", timeout=20_000)


def run_again(page: Page) -> None:
    page.evaluate("location.hash = '#turn/2/again'")
    page.fill(".again textarea", '{"model": "demo", "input": "Hi"}')
    page.click("text=Send again")
    expect(page.locator(".again .status").last).to_have_text("completed", timeout=20_000)


def open_event(page: Page) -> None:
    page.evaluate("location.hash = '#turn/2/events'")
    page.locator("#watched .events li").first.click()
    expect(page.locator("#watched .raw").first).to_be_visible()


def open_filters(page: Page) -> None:
    page.evaluate("location.hash = '#watch'")
    page.evaluate("document.querySelector('#filter details').open = true")


def open_shortcuts(page: Page) -> None:
    page.click("#help")
    expect(page.locator("#keys")).to_be_visible()


def open_refused(page: Page) -> None:
    page.evaluate("location.hash = '#turn/3/conversation'")
    expect(page.locator("#watched .note.failed")).to_be_visible()


def open_running(page: Page) -> None:
    page.evaluate("location.hash = '#turn/30/conversation'")
    expect(page.locator("#watched .status")).to_have_text("streaming")


def open_forgotten(page: Page) -> None:
    page.evaluate("location.hash = '#turn/999/conversation'")
    expect(page.locator("#watched .notice")).to_be_visible()


STATES: Final[list[Callable[[Page], None]]] = [
    send, run_again, open_event, open_filters, open_refused, open_running, open_forgotten, open_shortcuts,
]  # fmt: skip
ON_A_PHONE: Final = ["watch", "turn/2/conversation", "turn/2/events", "turn/2/again", "session/0"]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Settings(server=Server(watch=5))) as address:
        yield address


def opened(browser: Browser, url: str, scheme: Literal["dark", "light"], width: int) -> Page:
    axe = modules_with("axe-core") / "axe-core" / "axe.min.js"
    page = browser.new_page(viewport={"width": width, "height": 760}, color_scheme=scheme, bypass_csp=True)
    feed = FakeFeed.at(page, url)
    page.add_script_tag(path=axe)
    page.click("#tab-watch")
    feed.rows(row(1, finish="failed", problem="It broke."), row(2, calls=["exec_command"]), row(30, state="running"))
    running = row(30, state="running", finish="", status=None, total_ms=None)
    feed.keep(turns={1: detail(row(1)), 2: TURN, 3: REFUSED, 30: detail(running)}, sessions={0: SESSION})
    return page


@pytest.fixture(scope="module")
def desk(browser: Browser, url: str) -> Page:
    return opened(browser, url, "dark", 1280)


@pytest.fixture(scope="module")
def phone(browser: Browser, url: str) -> Page:
    return opened(browser, url, "light", 360)


def faults(page: Page, *rules: str) -> list[str]:
    """The rules that are broken seriously, of these or of all, with the elements that break them."""
    options = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
    found: dict[str, Any] = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{rule['id']}: {node['html'][:120]} {node['failureSummary'][:200]}"
        for rule in found["violations"]
        for node in rule["nodes"]
        if rule["impact"] in {"serious", "critical"}
    ]


def nothing_serious(page: Page, place: str) -> None:
    page.evaluate(f"location.hash = '#{place}'")
    if awaited := PLACES[place]:
        expect(page.locator(awaited).first).to_be_visible()
    nothing_is_serious(page)


def nothing_is_serious(page: Page) -> None:
    """In both themes: only the colours differ."""
    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for theme in ("light", "dark"):
        page.evaluate("theme => (document.documentElement.dataset.theme = theme)", theme)
        assert faults(page, "color-contrast") == [], theme
    page.evaluate("delete document.documentElement.dataset.theme")


@pytest.mark.parametrize("place", PLACES)
def test_nothing_serious_is_found_on_a_desk(desk: Page, place: str) -> None:
    nothing_serious(desk, place)


@pytest.mark.parametrize("place", ON_A_PHONE)
def test_nothing_serious_is_found_on_a_phone(phone: Page, place: str) -> None:
    nothing_serious(phone, place)


@pytest.mark.parametrize("bring_about", STATES)
@pytest.mark.parametrize("of", ["desk", "phone"])
def test_nothing_serious_is_found_in_other_states(
    of: str, bring_about: Callable[[Page], None], request: pytest.FixtureRequest
) -> None:
    page: Page = request.getfixturevalue(of)
    bring_about(page)
    nothing_is_serious(page)
    page.evaluate("document.querySelector('#keys').close()")


def test_it_finds_what_is_wrong(desk: Page) -> None:
    desk.evaluate("location.hash = '#try'")
    desk.evaluate("document.querySelector('#effort').closest('label').replaceWith(document.querySelector('#effort'))")
    assert [fault.split(":")[0] for fault in faults(desk)] == ["select-name"]
    desk.evaluate("document.documentElement.style.setProperty('--dim', '#888')")
    desk.evaluate("document.documentElement.dataset.theme = 'light'")
    assert {fault.split(":")[0] for fault in faults(desk, "color-contrast")} == {"color-contrast"}
