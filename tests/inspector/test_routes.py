import json
from collections.abc import Iterator
from hashlib import sha256

import httpx
import pytest

from app.settings import Key, Server, Settings
from tests.serving import serving

KEYS = tuple(Key(name=name, digest=sha256(name.encode()).digest()) for name in ("alice", "bob"))


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Settings(keys=KEYS, server=Server(watch=3))) as address:
        yield address


def test_the_page_and_its_files_are_there_for_everybody_and_load_nothing_from_elsewhere(url: str) -> None:
    page = httpx.get(url)
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "//" not in page.text.replace("<!doctype", "")
    files = {word.split('"')[0] for word in page.text.split('"/inspector/')[1:]}
    assert {httpx.get(f"{url}/inspector/{file}").status_code for file in files} == {200}


def test_a_file_that_has_not_changed_is_not_sent_again(url: str) -> None:
    tag = httpx.get(f"{url}/inspector/main.js").headers["etag"]
    again = httpx.get(f"{url}/inspector/main.js", headers={"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("path", ["/inspector/none.js", "/inspector/..%2froutes.py", "/inspector/%2e%2e/routes.py"])
def test_no_other_file_is_given_away(url: str, path: str) -> None:
    answer = httpx.get(url + path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize(("method", "path"), [("POST", "/inspector/ask"), ("GET", "/inspector/turns")])
def test_what_it_shows_wants_a_key(url: str, method: str, path: str) -> None:
    assert httpx.request(method, url + path, json={} if method == "POST" else None).status_code == 401


def test_what_an_upstream_would_be_asked_is_shown_with_what_it_cannot_be_told(url: str) -> None:
    body = {"model": "demo", "instructions": "Be brief.", "input": "Hi", "tools": [{"type": "web_search"}]}
    answer = httpx.post(f"{url}/inspector/ask", json=body, headers=bearer("alice")).json()
    assert answer["ask"]["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
    ]
    assert len(answer["warnings"]) == 1


def test_a_request_that_would_be_refused_is_refused_here_too(url: str) -> None:
    answer = httpx.post(f"{url}/inspector/ask", json={"model": "none", "input": "Hi"}, headers=bearer("alice"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "model_not_found")


def test_a_key_sees_its_own_turns_only(url: str) -> None:
    for key in ("alice", "bob"):
        body = {"model": "demo", "input": f"I am {key}."}
        httpx.post(f"{url}/v1/responses", json=body, headers=bearer(key)).raise_for_status()
    seen: list[str] = []
    with httpx.stream("GET", f"{url}/inspector/turns", headers=bearer("bob"), timeout=10) as feed:
        for line in feed.iter_lines():
            if line.startswith("data: "):
                seen.append(line)
            if '"finish":"completed"' in line:
                break
    asked = [json.loads(line[6:]) for line in seen]
    assert [told["request"]["input"] for told in asked if "request" in told] == ["I am bob."]
    assert "I am alice." not in "".join(seen)


@pytest.mark.parametrize(
    ("settings", "status"),
    [
        (Settings(), 200),
        (Settings(server=Server(ui=False)), 404),
        (Settings(server=Server(host="0.0.0.0", insecure_no_auth=True)), 404),  # noqa: S104 — it is only said
        (Settings(server=Server(host="0.0.0.0"), keys=KEYS), 200),  # noqa: S104 — as above
    ],
)
def test_the_page_is_not_there_for_strangers_nor_when_it_is_turned_off(settings: Settings, status: int) -> None:
    with serving(settings) as address:
        assert httpx.get(address).status_code == status


def test_without_a_ring_there_is_nothing_to_watch() -> None:
    with serving() as address:
        answer = httpx.get(f"{address}/inspector/turns")
    assert (answer.status_code, "--watch" in answer.json()["error"]["message"]) == (404, True)
