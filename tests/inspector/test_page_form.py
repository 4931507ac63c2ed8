"""The form of the page: which model, which key, and what is wrong with what was typed."""

import signal
from hashlib import sha256
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from app.settings import Key, Model, Settings, Upstream
from app.version import VERSION
from tests.support.running import running
from tests.support.serving import serving
from tests.support.surveyed_server import SurveyedServer, chats, listing
from tests.wire.script import counts, says, stops

KEYS = (Key(name="alice", digest=sha256(b"sk-alice").digest()),)
DONE = [says("Hello."), stops(), counts(1, 1)]
SETTLED = 20_000


def bubble(page: Page, selector: str) -> str:
    """What the browser says is wrong with a field."""
    return str(page.eval_on_selector(selector, "field => field.validationMessage"))


def suggested(page: Page) -> list[str]:
    """The models that the field suggests."""
    return list(page.locator("#models option").evaluate_all("all => all.map(each => each.value)"))


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.id"))


def send(page: Page, text: str = "Hello!") -> None:
    page.fill("#input", text)
    page.click("#send")


def completed(page: Page) -> None:
    expect(page.locator(".status").first).to_have_text("completed", timeout=SETTLED)


def test_behind_a_wildcard_the_upstreams_models_are_suggested_and_others_can_be_typed(page: Page) -> None:
    with SurveyedServer(chats(models=listing("tiny", "qwen3-coder:30b")), DONE) as upstream:
        settings = Settings(
            upstreams={"local": Upstream(via="chat", base_url=f"{upstream.root}/v1")},
            models={"*": Model(upstream="local")},
        )
        with serving(settings) as url:
            page.goto(url)
            expect(page.locator("#model")).to_have_value("tiny")
            assert suggested(page) == ["tiny", "qwen3-coder:30b"]
            page.fill("#model", "org/some-model:7b")
            send(page)
            completed(page)
        assert [each.body["model"] for each in upstream.asks if each.raw] == ["org/some-model:7b"]


def test_known_models_are_suggested_and_the_first_is_filled_in(page: Page) -> None:
    with serving(Settings(models={name: Model(upstream="demo") for name in ("small", "tall")})) as url:
        page.goto(url)
        expect(page.locator("#model")).to_have_value("small")
        assert suggested(page) == ["small", "tall"]
        assert page.get_attribute("#model", "list") == "models"
        page.focus("#model")
        page.keyboard.type("tall")  # in place of what was there
        expect(page.locator("#model")).to_have_value("tall")


def test_models_of_a_configuration_that_was_reloaded_are_suggested_without_a_reload_of_the_page(
    page: Page, tmp_path: Path
) -> None:
    config = tmp_path / "config.toml"

    def configure(*models: str) -> None:
        tables = "".join(f'[models.{name}]\nupstream = "demo"\n' for name in models)
        config.write_text(f'{tables}[upstreams.demo]\nvia = "demo"\n')

    configure("small")
    with running(folder=tmp_path) as server:
        page.goto(server.url.removesuffix("/v1"))
        expect(page.locator("#model")).to_have_value("small")
        configure("first", "small", "tall")
        server.process.send_signal(signal.SIGHUP)
        page.wait_for_function("async () => (await (await fetch('/v1/models')).json()).data.length === 3")
        page.focus("#model")
        expect(page.locator("#models option")).to_have_count(3)
        assert suggested(page) == ["first", "small", "tall"]
        expect(page.locator("#model")).to_have_value("small")  # it is still there

        configure("tall")
        server.process.send_signal(signal.SIGHUP)
        page.wait_for_function("async () => (await (await fetch('/v1/models')).json()).data.length === 1")
        page.focus("#input")
        page.focus("#model")
        expect(page.locator("#model")).to_have_value("tall")


def test_without_a_model_nothing_is_sent_and_the_field_has_the_focus(page: Page) -> None:
    with serving() as url:
        page.goto(url)
        expect(page.locator("#model")).to_have_value("demo")
        page.fill("#model", "")
        send(page)
        expect(page.locator(".run")).to_have_count(0)
        assert focused(page) == "model"
        page.click('[data-copy="curl"]')
        expect(page.locator("#copied")).to_be_empty()


