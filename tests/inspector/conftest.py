from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, ViewportSize, sync_playwright

from tests.support.chromium import CHROMIUM, QUIET

SIZE = ViewportSize(width=1300, height=850)


class _SharedBrowser:
    """One for all modules that come after each other: a start takes longer than most tests."""

    def __init__(self) -> None:
        self._started = ExitStack()
        self._browser: Browser | None = None

    @property
    def browser(self) -> Browser:
        """It is started when a test needs it."""
        if self._browser is None:
            playwright = self._started.enter_context(sync_playwright())
            self._browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
            self._started.callback(self._browser.close)
        return self._browser

    def close(self) -> None:
        """Until then, no other test can have an event loop."""
        self._browser = None
        self._started.close()


_shared = _SharedBrowser()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, None, None]:
    """Close the browser, unless the next test is of the same module or needs it too."""
    try:
        return (yield)
    finally:
        if nextitem is None or (nextitem.path != item.path and "browser" not in getattr(nextitem, "fixturenames", ())):
            _shared.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """With nothing of other modules."""
    yield _shared.browser
    for context in _shared.browser.contexts:
        context.close()


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Page:
    """For one module: to open one takes longer than most tests."""
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
