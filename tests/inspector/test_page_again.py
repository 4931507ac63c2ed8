"""A turn once more: as it was, edited, or with another model; and as a program."""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page, expect

from app.settings import Server, Settings
from tests.inspector.conftest import SIZE, without_errors
from tests.inspector.fake_feed import FakeFeed, answer, ask, detail, row, said
from tests.support.serving import serving

SETTLED: Final = 20_000
TURN: Final = detail(
    row(1, model="demo"),
    request={"type": "response.create", "model": "demo", "input": [{"role": "user", "content": "Say hello."}]},
    events=answer(said("Hello from then.")),
    asks=[
        ask(raw={"text": "data: [DONE]\n\n", "bytes": 14, "left_out": 0}),
        ask(2, error={"code": "x"}, first_ms=None),
    ],
)
CUT: Final = detail(
    row(2, model="demo"), request={"model": "demo", "input": "data:image/png;base64,… (9000 characters)"}
)
SEALED: Final = {"type": "reasoning", "encrypted_content": "… (300 characters, sealed)"}
SUMMARY: Final = [{"type": "summary_text", "text": "The tests first."}]
USER: Final = {"role": "user", "content": "Go on."}
THOUGHT_OF: Final = detail(
    row(3, model="demo"),
    request={"model": "demo", "input": [{**SEALED, "summary": []}, {**SEALED, "summary": SUMMARY}, USER]},
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Settings(server=Server(watch=5))) as address:
        yield address


@pytest.fixture(scope="module")
def tab(browser: Browser, url: str) -> Page:
    context = browser.new_context(viewport=SIZE)
    context.grant_permissions(["clipboard-write"])
    page = context.new_page()
    feed = FakeFeed.at(page, f"{url}/#watch")
    feed.rows(TURN["row"], CUT["row"])
    feed.keep(turns={1: TURN, 2: CUT, 3: THOUGHT_OF})
    return page


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    """The tab "Run again" of the first turn, as if it were new."""
    with without_errors(tab):
        tab.evaluate("location.hash = '#turn/2/again'")
        expect(tab.locator("#watched h2")).to_have_text("demo · req_2")
        tab.evaluate("location.hash = '#turn/1/again'")
        expect(tab.locator("#watched h2")).to_have_text("demo · req_1")
        yield tab


def sent(page: Page) -> Any:
    """The request that the page sends next."""
    with page.expect_request("**/v1/responses") as found:
        page.get_by_role("button", name="Send again").click()
    return found.value.post_data_json


def test_a_turn_is_sent_again_beside_the_original(page: Page) -> None:
    body = sent(page)
    assert body == {"model": "demo", "input": [{"role": "user", "content": "Say hello."}], "stream": True}
    runs = page.locator(".again .run")
    expect(runs).to_have_count(2)
    expect(runs.last.locator(".status")).to_have_text("completed", timeout=SETTLED)
    expect(runs.first.locator("h2")).to_have_text("demo · original")
    expect(runs.first.locator(".item")).to_contain_text("Hello from then.")
    expect(runs.last.locator(".item")).not_to_be_empty()
    for run in runs.all():
        run.get_by_role("tab", name="Upstream request").click()
        expect(run.locator('.pane[data-pane="asked"]')).to_contain_text('"messages"')


def test_it_can_be_edited_first(page: Page) -> None:
    field = page.locator(".again textarea")
    field.fill(json.dumps({"model": "demo", "input": "Say goodbye.", "max_output_tokens": 50}))
    assert sent(page) == {"model": "demo", "input": "Say goodbye.", "max_output_tokens": 50, "stream": True}


def test_it_can_be_sent_to_another_model(page: Page) -> None:
    page.locator(".again input").fill("other")
    page.locator(".again input").blur()
    assert sent(page)["model"] == "other"
    expect(page.locator(".again .run .status").last).to_contain_text("404", timeout=SETTLED)


@pytest.mark.parametrize("text", ["{", "[]", "null", '"x"', ""])
def test_what_is_no_request_is_not_sent(page: Page, text: str) -> None:
    field = page.locator(".again textarea")
    field.fill(text)
    page.get_by_role("button", name="Send again").click()
    assert field.evaluate("each => each.validationMessage").startswith("Not ")
    expect(page.locator(".again .run")).to_have_count(0)


def test_what_is_not_kept_of_a_request_is_said(page: Page) -> None:
    expect(page.locator(".again .left-out")).to_be_hidden()
    page.evaluate("location.hash = '#turn/2/again'")
    expect(page.locator(".again .left-out")).to_be_visible()


def test_encrypted_reasoning_is_left_out_because_a_note_in_its_place_would_be_refused(page: Page) -> None:
    expect(page.locator(".again .no-thoughts")).to_be_hidden()
    page.evaluate("location.hash = '#turn/3/again'")
    expect(page.locator(".again .no-thoughts")).to_be_visible()
    expect(page.locator(".again .left-out")).to_be_hidden()
    assert sent(page)["input"] == [{"type": "reasoning", "summary": SUMMARY}, USER]


@pytest.mark.parametrize(
    ("language", "start"), [("curl", "curl -N "), ("Python", "from openai"), ("JavaScript", "import OpenAI")]
)
def test_it_is_copied_as_a_program(page: Page, language: str, start: str) -> None:
    page.get_by_role("button", name=f"Copy as {language}").click()
    copied = page.locator(".again output")
    expect(copied).to_have_text("copied")
    text = copied.get_attribute("data-text") or ""
    assert text.startswith(start)
    assert "Say hello." in text
