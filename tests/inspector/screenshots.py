"""`python -m tests.inspector.screenshots`: takes the pictures of the inspector for the pages, with a real Chromium."""

from typing import Any, Final

import httpx
from playwright.sync_api import Browser, Page, expect, sync_playwright

from app.settings import Model, Server, Settings, Upstream
from tests.support.chromium import CHROMIUM, QUIET
from tests.support.running import ROOT
from tests.support.serving import serving
from tests.wire.script import counts, says, stops
from tests.wire.servers import ChatUpstream, Pause, Status, Step

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


BUSY: Final = Status(503, {"error": {"message": "All workers are busy."}}, {"retry-after": "1"})
SLOW: Final[list[Step]] = [
    Pause(0.8),
    says("It took "),
    Pause(2.3),
    says("a while."),
    stops(),
    counts(31, 5, cached=12),
]


def main() -> None:
    """Every picture."""
    with ChatUpstream([BUSY]) as busy, ChatUpstream(SLOW) as slow:
        upstreams = {name: Upstream(via="chat", base_url=each.url) for name, each in (("busy", busy), ("spare", slow))}
        settings = Settings(
            server=Server(watch=9),
            upstreams={"demo": Upstream(via="demo"), **upstreams},
            models={
                "demo": Model(upstream="demo"),
                "small": Model.model_validate({"upstreams": ["busy", "spare"]}),
            },
        )
        _every(settings)


def _every(settings: Settings) -> None:
    with serving(settings) as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        dark = _opened(browser, url, "dark")
        dark.check("#with-tools")
        _send(dark, "Please think, then call get_weather for Paris.", "inspector.png")
        light = _opened(browser, url, "light")
        for body in AGENT:
            answer = _post(url, body)
            [call] = answer["output"]
            if call["type"] == "function_call":
                _post(url, {**body, "input": [QUESTION, call, {**OUTPUT, "call_id": call["call_id"]}]})
        httpx.post(f"{url}/v1/responses", json={"model": "dmeo", "input": "A mistyped name."}, timeout=20)
        _post(url, {"model": "small", "input": "Why did it take so long?"})
        dark = _opened(browser, url, "dark")
        _watch(dark, "Conversation", "inspector-watch.png")
        dark.get_by_role("button", name="Show the conversation").click()
        expect(dark.locator(".turn-of-session .item").last).to_be_visible()
        _take(dark, "inspector-sessions.png")
        light = _opened(browser, url, "light")
        _watch(light, "Timing", "inspector-timing.png", turn="Why did it take so long?")
        _watch(light, "Upstream request 1", "inspector-upstream.png", turn="Why did it take so long?")
        _watch(light, "Changes", "inspector-changes.png")
        _watch(light, "Events", "inspector-events.png")
        _watch(light, "Client request", "inspector-request.png")
        _watch(light, "Response", "inspector-response.png")
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


def _watch(page: Page, tab: str, picture: str, *, turn: str = "result: It is 21 degrees") -> None:
    page.locator("#tab-watch").click()
    page.locator("#turns li", has_text=turn).click()
    expect(page.locator("#turns [aria-selected=true]")).to_contain_text(turn)
    page.locator("#watched").get_by_role("tab", name=tab).click()
    expect(page.locator("#watched .status")).to_have_text("completed")
    came_back = page.locator("#watched .pane[data-name^=ask]:not([hidden]) details").filter(has_text="as they came")
    came_back.evaluate_all("all => all.forEach(each => (each.open = true))")
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