def test_send_without_a_key_asks_for_the_key(page: Page) -> None:
    with serving(Settings(keys=KEYS)) as url:
        page.goto(url)
        expect(page.locator("#key")).to_have_attribute("placeholder", "required")
        send(page)
        assert focused(page) == "key"
        assert bubble(page, "#key") == "This server needs a key."
        page.fill("#key", "sk-alice")
        page.keyboard.press("Enter")
        expect(page.locator("#model")).to_have_value("demo")
        send(page)
        completed(page)


def test_a_key_that_is_refused_is_asked_for_again(page: Page) -> None:
    with serving(Settings(keys=KEYS)) as url:
        page.goto(url)
        page.fill("#key", "sk-wrong")
        page.keyboard.press("Enter")
        page.fill("#model", "demo")
        send(page)
        expect(page.locator(".status")).to_contain_text("401")
        expect(page.locator("#key.needed")).to_have_count(1)


@pytest.mark.parametrize("text", ["[", "", '{"type": "function"}'])
def test_tools_that_are_no_json_array_are_not_sent_and_do_not_block_what_follows(page: Page, text: str) -> None:
    with serving() as url:
        page.goto(url)
        expect(page.locator("#model")).to_have_value("demo")
        page.check("#with-tools")
        page.fill("#tools", text)
        send(page)
        expect(page.locator(".run")).to_have_count(0)
        assert bubble(page, "#tools").startswith("Not ")
        page.uncheck("#with-tools")
        page.click("#send")
        completed(page)


def test_send_by_keyboard_does_nothing_where_the_form_is_not_shown(page: Page) -> None:
    with serving() as url:
        page.goto(url)
        expect(page.locator("#model")).to_have_value("demo")
        page.fill("#input", "Hello!")
        page.click("#tab-watch")
        page.keyboard.press("Control+Enter")
        page.click("#tab-try")
        expect(page.locator(".run")).to_have_count(0)
        page.keyboard.press("Control+Enter")
        completed(page)


def test_what_was_typed_outlives_a_reload(page: Page) -> None:
    with serving(Settings(models={name: Model(upstream="demo") for name in ("small", "tall")})) as url:
        page.goto(url)
        expect(page.locator("#model")).to_have_value("small")
        page.fill("#model", "tall")
        page.fill("#input", "A long question.")
        page.fill("#instructions", "Be brief.")
        page.select_option("#effort", "low")
        page.check("#with-tools")
        page.fill("#tools", "[]")
        page.uncheck("#stream")
        page.reload()
        expect(page.locator("#models option")).to_have_count(2)
        texts = [page.input_value(field) for field in ("#model", "#input", "#instructions", "#effort", "#tools")]
        assert texts == ["tall", "A long question.", "Be brief.", "low", "[]"]
        expect(page.locator("#tools")).to_be_visible()
        expect(page.locator("#stream")).not_to_be_checked()


def test_the_version_and_the_description_of_the_api_can_be_found(page: Page) -> None:
    with serving() as url:
        page.goto(url)
        expect(page.locator("#version")).to_have_text(VERSION)
        link = page.locator("header a", has_text="API").get_attribute("href") or ""
        assert page.request.get(f"{url}{link}").json()["openapi"].startswith("3.1")


def test_the_words_on_the_page_are_those_of_the_api(page: Page) -> None:
    with serving() as url:
        page.goto(url)
        words = page.locator("#ask").inner_text()
        for label in ("Reasoning effort", "Max output tokens", "encrypted reasoning"):
            assert label in words, words
        assert page.locator("#effort option").first.inner_text() == "default"
        expect(page.locator("#model")).to_have_value("demo")
        send(page)
        completed(page)
        expect(page.locator(".figures")).to_contain_text("first token")
        expect(page.locator(".figures")).to_contain_text("total")


@pytest.mark.parametrize("allowed", [True, False])
def test_a_copy_says_whether_the_clipboard_took_it(page: Page, allowed: bool) -> None:  # noqa: FBT001 — a column
    with serving() as url:
        written = "async () => {}" if allowed else "() => Promise.reject(new Error('no'))"
        page.goto(url)
        page.evaluate(f"Object.defineProperty(navigator, 'clipboard', {{value: {{writeText: {written}}}}})")
        expect(page.locator("#model")).to_have_value("demo")
        page.click('[data-copy="curl"]')
        expect(page.locator("#copied")).to_have_text("copied" if allowed else "clipboard blocked")
