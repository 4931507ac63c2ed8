"""`python -m tests.watch.screenshots`: takes the pictures of the inspector in the docs, with Chromium."""

import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page, expect, sync_playwright

from tests.deploy.program import started
from tests.support.chromium import CHROMIUM, QUIET
from tests.watch.looking import DEMO, Looker, talk
from tests.wire.script import counts, says, stops
from tests.wire.servers import ChatUpstream, Pause, Status, Step

PICTURES = Path(__file__).parents[2] / "docs" / "images"
BUSY = Status(503, {"error": {"message": "All workers are busy."}}, {"retry-after": "1"})
SLOW: list[Step] = [Pause(0.8), says("It took "), Pause(2.3), says("a while."), stops(), counts(31, 5, cached=12)]
VIEWS: dict[str, tuple[str, Literal["dark", "light"]]] = {
    "turn": ("turn/2/answer", "light"),
    "upstream": ("turn/4/asks", "light"),
    "events": ("turn/6/events", "dark"),
    "timing": ("turn/4/timing", "light"),
    "conversation": ("conversation/1", "dark"),
    "again": ("turn/3/again", "light"),
}
"""Of each picture the address, and the theme."""


def main() -> None:
    """Every picture."""
    with ChatUpstream([BUSY], SLOW) as up, tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        near = f'[upstreams.near]\nbase_url = "{up.url}"\n[models.local]\nupstream = "near"\n'
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        with started(Path(folder), DEMO + near) as server:
            home = server.url.removesuffix("/v1")
            pages = {
                theme: browser.new_page(viewport={"width": 1280, "height": 760}, color_scheme=theme)
                for theme in ("dark", "light")
            }
            for page in pages.values():
                page.goto(home)
            talk(Looker(server))
            Looker(server).post("Why did it take so long?", model="local")
            pages["dark"].fill("[name=input]", "Please think it over.")
            pages["dark"].keyboard.press("Control+Enter")
            expect(pages["dark"].locator(".status")).to_have_text("completed")
            take(pages["dark"], "")
            for name, (address, theme) in VIEWS.items():
                show(pages[theme], address)
                take(pages[theme], name)
        browser.close()


def show(page: Page, address: str) -> None:
    """Opens what is at this address."""
    page.evaluate("address => (location.hash = address)", address)
    expect(page.locator("#view .turn").first).to_be_visible()
    if address.endswith("again"):
        page.get_by_role("button", name="Send again").click()
        expect(page.locator(".runs .status").last).to_have_text("completed")


def take(page: Page, name: str) -> None:
    """Takes one picture, when nothing moves any more."""
    page.wait_for_timeout(300)
    page.screenshot(path=PICTURES / f"inspector{'-' if name else ''}{name}.png")


if __name__ == "__main__":
    main()
