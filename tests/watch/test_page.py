"""What people do on the page, in a real browser."""

import json
import re
import subprocess
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.deploy.program import Server, started
from tests.support.node import modules_with
from tests.watch.looking import DEMO, STRANGE, Looker, talk
from tests.wire.script import counts, says, stops
from tests.wire.servers import ChatUpstream, Latch, Step

TAKEN = "document.title='taken'"
MARKUP = f'"><img src=x onerror="{TAKEN}"><script>{TAKEN}</script><svg onload="{TAKEN}"><h1>'


@pytest.fixture(scope="module")
def latch() -> Latch:
    return Latch()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, latch: Latch) -> Iterator[Server]:
    """One with the embedded model, and a chat server behind `local`; three turns of a conversation have ended."""
    answer: list[Step] = [says("Good "), latch, says("day"), stops(), counts(20, 2, cached=10)]
    with ChatUpstream(answer) as up:
        near = f'[upstreams.near]\nbase_url = "{up.url}"\n[models.local]\nupstream = "near"\n'
        with started(tmp_path_factory.mktemp("page"), DEMO + near) as server:
            talk(Looker(server))
            yield server


@pytest.fixture
def home(server: Server, page: Page) -> Page:
    page.goto(server.url.removesuffix("/v1"))
    expect(page.locator("[name=model]").last).to_have_value("demo")
    return page


def test_a_newcomer_sends_the_first_request(home: Page, server: Server) -> None:
    expect(home.locator(".home")).to_contain_text(server.url)
    expect(home.locator(".home")).to_contain_text("the model demo, a script within AM Proxy")
    expect(home.locator(".home")).to_contain_text("near (http://127.0.0.1")
    expect(home.locator("#key")).to_be_hidden()
    home.click("#send")
    expect(home.locator(".status")).to_have_text("completed")
    expect(home.locator("#answer .item").last).to_contain_text("You said: Hello!")
    expect(home.locator("#turns a").first).to_contain_text("Hello!")
    home.get_by_role("tab", name="Upstream").click()
    expect(home.locator("#answer .panel")).to_contain_text('"messages"')  # the server has told it meanwhile
    home.get_by_role("button", name="Copy as curl").click()
    expect(home.get_by_role("button", name="copied")).to_be_visible()
    command = home.evaluate("navigator.clipboard.readText()")
    ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True, timeout=20)
    assert "response.completed" in ran.stdout
    assert home.title() == "AM Proxy · inspector"


def test_the_list_is_live_and_shows_a_turn_that_runs(home: Page, server: Server, latch: Latch) -> None:
    body = {"model": "local", "input": "Slowly, please", "stream": True}
    with httpx.stream("POST", f"{server.url}/responses", json=body, timeout=30) as sent:
        row = home.locator("#turns .row-of-turn", has_text="Slowly, please")
        expect(row).to_contain_text("running")
        row.click()
        expect(home.locator("#view .item").last).to_have_text(re.compile("assistantGood $"))
        latch.open()
        expect(home.locator("#view .item").last).to_have_text(re.compile("assistantGood day$"))
        sent.read()
    expect(home.locator("#view .status")).to_have_text("completed")
    expect(home.locator("#view .figures")).to_contain_text("upstream near")
    expect(home.locator("#view .figures")).to_contain_text("20 → 2 tokens · 50 % cached")
    home.get_by_role("tab", name="Upstream").click()
    expect(home.locator("#view .panel")).to_contain_text('"content": "Slowly, please"')
    expect(home.locator("#view .panel")).to_contain_text("data: [DONE]")
    home.get_by_role("tab", name="Events").click()
    deltas = home.locator(".events details", has_text="output_text.delta").first
    deltas.locator("summary").click()
    expect(deltas.locator("pre")).to_contain_text('"delta": "Good "')
    home.get_by_role("tab", name="Timing").click()
    expect(home.locator(".timing tr")).to_have_count(5)
    home.reload()  # the address names the tab
    expect(home.get_by_role("tab", name="Timing")).to_have_attribute("aria-selected", "true")


def test_a_conversation_shows_what_was_new_and_what_changed(home: Page, server: Server) -> None:
    home.locator("#turns .talk > a", has_text="Conversation of 3 turns").click()
    parts = home.locator(".talk-view .part")
    expect(parts).to_have_count(3)
    expect(parts.nth(0).locator(".pair")).to_have_text(re.compile("get_weather.*It is 21 degrees", re.DOTALL))
    expect(parts.nth(0).locator(".thought pre")).to_be_hidden()
    parts.nth(0).locator(".thought summary").click()
    expect(parts.nth(0).locator(".thought pre")).to_contain_text("I am a script")
    expect(parts.nth(1)).not_to_contain_text("is it warm")
    expect(parts.nth(1)).to_contain_text("and what is new behind it")
    expect(parts.nth(2)).to_contain_text("Instructions changed.")
    expect(parts.nth(2)).to_contain_text("− get_weather")
    parts.nth(2).locator("summary", has_text="Asked the same up to byte").click()
    expect(parts.nth(2).locator("mark").first).to_have_text(re.compile('^type":"function"'))
    history = Looker(server).get("turns/3")
    again = [*history["request"]["input"], *history["response"]["output"], {"role": "user", "content": "One more."}]
    Looker(server).post(again, instructions="Be very brief.")
    expect(parts).to_have_count(4)  # it is live
    expect(parts.nth(0).locator(".thought pre")).to_be_visible()
    home.locator(".talk-view td a").first.click()
    expect(home.locator("#view .item").first).to_contain_text("is it warm")


