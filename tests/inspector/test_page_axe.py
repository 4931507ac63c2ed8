"""axe-core finds nothing serious on any view, in both themes, on a desk and on a phone."""

from collections.abc import Iterator
from typing import Any, Final, Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from app.settings import Server, Settings
from tests.inspector.fake_feed import CALL, OUTPUT, THOUGHT, FakeFeed, answer, ask, changes, detail, row, said
from tests.support.chromium import CHROMIUM
from tests.support.node import modules_with
from tests.support.serving import serving

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
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
TABS: Final = ["conversation", "changes", "request", "ask-1", "events", "response", "timing", "compare", "again"]
PLACES: Final = {
    "try": None,
    "watch": "#turns li",
    **{f"turn/2/{tab}": f"#watched .pane[data-name={tab}]:not([hidden])" for tab in TABS},
    "sessions": "#sessions li",
    "session/0": ".turn-of-session .item",
}


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
    feed.keep(turns={1: detail(row(1)), 2: TURN}, sessions={0: SESSION})
    return page


@pytest.fixture(scope="module")
def desk(browser: Browser, url: str) -> Page:
    return opened(browser, url, "dark", 1280)


@pytest.fixture(scope="module")
def phone(browser: Browser, url: str) -> Page:
    return opened(browser, url, "light", 360)


def faults(page: Page) -> list[str]:
    """The rules that are broken seriously, with the elements that break them."""
    found: dict[str, Any] = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
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
    assert faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("place", PLACES)
def test_nothing_serious_is_found_on_a_desk(desk: Page, place: str) -> None:
    nothing_serious(desk, place)


@pytest.mark.parametrize("place", ON_A_PHONE)
def test_nothing_serious_is_found_on_a_phone(phone: Page, place: str) -> None:
    nothing_serious(phone, place)


def test_it_finds_what_is_wrong(desk: Page) -> None:
    desk.evaluate("location.hash = '#try'")
    desk.evaluate("document.querySelector('#effort').closest('label').replaceWith(document.querySelector('#effort'))")
    assert [fault.split(":")[0] for fault in faults(desk)] == ["select-name"]
