"""The page in a real browser, where there is one."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from app.settings import Server, Settings
from tests.support.python_programs import PythonPrograms, python_programs
from tests.support.running import surroundings
from tests.support.serving import serving


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Settings(server=Server(watch=5))) as address:
        yield address


@pytest.fixture(scope="module")
def open_page(browser: Browser) -> Page:
    context = browser.new_context(viewport={"width": 1300, "height": 850}, color_scheme="dark")
    context.grant_permissions(["clipboard-write"])
    return context.new_page()


@pytest.fixture
def page(open_page: Page, url: str) -> Iterator[Page]:
    """The page, freshly loaded; an error in its scripts fails the test."""
    errors: list[str] = []
    open_page.on("pageerror", lambda error: errors.append(str(error)))
    open_page.goto(url)
    expect(open_page.locator("#model")).to_have_value("demo")
    yield open_page
    open_page.evaluate("sessionStorage.clear()")  # what was typed is not for the next test
    open_page.goto("about:blank")
    assert errors == []


def ask(page: Page, prompt: str) -> None:
    page.fill("#input", prompt)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".status").first).to_have_text("completed", timeout=20_000)


def test_an_answer_is_shown_with_every_event_and_its_json(page: Page) -> None:
    ask(page, "Hello!")
    expect(page.locator(".item.message .text")).not_to_be_empty()
    page.check(".every")
    page.focus(".events")
    page.keyboard.press("Home")
    numbers = page.locator(".events .number").all_text_contents()
    assert numbers == [str(number) for number in range(len(numbers))]
    types = page.locator(".events .type").all_text_contents()
    assert types[:2] == ["created", "in_progress"]
    page.keyboard.press("End")
    expect(page.locator(".events .type").last).to_have_text("completed")
    row = page.locator(".events li[role=option]", has_text="output_item.done")
    row.click()
    assert '"type": "response.output_item.done"' in (page.locator(".raw pre").text_content() or "")
    row.click()
    expect(page.locator(".raw")).to_be_hidden()


def test_what_was_asked_upstream_and_the_whole_response_are_behind_their_tabs(page: Page) -> None:
    ask(page, "Hello!")
    page.get_by_role("tab", name="Upstream request").click()
    expect(page.locator('[data-pane="asked"] pre')).to_contain_text('"content": "Hello!"')
    page.get_by_role("tab", name="Response").click()
    expect(page.locator('[data-pane="whole"] pre')).to_contain_text('"status": "completed"')


def test_a_call_has_a_lane_of_its_own(page: Page) -> None:
    page.check("#with-tools")
    ask(page, "What is the weather in Paris?")
    expect(page.locator(".item.call h3")).to_have_text("function_call · get_weather")
    assert page.locator(".strip .names span").all_text_contents() == ["lifecycle", "get_weather"]


def test_warnings_are_shown(page: Page) -> None:
    page.check("#with-tools")
    page.fill("#tools", '[{"type": "web_search"}]')
    ask(page, "Hello!")
    expect(page.locator(".warnings p").first).to_contain_text("web_search")


def test_a_whole_response_is_shown_as_well(page: Page) -> None:
    page.uncheck("#stream")
    ask(page, "Hello!")
    expect(page.locator('[data-pane="whole"] pre')).to_contain_text('"object": "response"')


def test_a_running_answer_can_be_stopped_by_a_key(page: Page) -> None:
    page.fill("#input", "Tell me a long story.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".status")).to_have_text("streaming")
    page.keyboard.press("Escape")
    expect(page.locator(".status")).to_have_text("stopped")


def test_events_can_be_stepped_through_by_keys(page: Page) -> None:
    ask(page, "Hello!")
    page.focus(".events")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".raw pre")).to_contain_text("response.in_progress")
    page.keyboard.press("ArrowUp")
    expect(page.locator(".raw pre")).to_contain_text("response.created")
    page.keyboard.press("Escape")
    expect(page.locator(".raw")).to_be_hidden()


def test_it_can_be_dark_or_light(page: Page) -> None:
    back = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(back)
    page.click("#theme")
    assert page.evaluate(back) != dark
    page.click("#theme")
    assert page.evaluate(back) == dark


@pytest.fixture(scope="module")
def python() -> Iterator[PythonPrograms]:
    with python_programs() as programs:
        yield programs


def test_turns_of_others_can_be_watched_as_they_go(
    page: Page, url: str, python: PythonPrograms, tmp_path: Path
) -> None:
    page.keyboard.press("2")
    expect(page.locator("#watch-state")).to_have_text("live")
    program = f"""
from openai import OpenAI
OpenAI(base_url="{url}/v1", api_key="none").responses.create(model="demo", input="I am somebody else.")
"""
    python.run(program, tmp_path)
    newest = page.locator("#turns li").first
    expect(newest.locator(".finish")).to_have_text("200 completed")
    page.keyboard.press("ArrowDown")  # the list has the focus
    page.get_by_role("tab", name="Client request").click()
    expect(page.locator("#watched .pane:not([hidden]) > .json")).to_contain_text("I am somebody else.")


@pytest.mark.needs("node")
@pytest.mark.parametrize("stream", [True, False])
def test_what_is_copied_as_javascript_can_be_read(page: Page, stream: bool, tmp_path: Path) -> None:  # noqa: FBT001 — a column
    page.set_checked("#stream", stream)
    page.check("#with-tools")
    page.fill("#input", 'It\'s a `${test}`: say "hi".')
    page.click('[data-copy="javascript"]')
    expect(page.locator("#copied")).to_have_text("copied")
    program = tmp_path / "program.mjs"
    program.write_text(page.get_attribute("#copied", "data-text") or "")
    assert "responses.create" in program.read_text()
    ended = subprocess.run(["node", "--check", program], capture_output=True, text=True, timeout=60, check=False)  # noqa: S607 — wherever it is
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("language", [pytest.param("curl", marks=pytest.mark.needs("curl")), "python"])
@pytest.mark.parametrize("stream", [True, False])
def test_what_is_copied_runs_elsewhere(
    page: Page,
    language: str,
    stream: bool,  # noqa: FBT001 — a column
    python: PythonPrograms,
    tmp_path: Path,
) -> None:
    page.set_checked("#stream", stream)
    page.check("#with-tools")
    page.fill("#input", 'It\'s a test: say "hi".')
    page.click(f'[data-copy="{language}"]')
    expect(page.locator("#copied")).to_have_text("copied")
    text = page.get_attribute("#copied", "data-text") or ""
    if language == "curl":
        ended = subprocess.run(
            ["bash", "-ec", text],  # noqa: S607 — the user's shell
            cwd=tmp_path,
            env=surroundings(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        printed = ended.stdout
    else:
        printed = python.run(text, tmp_path)
    assert ('"status":"completed"' in printed) is (language == "curl")
