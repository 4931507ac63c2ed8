"""The page for those who use a keyboard, a screen reader or a phone."""

import re
from collections.abc import Iterator
from typing import Final

import pytest
from playwright.sync_api import Page, expect

from app.settings import Server, Settings
from tests.support.running import ROOT
from tests.support.serving import serving

STYLE: Final = "".join((ROOT / f"app/inspector/static/{name}.css").read_text() for name in ("style", "watch"))
SETTLED = 20_000
LEAST: Final = 4.5
"""The contrast of text with its background that WCAG AA asks for."""
INKS: Final = ["text", "dim", "accent", "good", "bad", "warn", *(f"lane-{number}" for number in range(9))]

Colour = tuple[float, float, float]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Settings(server=Server(watch=5))) as address:
        yield address


def ask(page: Page, url: str, prompt: str = "Hello!") -> None:
    page.goto(url)
    expect(page.locator("#model")).to_have_value("demo")
    page.fill("#input", prompt)
    page.click("#send")
    expect(page.locator(".status").first).to_have_text("completed", timeout=SETTLED)


def colour(name: str, theme: str) -> Colour:
    """A colour of the style sheet, by the name of its variable."""
    found = re.search(rf"--{name}: (.*);", STYLE)
    assert found is not None, name
    value = found[1]
    if mix := re.fullmatch(r"color-mix\(in srgb, var\(--([\w-]+)\) (\d+)%, var\(--([\w-]+)\)\)", value):
        share = int(mix[2]) / 100
        one, other = colour(mix[1], theme), colour(mix[3], theme)
        red, green, blue = (a * share + b * (1 - share) for a, b in zip(one, other, strict=True))
        return red, green, blue
    digits = re.findall(r"#([0-9a-f]{6})", value)
    assert len(digits) in {1, 2}, value
    own = digits[0] if theme == "light" else digits[-1]
    red, green, blue = (int(own[start : start + 2], 16) / 255 for start in (0, 2, 4))
    return red, green, blue


def contrast(one: Colour, other: Colour) -> float:
    def light(of: Colour) -> float:
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in of]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, bright = sorted((light(one), light(other)))
    return (bright + 0.05) / (dark + 0.05)


def test_contrast_is_what_wcag_defines() -> None:
    assert contrast((0, 0, 0), (1, 1, 1)) == pytest.approx(21)
    assert contrast((1, 1, 1), (0x77 / 255, 0x77 / 255, 0x77 / 255)) == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_colour_of_text_can_be_read_on_every_background(theme: str) -> None:
    found = {
        f"{ink} on {back}": round(contrast(colour(ink, theme), colour(back, theme)), 2)
        for ink in INKS
        for back in ("back", "pane", "chosen")
    }
    found["white on primary"] = round(contrast((1, 1, 1), colour("primary", theme)), 2)
    assert {pair: ratio for pair, ratio in found.items() if ratio < LEAST} == {}


def test_no_text_has_a_colour_beyond_these() -> None:
    """Only `color: var(--…)` of an ink above, white on the primary button, and what is inherited."""
    inks = set(re.findall(r"[\s{;]color: ([^;}]+)[;}]", STYLE))
    assert inks == {"inherit", "#fff"} | {f"var(--{name})" for name in INKS}
    assert "opacity: ." not in STYLE.replace("button:disabled { opacity: .5;", "")


def test_tabs_are_stepped_through_by_arrow_keys_and_lead_to_their_panels(page: Page, url: str) -> None:
    ask(page, url)
    tabs = page.locator(".run [role=tab]")
    tabs.first.focus()
    for key, name in [("ArrowRight", "Upstream request"), ("End", "Response"), ("ArrowRight", "Events")]:
        page.keyboard.press(key)
        focused = page.locator(":focus")
        expect(focused).to_have_text(name)
        expect(focused).to_have_attribute("aria-selected", "true")
        panel = page.locator(f"#{focused.get_attribute('aria-controls')}")
        expect(panel).to_be_visible()
        assert panel.get_attribute("role") == "tabpanel"
        assert panel.get_attribute("aria-labelledby") == focused.get_attribute("id")
        assert tabs.evaluate_all("all => all.filter(tab => tab.tabIndex === 0).length") == 1
    page.focus("#tab-try")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#view-watch")).to_be_visible()


