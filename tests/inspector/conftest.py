from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.support.chromium import CHROMIUM, QUIET


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """For one module: while it is open, no other test can have an event loop."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of its own; nothing may have been wrong with its scripts or against its policy."""
    errors: list[str] = []
    opened = browser.new_page(viewport={"width": 1300, "height": 850})
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("console", lambda line: errors.append(line.text) if "Security Policy" in line.text else None)
    yield opened
    opened.close()
    assert errors == []
