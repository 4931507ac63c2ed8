"""The list of recent requests: what tells them apart, and what each client sent."""

import struct
from base64 import b64encode
from collections.abc import Iterator
from typing import Any
from zlib import compress, crc32

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect

from app.settings import Model, Server, Settings, Upstream
from tests.support.serving import serving
from tests.wire.script import calls, counts, says, stops
from tests.wire.servers import ChatUpstream, Status, Step
from tests.wire.web_site import PNG

LONG = "word " * 2000
DATA = f"data:image/png;base64,{b64encode(PNG).decode()}"
TOOL = {"type": "function", "name": "exec_command", "parameters": {"type": "object", "properties": {}}}
CALL = {"type": "function_call", "call_id": "c1", "name": "exec_command", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "3 passed in 0.1s"}
CODEX = "Chunk ID: 20d917\nWall time: 0.0000 seconds\nProcess exited with code"
SETTLED = 20_000


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Settings(server=Server(watch=5))) as address:
        yield address


def post(url: str, **body: Any) -> httpx.Response:
    return httpx.post(f"{url}/v1/responses", json={"model": "demo"} | body, timeout=30)


def watch(page: Page, url: str, answer: httpx.Response) -> Locator:
    """The row of the request that got this answer."""
    page.goto(url)
    page.click("#tab-watch")
    expect(page.locator("#watch-state")).to_have_text("live")
    return page.locator(f"#turns li[data-id='{answer.headers['x-request-id']}']")


@pytest.mark.parametrize(
    ("sent", "excerpt"),
    [
        ("Fix the tests.", "Fix the tests."),
        ([{"role": "user", "content": [{"type": "input_text", "text": "Fix\n  these."}]}], "Fix these."),
        ([{"role": "user", "content": "Fix."}, CALL, OUTPUT], "result: 3 passed in 0.1s"),
        (
            [
                {"role": "user", "content": "Fix."},
                CALL,
                {**OUTPUT, "output": [{"type": "input_text", "text": "Good."}]},
            ],
            "result: Good.",
        ),
        ([{"role": "user", "content": [{"type": "input_image", "image_url": DATA}]}],
         "[input_image]"),
        ([CALL, {**OUTPUT, "output": f"{CODEX} 0\nOriginal token count: 8\nOutput:\n3 passed\n"}], "result: 3 passed"),
        ([CALL, {**OUTPUT, "output": f"{CODEX} 101\nOutput:\n1 failed\n"}], "result: exit code 101: 1 failed"),
        ([CALL, {**OUTPUT, "output": f"{CODEX} 0\nOutput:\n"}], "result: (no output)"),
        ([CALL, {**OUTPUT, "output": "Exit code: 2\nWall time: 1 seconds\nOutput:\nbad"}], "result: exit code 2: bad"),
        ([CALL, {**OUTPUT, "output": "Output:\nWall time: 1"}], "result: Output: Wall time: 1"),
    ],
)  # fmt: skip
def test_a_row_shows_what_was_said_last(page: Page, url: str, sent: Any, excerpt: str) -> None:
    row = watch(page, url, post(url, input=sent))
    expect(row.locator(".said")).to_have_text(excerpt)


def test_a_row_says_why_a_request_was_refused_also_before_an_upstream_was_asked(page: Page, url: str) -> None:
    answer = post(url, input=[{"role": "user", "content": [{"type": "input_image", "image_url": "ftp://host/x.png"}]}])
    assert answer.status_code == 400
    row = watch(page, url, answer)
    message = answer.json()["error"]["message"]
    expect(row.locator(".problem")).to_have_text(message if len(message) <= 160 else f"{message[:160]}…")
    took, finish = row.locator(".took").bounding_box(), row.locator(".finish").bounding_box()
    assert took is not None
    assert finish is not None
    assert took["y"] > finish["y"] + finish["height"]  # on a line of its own


def test_an_excerpt_is_short_however_long_the_text(page: Page, url: str) -> None:
    row = watch(page, url, post(url, input=LONG))
    assert len(row.locator(".said").text_content() or "") <= 161
    box = row.bounding_box()
    assert box is not None
    assert box["height"] < 90