def test_no_two_elements_have_one_id(page: Page, url: str) -> None:
    ask(page, url)
    page.click("#tab-watch")
    page.locator("#turns li").first.click()
    ids = page.locator("[id]").evaluate_all("all => all.map(each => each.id)")
    assert len(ids) == len(set(ids)) > 20


def test_lists_name_their_active_option(page: Page, url: str) -> None:
    ask(page, url)
    page.focus(".events")
    page.keyboard.press("End")
    chosen = page.locator(".events [aria-selected=true]")
    expect(chosen).to_contain_text("completed")
    assert page.get_attribute(".events", "aria-activedescendant") == chosen.get_attribute("id")
    page.click("#tab-watch")
    expect(page.locator("#turns [role=option]")).not_to_have_count(0)
    page.focus("#turns")
    page.keyboard.press("ArrowDown")
    active = page.get_attribute("#turns", "aria-activedescendant")
    assert active is not None
    assert active == page.locator("#turns [aria-selected=true]").get_attribute("id")


def test_the_page_has_one_main_landmark_and_announces_states_only(page: Page, url: str) -> None:
    ask(page, url)
    assert page.locator("main:not([role])").count() == page.locator("main").count() == 1
    live = page.locator("[aria-live], [role=status], output").evaluate_all("all => all.map(each => each.textContent)")
    assert set(live) <= {"", "completed"}


def test_the_state_of_an_answer_is_announced_once_for_each_change(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.locator("#model")).to_have_value("demo")
    page.evaluate("""() => {
        window.states = [];
        new MutationObserver(changes => {
            for (const { target, addedNodes } of changes) {
                if (target.role === "status" && addedNodes.length) window.states.push(target.textContent);
            }
        }).observe(document.querySelector("#runs"), { subtree: true, childList: true });
    }""")
    page.fill("#input", "Hello!")
    page.click("#send")
    expect(page.locator(".status")).to_have_text("completed", timeout=SETTLED)
    states = page.evaluate("window.states")
    assert states[-1] == "completed"
    assert len(states) == len(set(states)) <= 3


def test_single_key_shortcuts_can_be_turned_off(page: Page, url: str) -> None:
    page.goto(url)
    page.locator("body").press("2")
    expect(page.locator("#view-watch")).to_be_visible()
    page.keyboard.press("?")
    page.uncheck("#single-keys")
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    expect(page.locator("#view-watch")).to_be_visible()
    page.reload()
    page.keyboard.press("1")
    expect(page.locator("#view-watch")).to_be_visible()
    page.click("#help")
    page.check("#single-keys")


def test_on_a_phone_the_answer_is_scrolled_into_sight(page: Page, url: str) -> None:
    page.set_viewport_size({"width": 390, "height": 700})
    ask(page, url)
    expect(page.locator(".item.message")).to_be_in_viewport(ratio=0.9)
    page.click("#tab-watch")
    page.locator("#turns li").first.click()
    expect(page.locator("#watched h2")).to_be_in_viewport()
    expect(page.locator("#watched .item").first).to_be_in_viewport()


def test_on_a_phone_targets_are_large_enough_for_a_finger(page: Page, url: str) -> None:
    page.set_viewport_size({"width": 390, "height": 700})
    ask(page, url)
    page.check("#with-tools")
    small = """all => all.filter(each => each.checkVisibility()).map(each => {
        const { width, height } = (each.type === "checkbox" ? each.closest("label") : each).getBoundingClientRect();
        return { what: each.outerHTML.slice(0, 80), width, height };
    }).filter(({ width, height }) => width < 40 || height < 40)"""
    targets = "button, input, select, textarea, a, [role=option], summary"
    assert page.locator(targets).evaluate_all(small) == []
    page.click("#tab-watch")
    page.locator("#turns li").first.click()
    page.locator("#watched").get_by_role("tab", name="Upstream request").click()
    assert page.locator(targets).evaluate_all(small) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("width", [1440, 640, 320])
def test_nothing_is_cut_off_however_large_the_text(page: Page, url: str, width: int) -> None:
    """A width of 640 is a window of 1280 at 200 %, 320 the same at 400 %."""
    page.set_viewport_size({"width": width, "height": 400})
    ask(page, url)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for label in page.locator("#ask label, #ask button, #effort").all():
        if label.is_visible():
            assert label.evaluate("each => each.scrollWidth <= each.clientWidth + 1"), label.inner_text()