def test_a_turn_is_run_again_with_another_model_beside_the_original(home: Page, latch: Latch) -> None:
    latch.open()
    home.locator("#turns .row-of-turn", has_text="Thanks!").click()
    home.get_by_role("tab", name="Run again").click()
    home.get_by_label("Model", exact=True).last.fill("local")
    home.get_by_role("button", name="Send again").click()
    before, now = home.locator(".runs .turn").all()
    expect(now.locator(".status")).to_have_text("completed")
    expect(before.locator("h2")).to_have_text("demo · before")
    expect(before.locator(".item").last).to_contain_text("You said: Thanks!")
    expect(now.locator("h2")).to_have_text("local · now")
    expect(now.locator(".item").last).to_contain_text("Good day")


def test_turns_are_searched_filtered_and_walked_by_keyboard(home: Page, server: Server) -> None:
    Looker(server).post("A needle at the end of a long text. " * 20 + "Xylophone")
    Looker(server).post("Wrong", model="nope")
    rows = home.locator("#turns .row-of-turn")
    expect(rows.first).to_contain_text("404 model_not_found")
    home.keyboard.press("/")
    home.keyboard.type("xyloPHONE")  # only the server knows
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("A needle")
    home.keyboard.press("Escape")
    home.locator("#filter summary").click()
    home.select_option("#filter [name=finish]", "refused")
    expect(rows).to_have_count(1)
    rows.click()
    expect(home.locator("#view .failure")).to_be_visible()
    home.reload()
    expect(rows).to_have_count(1)  # filters belong to the address
    home.select_option("#filter [name=finish]", "")
    home.select_option("#filter [name=call]", "get_weather")
    expect(rows).to_have_count(1)
    home.get_by_role("button", name="Clear").click()
    expect(rows).not_to_have_count(1)
    home.locator("#view").focus()
    for key in ("j", "j", "ArrowUp", "Enter"):
        home.keyboard.press(key)
    expect(rows.first).to_have_attribute("aria-current", "true")
    expect(home.locator("#view .failure")).to_contain_text("404 model_not_found")
    home.get_by_role("tab", name="Conversation").focus()
    home.keyboard.press("ArrowRight")
    expect(home.get_by_role("tab", name="Request")).to_be_focused()
    home.keyboard.press("n")
    expect(home.locator("#ask")).to_be_visible()
    home.keyboard.press("?")
    expect(home.locator("#keys")).to_be_visible()
    home.keyboard.press("Escape")
    expect(home.locator("#keys")).to_be_hidden()
    home.keyboard.press("t")
    expect(home.locator("html")).to_have_attribute("data-theme", re.compile("dark|light"))


def test_with_keys_the_page_asks_for_one_and_shows_its_own_turns(tmp_path: Any, page: Page) -> None:
    keys = "".join(f'[[keys]]\nname = "{n}"\nsha256 = "{sha256(n.encode()).hexdigest()}"\n' for n in ("ann", "bob"))
    with started(tmp_path, keys + DEMO) as server:
        for name in ("ann", "bob"):
            Looker(server, name).post(f"From {name}")
        page.goto(server.url.removesuffix("/v1"))
        expect(page.locator("#state")).to_have_text("Enter a key of this server above to see your turns.")
        page.fill("#key", "carl")
        page.press("#key", "Enter")
        expect(page.locator("#state")).to_have_text("AM Proxy does not know this API key.")
        page.click("#send")
        expect(page.locator("#answer")).to_contain_text("AM Proxy does not know this API key.")
        page.fill("#key", "ann")
        page.press("#key", "Enter")
        expect(page.locator("#turns .row-of-turn")).to_have_count(1)
        expect(page.locator("#turns")).to_contain_text("From ann")
        expect(page.locator("#ask [name=model]")).to_have_value("demo")
        page.click("#send")
        expect(page.locator("#answer .status")).to_have_text("completed")
        expect(page.locator(".home")).not_to_contain_text(re.compile("Behind it|needs a key"))


