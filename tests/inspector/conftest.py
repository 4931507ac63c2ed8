from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, ViewportSize, sync_playwright

from tests.support.chromium import CHROMIUM, QUIET

SIZE = ViewportSize(width=1300, height=850)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """For one module: while it is open, no other test can have an event loop."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Page:
    """For one module too: to open one takes longer than most tests."""
    return browser.new_page(viewport=SIZE)


@contextmanager
def without_errors(tab: Page) -> Iterator[Page]:
    """Nothing may have been wrong with the scripts of the page or against its policy."""
    errors: list[str] = []

    def threw(error: Error) -> None:
        errors.append(str(error))

    def logged(line: ConsoleMessage) -> None:
        if "Security Policy" in line.text:
            errors.append(line.text)

    tab.on("pageerror", threw)
    tab.on("console", logged)
    yield tab
    tab.remove_listener("pageerror", threw)
    tab.remove_listener("console", logged)
    assert errors == []


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    """The tab as if it were new."""
    with without_errors(tab):
        yield tab
        with suppress(Error):  # a page that could not be loaded has no storage
            tab.evaluate("localStorage.clear(); sessionStorage.clear()")
        tab.goto("about:blank")
        tab.mouse.move(0, 0)
        tab.set_viewport_size(SIZE)
