"""The page about the API: everything in the OpenAPI document, and nothing from elsewhere."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from app.settings import Server, Settings
from tests.support.serving import serving


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving() as address:
        yield address


@pytest.fixture
def described(url: str) -> Any:
    return httpx.get(f"{url}/openapi.json").json()


def test_every_operation_and_schema_is_shown_and_every_link_leads_to_one(page: Page, url: str, described: Any) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{url}/docs")
    schemas = described["components"]["schemas"]
    expect(page.locator("#schemas section")).to_have_count(len(schemas))
    operations = [f"{method.upper()} {path}" for path, methods in described["paths"].items() for method in methods]
    assert page.locator("#operations h3").all_inner_texts() == operations
    assert set(page.locator("#schemas h3").all_inner_texts()) == set(schemas)
    for name in ("CreateResponse", "Response", "Error"):
        rows = page.locator(f"section:has(> #{name}) tbody tr").count()
        assert rows == len(schemas[name]["properties"])
    ids = set(page.locator("[id]").evaluate_all("all => all.map(each => each.id)"))
    links = page.locator("main a").evaluate_all("all => all.map(each => each.getAttribute('href'))")
    assert {link.removeprefix("#") for link in links} - ids == set()
    text = page.inner_text("main")
    assert "undefined" not in text
    assert "[object" not in text
    assert "`" not in text
    assert {address.startswith(f"{url}/") for address in asked} == {True}


def test_a_link_to_a_schema_leads_there_and_the_page_fits_a_phone(page: Page, url: str) -> None:
    page.set_viewport_size({"width": 390, "height": 700})
    page.goto(f"{url}/docs#FunctionTool")
    expect(page.locator("#FunctionTool")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_inspector_leads_to_it_and_back(page: Page, url: str) -> None:
    page.goto(url)
    page.click("text=API")
    expect(page.locator("#example")).to_contain_text(f"curl {url}/v1/responses")
    page.click("text=Inspector")
    expect(page.locator("#ask")).to_be_visible()


def test_where_the_inspector_is_off_it_is_off_and_nothing_names_it() -> None:
    with serving(Settings(server=Server(ui=False))) as address:
        assert httpx.get(f"{address}/docs").status_code == 404
        assert "docs" not in httpx.get(f"{address}/v1").text
