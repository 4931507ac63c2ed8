from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.support.chromium import CHROMIUM, QUIET


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A new page. Nothing may be wrong with its scripts, or against its policy."""
    context = browser.new_context(viewport={"width": 1300, "height": 850})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page, errors = context.new_page(), list[str]()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda line: errors.append(line.text) if "Security Policy" in line.text else None)
    yield page
    context.close()
    assert errors == []
