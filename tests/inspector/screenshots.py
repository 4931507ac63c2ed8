"""`python -m tests.inspector.screenshots`: takes the README's pictures of the inspector anew, with a real Chromium."""

import shutil

from playwright.sync_api import Browser, expect, sync_playwright

from app.settings import Server, Settings
from tests.support.chromium import QUIET
from tests.support.running import ROOT
from tests.support.serving import serving

PICTURES = ROOT / "docs" / "images"


def main() -> None:
    """Every picture."""
    settings = Settings(server=Server(watch=5))
    with serving(settings) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=QUIET)
        _one(browser, url, "dark", "inspector.png", beside=False)
        _one(browser, url, "light", "inspector-two.png", beside=True)
        browser.close()


def _one(browser: Browser, url: str, scheme: str, name: str, *, beside: bool) -> None:
    page = browser.new_page(
        viewport={"width": 1280, "height": 760}, color_scheme="dark" if scheme == "dark" else "light"
    )
    page.goto(url)
    expect(page.locator("#model")).to_have_value("demo")
    page.check("#with-tools")
    if beside:
        page.fill("#beside", "demo")
        page.uncheck("#with-tools")
    page.fill("#input", "Please think, then call get_weather." if not beside else "Please think it over.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".status").last).to_have_text("completed", timeout=20_000)
    page.wait_for_timeout(300)
    page.screenshot(path=PICTURES / name)
    page.close()


if __name__ == "__main__":
    main()