def markup(looker: Looker) -> None:
    """Requests in which everything is markup."""
    call = {
        "type": "function_call",
        "call_id": "c1",
        "name": "f",
        "arguments": json.dumps({MARKUP: f"{MARKUP}\n{MARKUP}"}),
    }
    output = {"type": "function_call_output", "call_id": "c1", "output": MARKUP}
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": MARKUP}]}
    cited = {"type": "url_citation", "url": f"javascript:{TAKEN}", "title": MARKUP, "start_index": 0, "end_index": 1}
    said = {"type": "output_text", "text": MARKUP, "annotations": [cited]}
    items = [{"role": "user", "content": MARKUP}, thought, call, output]
    items.append({"type": "message", "role": "assistant", "content": [said]})
    looker.post(items, instructions=MARKUP, metadata={MARKUP: MARKUP}, model="local")
    looker.post([*items, {"role": "user", "content": MARKUP}], model=MARKUP)
    looker.post({"type": MARKUP}, model=MARKUP)
    for body in STRANGE:
        looker.http.post("/v1/responses", json={"model": MARKUP, **body})


def test_nothing_that_anybody_says_becomes_markup(tmp_path: Any, page: Page) -> None:
    broken = b"data: {" + MARKUP.encode() + b"}\n\n"
    with ChatUpstream([says(MARKUP), stops(), counts(1, 1)], [says(MARKUP), broken]) as up:
        text = f'[upstreams."{MARKUP[2:9]}"]\nbase_url = "{up.url}"\n[models."*"]\nupstream = "{MARKUP[2:9]}"\n'
        with started(tmp_path, text) as server:
            looker, home = Looker(server), server.url.removesuffix("/v1")
            markup(looker)
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            page.goto(home)
            for row in looker.ended(3 + len(STRANGE)):
                tabs = ("answer", "request", "asks", "events", "response", "timing", "again")
                for address in (
                    *[f"turn/{row['number']}/{tab}" for tab in tabs],
                    f"conversation/{row['conversation']}",
                ):
                    page.evaluate("address => (location.hash = address)", address)
                    expect(page.locator("#view .turn")).to_be_visible()
                    page.evaluate("document.querySelectorAll('#view details').forEach(each => (each.open = true))")
            page.evaluate("markup => (location.hash = `#?text=${encodeURIComponent(markup)}`)", MARKUP)
            expect(page.locator("#filter [name=text]")).to_have_value(MARKUP)
            assert page.locator("#turns").inner_text().count("<script>") >= 3
            assert (
                page.locator("body :is(script, iframe, object, [onerror], [onload], svg, main img, main h1)").count()
                == 0
            )
            assert page.title() == "AM Proxy · inspector"
            assert [url for url in asked if not url.startswith(home)] == []
            links = page.locator("a").evaluate_all("all => all.map(each => each.protocol)")
            assert set(links) <= {"http:"}


DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def test_a_picture_of_a_conversation_is_a_picture_and_an_address_is_not_fetched(home: Page, server: Server) -> None:
    asked: list[str] = []
    home.on("request", lambda request: asked.append(request.url))
    urls = [f"data:image/png;base64,{DOT}", f"{server.url}/picture.png", "data:image/svg+xml;base64,PHN2Zy8+"]
    looker = Looker(server)
    made = {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": urls[0].split(",")[1]}
    shown = [{"type": "input_image", "image_url": url} for url in urls]
    looker.post([made, {"role": "user", "content": shown}])
    row = looker.rows()[-1]
    for address in (f"turn/{row['number']}", f"conversation/{row['conversation']}"):
        home.evaluate("address => (location.hash = address)", address)
        images = home.locator("#view .item img")
        expect(images).to_have_count(2)
        assert [each.evaluate("image => image.decode().then(() => image.naturalWidth)") for each in images.all()] == [
            1,
            1,
        ]
    assert urls[1] not in asked


VIEWS = {
    "": "#ask",
    **{f"turn/1/{tab}": ".panel" for tab in ("answer", "request", "asks", "events", "response", "timing", "again")},
    "conversation/1": ".talk-view .item",
    "turn/999": ".notice",
}


@pytest.mark.needs("npm:axe-core")
@pytest.mark.parametrize(("width", "theme"), [(1300, "dark"), (1300, "light"), (400, "light"), (650, "dark")])
def test_nothing_serious_is_in_the_way_of_anybody(browser: Browser, server: Server, width: int, theme: Any) -> None:
    """On a desk, on a phone, and at 200 %: a window of 1300 is then one of 650."""
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=theme, bypass_csp=True)
    page.goto(server.url.removesuffix("/v1"))
    page.add_script_tag(path=modules_with("axe-core") / "axe-core" / "axe.min.js")
    for address, place in VIEWS.items():
        page.evaluate("address => (location.hash = address)", address)
        expect(page.locator(place).first).to_be_visible()
        page.evaluate("document.querySelectorAll('details').forEach(each => (each.open = true))")
        found: Any = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
        faults = [
            f"{address} {rule['id']}: {node['html'][:120]}"
            for rule in found["violations"]
            for node in rule["nodes"]
            if rule["impact"] in {"serious", "critical"}
        ]
        assert faults == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address
    page.context.close()
