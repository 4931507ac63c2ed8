"""`python -m tests.inspector.screenshots`: takes the pictures of the inspector for the pages, with a real Chromium."""

from typing import Any, Final

import httpx
from playwright.sync_api import Browser, Page, expect, sync_playwright

from app.settings import Server, Settings
from tests.support.chromium import CHROMIUM, QUIET
from tests.support.running import ROOT
from tests.support.serving import serving

PICTURES: Final = ROOT / "docs" / "images"
SIZE: Final = {"width": 1280, "height": 760}
WEATHER: Final = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
QUESTION: Final = {"role": "user", "content": "Use get_weather: is it warm in Paris?"}
AGENT: Final[list[dict[str, Any]]] = [
    {"input": "Tell me a long story."},
    {"input": [QUESTION], "tools": [WEATHER]},
    {
        "input": [
            QUESTION,
            {"type": "function_call", "call_id": "call_1", "name": "get_weather", "arguments": '{"city": "Paris"}'},
            {"type": "function_call_output", "call_id": "call_1", "output": "It is 21 degrees in Paris."},
        ],
        "tools": [WEATHER],
    },
]
"""What an agent sends while the inspector watches: the last two belong together."""


def main() -> None:
    """Every picture."""
    with serving(Settings(server=Server(watch=5))) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        dark = _opened(browser, url, "dark")
        dark.check("#with-tools")
        _send(dark, "Please think, then call get_weather for Paris.", "inspector.png")
        light = _opened(browser, url, "light")
        light.fill("#beside", "demo")
        _send(light, "Please think it over.", "inspector-two.png")
        for body in AGENT:
            httpx.post(f"{url}/v1/responses", json={"model": "demo", **body}, timeout=20).raise_for_status()
        _watch(_opened(browser, url, "dark"), "inspector-watch.png")
        browser.close()


def _opened(browser: Browser, url: str, scheme: str) -> Page:
    page = browser.new_page(viewport=SIZE, color_scheme="dark" if scheme == "dark" else "light")  # type: ignore[arg-type]
    page.goto(url)
    expect(page.locator("#model")).to_have_value("demo")
    return page


def _send(page: Page, text: str, picture: str) -> None:
    page.fill("#input", text)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".status").last).to_have_text("completed", timeout=20_000)
    page.wait_for_timeout(300)
    page.screenshot(path=PICTURES / picture)


def _watch(page: Page, picture: str) -> None:
    page.get_by_role("tab", name="Watch").click()
    expect(page.locator("#turns li")).to_have_count(5)
    page.locator("#turns li").first.click()
    expect(page.locator("#watched .status")).to_have_text("completed")
    page.wait_for_timeout(300)
    page.screenshot(path=PICTURES / picture)


if __name__ == "__main__":
    main()
