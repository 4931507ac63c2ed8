"""A turn once more: as it was, edited, or with another model; as a program, and as a file that can be opened again."""

import json
from collections.abc import Iterator
from pathlib import Path
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
    context = browser.new_context(viewport=SIZE, accept_downloads=True)
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


def saved(page: Page, folder: Path) -> Path:
    """The file that the page saves."""
    with page.expect_download() as found:
        page.get_by_role("button", name="Save as HAR").click()
    assert found.value.suggested_filename == "turn-1.har"
    file = folder / "turn-1.har"
    found.value.save_as(file)
    return file


def test_a_har_has_the_exchange_and_each_request_to_an_upstream(page: Page, tmp_path: Path) -> None:
    log = json.loads(saved(page, tmp_path).read_text())["log"]
    assert (log["version"], log["creator"]["name"], len(log["entries"])) == ("1.2", "AM Proxy inspector", 3)
    needed = {"startedDateTime", "time", "request", "response", "cache", "timings"}
    assert all(needed <= entry.keys() for entry in log["entries"])
    client, first, second = log["entries"]
    assert json.loads(client["request"]["postData"]["text"]) == TURN["request"]
    assert client["startedDateTime"] == "2025-11-19T14:31:59.000Z"
    assert client["response"]["content"]["text"].startswith("event: response.created\ndata: {")
    assert (first["response"]["content"]["text"], second["response"]["status"]) == ("data: [DONE]\n\n", 502)
    assert all(min(entry["timings"].values()) >= 0 for entry in log["entries"])


def test_a_saved_turn_is_opened_again(page: Page, tmp_path: Path) -> None:
    file = saved(page, tmp_path)
    page.set_input_files("#import", file)
    page.get_by_role("tab", name="Conversation").click()
    expect(page.locator("#watched .item[data-role=user]")).to_contain_text("Say hello.")
    expect(page.locator(".answer-of-turn")).to_contain_text("Hello from then.")
    page.get_by_role("tab", name="Run again").click()
    expect(page.locator(".again textarea")).to_have_value(
        json.dumps({"model": "demo", "input": TURN["request"]["input"]}, indent=2)
    )


def test_a_turn_is_saved_as_a_recording_or_the_page_says_why_not(page: Page, tmp_path: Path) -> None:
    page.route(
        "**/inspector/turns/1/recording", lambda route: route.fulfill(body=b"PK", content_type="application/zip")
    )
    with page.expect_download() as found:
        page.get_by_role("button", name="Save as recording").click()
    assert found.value.suggested_filename == "turn-1.zip"
    found.value.save_as(tmp_path / "turn-1.zip")
    assert (tmp_path / "turn-1.zip").read_bytes() == b"PK"
    page.unroute("**/inspector/turns/1/recording")
    refused = json.dumps({"error": {"code": "not_found", "message": "An answer is not kept."}})
    page.route("**/inspector/turns/1/recording", lambda route: route.fulfill(status=404, body=refused))
    page.get_by_role("button", name="Save as recording").click()
    expect(page.locator(".again output")).to_have_text("An answer is not kept.")
    page.unroute("**/inspector/turns/1/recording")
    page.set_input_files("#import", saved(page, tmp_path))
    page.get_by_role("tab", name="Run again").click()
    expect(page.get_by_role("button", name="Save as HAR")).to_be_visible()
    expect(page.get_by_role("button", name="Save as recording")).to_have_count(0)


EMPTY: Final[dict[str, Any]] = {"log": {"entries": []}}
FOREIGN: Final[dict[str, Any]] = {"log": {"entries": [None, 5, {"request": {}}]}}
DAMAGED: Final = {"log": {"entries": [{"_amProxyTurn": {"row": {"number": 1}, "asks": [], "events": [{"at": 1}]}}]}}


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "This file is no HAR: it is not JSON."),
        ("\x00\x01", "This file is no HAR: it is not JSON."),
        ("null", "This file is no HAR: it has no entries."),
        ('{"log": 5}', "This file is no HAR: it has no entries."),
        (json.dumps(EMPTY), "This HAR was not saved by the inspector: it has no turn."),
        (json.dumps(FOREIGN), "This HAR was not saved by the inspector: it has no turn."),
        (json.dumps({"log": {"entries": [{"_amProxyTurn": 5}]}}), "The turn in this HAR is damaged."),
        (json.dumps(DAMAGED), "The turn in this HAR is damaged."),
    ],
)
def test_a_file_that_is_none_is_named_and_the_rest_stays(
    page: Page, tmp_path: Path, content: str, problem: str
) -> None:
    file = tmp_path / "bad.har"
    file.write_text(content)
    page.set_input_files("#import", file)
    expect(page.locator("#watched")).to_have_text(f"bad.har: {problem}")
    expect(page.locator("#turns li")).to_have_count(2)
    page.locator("#turns li").last.click()
    expect(page.locator("#watched h2")).to_have_text("demo · req_1")


DAMAGES: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "a phase": ({"timeline": [None]}, "Timing"),
    "a time": ({"timeline": [{"phase": "ask", "from": [5], "to": None}]}, "Timing"),
    "bytes of an upstream": ({"asks": [ask(raw={"text": 5})]}, "Compare"),
    "an upstream's request": ({"asks": [{"number": 1, "started_ms": [5]}]}, "Upstream request"),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_a_damaged_part_of_a_saved_turn_is_named_and_the_rest_is_shown(page: Page, tmp_path: Path, case: str) -> None:
    damage, name = DAMAGES[case]
    file = tmp_path / "damaged.har"
    file.write_text(json.dumps({"log": {"entries": [{"_amProxyTurn": TURN | damage}]}}))
    page.set_input_files("#import", file)
    page.locator("#watched").get_by_role("tab", name=name, exact=True).click()
    expect(page.locator("#watched .pane:not([hidden])")).to_have_text(
        "This part of the turn is damaged, so it cannot be shown."
    )
    page.get_by_role("tab", name="Conversation").click()
    expect(page.locator(".answer-of-turn")).to_contain_text("Hello from then.")


@pytest.mark.parametrize("damage", [{"asks": [None]}, {"row": {"number": 1, "total_ms": "x"}}, {"row": {"number": 1}}])
def test_a_saved_turn_that_cannot_be_shown_at_all_is_said(page: Page, tmp_path: Path, damage: dict[str, Any]) -> None:
    file = tmp_path / "damaged.har"
    file.write_text(json.dumps({"log": {"entries": [{"_amProxyTurn": TURN | damage}]}}))
    page.set_input_files("#import", file)
    expect(page.locator("#watched")).to_have_text("damaged.har: The turn in this file is damaged.")


def test_a_saved_turn_that_is_too_large_is_not_read(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "large.har"
    with file.open("wb") as large:
        large.truncate(64 * 1024 * 1024 + 1)
    page.set_input_files("#import", file)
    expect(page.locator("#watched")).to_have_text("large.har: The file is larger than 64 MiB.")
