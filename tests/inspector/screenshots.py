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
]
"""What an agent sends while the inspector watches."""
OUTPUT: Final = {"type": "function_call_output", "output": "It is 21 degrees in Paris."}


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
            answer = _post(url, body)
            [call] = answer["output"]
            if call["type"] == "function_call":
                _post(url, {**body, "input": [QUESTION, call, {**OUTPUT, "call_id": call["call_id"]}]})
        httpx.post(f"{url}/v1/responses", json={"model": "dmeo", "input": "A mistyped name."}, timeout=20)
        dark = _opened(browser, url, "dark")
        _watch(dark, "Conversation", "inspector-watch.png")
        _watch(dark, "Timing", "inspector-timing.png")
        dark.get_by_role("button", name="Show the conversation").click()
        expect(dark.locator(".turn-of-session .item").last).to_be_visible()
        _take(dark, "inspector-sessions.png")
        light = _opened(browser, url, "light")
        _watch(light, "Changes", "inspector-changes.png")
        _watch(light, "Events", "inspector-events.png")
        _again(light, "inspector-again.png")
        browser.close()


def _post(url: str, body: dict[str, Any]) -> Any:
    answer = httpx.post(f"{url}/v1/responses", json={"model": "demo", **body}, timeout=20)
    return answer.raise_for_status().json()


def _opened(browser: Browser, url: str, scheme: str) -> Page:
    page = browser.new_page(viewport=SIZE, color_scheme="dark" if scheme == "dark" else "light")  # type: ignore[arg-type]
    page.goto(url)
    expect(page.locator("#model")).to_have_value("demo")
    return page


def _send(page: Page, text: str, picture: str) -> None:
    page.fill("#input", text)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".status").last).to_have_text("completed", timeout=20_000)
    _take(page, picture)


def _watch(page: Page, tab: str, picture: str) -> None:
    page.locator("#tab-watch").click()
    page.locator("#turns li", has_text="result: It is 21 degrees").click()
    expect(page.locator("#watched .status")).to_have_text("completed")
    page.locator("#watched").get_by_role("tab", name=tab).click()
    _take(page, picture)


def _again(page: Page, picture: str) -> None:
    page.locator("#watched").get_by_role("tab", name="Run again").click()
    page.get_by_role("button", name="Send again").click()
    expect(page.locator(".again .status").last).to_have_text("completed", timeout=20_000)
    page.locator(".again textarea").evaluate("each => each.rows = 4")
    _take(page, picture)


def _take(page: Page, picture: str) -> None:
    page.wait_for_timeout(300)
    page.screenshot(path=PICTURES / picture)


if __name__ == "__main__":
    main()
