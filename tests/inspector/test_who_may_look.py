"""Turns are shown to their callers only, and looking at them costs other callers little."""

from collections.abc import Iterator
from typing import Final

import httpx
import pytest

from app.settings import Server, Settings
from tests.support.serving import serving

PAGE: Final = "https://page.example"
LISTED: Final = "https://listed.example"
DATA: Final = ["rows", "turns", "turns/1", "turns/99", "turns/1/live", "sessions/1", "sessions/99", "found?text=Hi"]


def status(url: str, path: str, headers: dict[str, str]) -> int:
    with httpx.stream("GET", f"{url}/inspector/{path}", headers=headers, timeout=10) as answer:
        return answer.status_code


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Settings(server=Server(watch=5, cors_origins=(LISTED,)))) as address:
        httpx.post(f"{address}/v1/responses", json={"model": "demo", "input": "Hi"}).raise_for_status()
        yield address


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("path", DATA)
def test_a_page_of_another_origin_learns_nothing_not_even_which_turns_there_are(url: str, path: str, site: str) -> None:
    """A browser tells such a page nothing, but lets it measure the time, and tell a 200 from a 404."""
    sent = {"sec-fetch-site": site}
    assert status(url, path, sent) == status(url, path, {**sent, "origin": PAGE}) == 403


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "none"},
        {"sec-fetch-site": "cross-site", "origin": LISTED},
    ],
    ids=["no browser", "its own page", "an address that was typed", "a listed page"],
)
def test_others_see_turns(url: str, headers: dict[str, str]) -> None:
    assert [status(url, path, headers) for path in DATA] == [404 if path.endswith("99") else 200 for path in DATA]


def test_a_link_on_another_page_leads_to_the_inspector(url: str) -> None:
    assert httpx.get(url, headers={"sec-fetch-site": "cross-site"}).status_code == 200