def test_a_row_shows_the_tools_called_the_tokens_and_the_http_status(page: Page) -> None:
    four = [calls(index, f"tool_{index}", arguments="{}") for index in range(4)]
    script: list[Step] = [*four, stops(), counts(7, 3)]
    refusal = Status(400, {"error": {"message": "No."}})
    with ChatUpstream(script, [refusal], [says("Hi."), stops(), counts(5, 2)]) as upstream:
        settings = Settings(
            server=Server(watch=5),
            upstreams={"local": Upstream(via="chat", base_url=upstream.url)},
            models={"m": Model(upstream="local")},
        )
        with serving(settings) as url:
            tools = [{**TOOL, "name": f"tool_{index}"} for index in range(4)]
            answers = [post(url, model="m", input="Hi", tools=tools) for _ in range(3)]
            watch(page, url, answers[-1])
            rows = page.locator("#turns li")
            expect(rows).to_have_count(3)
            assert rows.locator(".finish").all_text_contents() == [
                "200 completed",
                "400 invalid_value",
                "200 completed",
            ]
            expect(rows.nth(2).locator(".called")).to_have_text("→ tool_0, tool_1, tool_2 +1")
            expect(rows.nth(2).locator(".tokens")).to_have_text("7 → 3 tokens")
            expect(rows.nth(0).locator(".called")).to_have_count(0)


def test_what_the_client_sent_is_folded_and_opened_part_by_part(page: Page, url: str) -> None:
    watch(
        page,
        url,
        post(url, instructions=f"Be brief.\n{LONG}", input=[{"role": "user", "content": f"Fix {LONG}"}, CALL, OUTPUT]),
    ).click()
    page.get_by_role("tab", name="Client request").click()
    request = page.locator("#watched .pane:not([hidden]) > .json")
    parts = request.locator(":scope > details > summary")
    expect(parts.first).to_contain_text("instructions · ")
    expect(request.locator("pre").first).to_contain_text('"model": "demo"')
    parts.first.click()
    expect(request.locator("details pre").first).to_contain_text("Be brief.\nword word")  # as text, not as JSON
    parts.nth(1).click()
    entries = request.locator("details details > summary")
    expect(entries).to_have_count(3)
    assert [(text or "").rpartition(" · ")[0] for text in entries.all_text_contents()] == [
        "[0] · user",
        "[1] · function_call exec_command",
        "[2] · function_call_output",
    ]


def test_the_end_of_a_request_that_is_short_is_shown_at_once(page: Page, url: str) -> None:
    watch(page, url, post(url, input="Hello!")).click()
    page.get_by_role("tab", name="Upstream request").click()
    expect(page.locator("#watched .json details[open] pre")).to_contain_text('"content": "Hello!"')


def test_a_long_answer_is_read_from_its_beginning_and_can_be_shown_whole(page: Page) -> None:
    script: list[Step] = [*(says(f"line {number}\n") for number in range(200)), stops(), counts(1, 1)]
    with ChatUpstream(script) as upstream:
        settings = Settings(
            server=Server(watch=5),
            upstreams={"local": Upstream(via="chat", base_url=upstream.url)},
            models={"m": Model(upstream="local")},
        )
        with serving(settings) as url:
            watch(page, url, post(url, model="m", input="Hi")).click()
            expect(page.locator("#watched .item.message").last).to_contain_text("line 199")
            page.wait_for_timeout(200)  # for what might scroll
            assert page.eval_on_selector("#watched .scrolled", "box => box.scrollTop") == 0
            page.click("#tab-try")
            page.fill("#input", "Hi")
            page.click("#send")
            expect(page.locator(".status").first).to_have_text("completed", timeout=SETTLED)
            box = page.locator("#runs .answer")
            assert box.evaluate("box => box.scrollHeight > 2 * box.clientHeight")
            button = page.get_by_role("button", name="Show the whole answer")
            button.click()
            assert box.evaluate("box => box.scrollHeight <= box.clientHeight + 1")
            less = page.get_by_role("button", name="Show less")
            expect(less).to_have_attribute("aria-expanded", "true")
            less.click()
            expect(button).to_be_visible()


def test_a_short_answer_has_nothing_to_expand(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.locator("#model")).to_have_value("demo")
    page.fill("#input", "Hello!")
    page.click("#send")
    expect(page.locator("#runs .item.message")).to_be_visible()
    expect(page.locator("#runs .expand")).to_be_hidden()


def noise(side: int) -> str:
    """A real image that is no short text: its address."""
    rows = b"".join(b"\0" + bytes((7 * x * y + x) % 251 for x in range(side)) for y in range(side))

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", crc32(kind + content))

    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", compress(rows)) + chunk(b"IEND", b"")
    return f"data:image/png;base64,{b64encode(png).decode()}"


def test_an_image_of_the_client_is_shown(page: Page, url: str) -> None:
    address = noise(64)
    assert len(address) > 1000
    watch(
        page, url, post(url, input=[{"role": "user", "content": [{"type": "input_image", "image_url": address}]}])
    ).click()
    image = page.locator("#watched .item img")
    expect(image).to_have_attribute("src", address)
    assert image.evaluate("each => each.decode().then(() => each.naturalWidth)") == 64
    page.get_by_role("button", name="Show the conversation").click()
    expect(page.locator("#conversation .item img")).to_have_attribute("src", address)
