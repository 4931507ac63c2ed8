import json
from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import sha256

import httpx
import pytest

from app.inspector.routes import WATCHERS_OF_ONE
from app.settings import Key, Model, Server, Settings, Upstream
from tests.support.serving import serving
from tests.wire.script import text_turn
from tests.wire.servers import ChatUpstream
from tests.wire.web_site import PDF, PNG, Site, page

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


@pytest.mark.parametrize(("method", "path"), [("POST", "/inspector/ask"), ("GET", "/inspector/rows")])
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


def test_the_preview_is_the_body_that_the_server_gets() -> None:
    body = {"model": "m", "instructions": "Be brief.", "input": "Hi", "max_output_tokens": 50}
    with ChatUpstream(text_turn("Hi")) as upstream:
        up = Upstream(
            via="chat", base_url=upstream.url, system_role="developer", max_tokens_field="max_completion_tokens"
        )
        with serving(Settings(upstreams={"up": up}, models={"m": Model(upstream="up")})) as address:
            shown = httpx.post(f"{address}/inspector/ask", json=body).json()["ask"]
            httpx.post(f"{address}/v1/responses", json=body).raise_for_status()
        [sent] = upstream.asks
    assert shown == sent.body
    assert shown["messages"][0]["role"] == "developer"


def test_a_request_that_would_be_refused_is_refused_here_too(url: str) -> None:
    answer = httpx.post(f"{url}/inspector/ask", json={"model": "none", "input": "Hi"}, headers=bearer("alice"))
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "model_not_found")


def test_a_key_sees_its_own_turns_only(url: str) -> None:
    for key in ("alice", "bob"):
        body = {"model": "demo", "input": f"I am {key}."}
        httpx.post(f"{url}/v1/responses", json=body, headers=bearer(key)).raise_for_status()
    seen: list[str] = []
    with httpx.stream("GET", f"{url}/inspector/rows", headers=bearer("bob"), timeout=10) as feed:
        for line in feed.iter_lines():
            if line.startswith("data: "):
                seen.append(line)
            if '"finish":"completed"' in line:
                break
    assert {json.loads(line[6:]).get("said", "I am bob.") for line in seen} == {"I am bob."}
    assert "I am alice." not in "".join(seen)


def test_looking_at_a_request_counts_as_one() -> None:
    limited = Key(name="mallory", digest=sha256(b"mallory").digest(), requests_per_minute=2)
    body = {"model": "demo", "input": "Hi"}
    with serving(Settings(keys=(limited,))) as address:
        answers = [httpx.post(f"{address}/inspector/ask", json=body, headers=bearer("mallory")) for _ in range(3)]
        turn = httpx.post(f"{address}/v1/responses", json=body, headers=bearer("mallory"))
    assert [answer.status_code for answer in (*answers, turn)] == [200, 200, 429, 429]
    assert [answer.headers["x-ratelimit-remaining-requests"] for answer in answers] == ["1", "0", "0"]


def test_a_look_gives_its_slot_back_however_it_ends() -> None:
    body = {"model": "demo", "input": "Hi"}
    with serving(Settings(server=Server(max_turns=1))) as address:
        for sent in (body, {"model": 3}, {**body, "model": "none"}, body):
            assert httpx.post(f"{address}/inspector/ask", json=sent).status_code in {200, 400, 404}
        assert httpx.post(f"{address}/v1/responses", json=body).status_code == 200


def test_a_look_fetches_nothing() -> None:
    with Site({"/cat.png": page(PNG), "/a.pdf": page(PDF)}) as site:
        part = {"type": "input_image", "image_url": f"{site.url}/cat.png"}
        file = {"type": "input_file", "file_url": f"{site.url}/a.pdf"}
        body = {"model": "m", "input": [{"role": "user", "content": [part, file]}]}
        settings = Settings(
            server=Server(allow_private_urls=True),
            upstreams={"u": Upstream(via="chat", base_url="http://127.0.0.1:9", takes_image_urls=False)},
            models={"m": Model(upstream="u")},
        )
        with serving(settings) as address:
            answer = httpx.post(f"{address}/inspector/ask", json=body)
        assert answer.status_code == 200
        assert answer.json()["warnings"][0].startswith("Images and files that this server would download")
        assert site.asked == []


def test_a_key_called_guest_does_not_see_what_guests_do() -> None:
    """A caller with a key for an upstream sees no turns at all where this server has keys."""
    named = Key(name="guest", digest=sha256(b"named").digest())
    settings = Settings(
        server=Server(watch=5),
        keys=(named,),
        upstreams={"u": Upstream(via="chat", base_url="http://127.0.0.1:9", auth="passthrough", retries=0)},
        models={"m": Model(upstream="u")},
    )
    with serving(settings) as address:
        body = {"model": "m", "input": "I am a guest."}
        httpx.post(f"{address}/v1/responses", json=body, headers=bearer("sk-own"))
        httpx.post(f"{address}/v1/responses", json={**body, "input": "I am named."}, headers=bearer("named"))
        with httpx.stream("GET", f"{address}/inspector/rows", headers=bearer("named"), timeout=10) as feed:
            seen = ""
            for line in feed.iter_lines():
                seen += line
                if '"state":"ended"' in line:
                    break
        assert "I am named." in seen
        assert "I am a guest." not in seen
        assert httpx.get(f"{address}/inspector/rows", headers=bearer("sk-own")).status_code == 401


def test_without_keys_each_caller_with_a_key_of_its_own_sees_its_own_turns() -> None:
    settings = Settings(
        server=Server(watch=5),
        upstreams={"u": Upstream(via="chat", base_url="http://127.0.0.1:9", auth="passthrough", retries=0)},
        models={"m": Model(upstream="u")},
    )
    with serving(settings) as address:
        for who in ("ben", "cleo"):
            body = {"model": "m", "input": f"I am {who}."}
            httpx.post(f"{address}/v1/responses", json=body, headers=bearer(f"sk-{who}"))
        with httpx.stream("GET", f"{address}/inspector/rows", headers=bearer("sk-cleo"), timeout=10) as feed:
            seen = ""
            for line in feed.iter_lines():
                seen += line
                if '"state":"ended"' in line:
                    break
    assert "I am cleo." in seen
    assert "I am ben." not in seen


def test_pages_that_watch_are_limited_for_each_caller(url: str) -> None:
    with ExitStack() as stack:

        def watching(who: str) -> httpx.Response:
            stream = httpx.stream("GET", f"{url}/inspector/rows", headers=bearer(who), timeout=10)
            return stack.enter_context(stream)

        body = {"model": "demo", "input": "Hi"}
        httpx.post(f"{url}/v1/responses", json=body, headers=bearer("alice")).raise_for_status()
        feeds = [watching("alice").iter_lines() for _ in range(WATCHERS_OF_ONE)]  # to be held: or httpx hangs up
        for feed in feeds:
            next(feed)
        assert watching("alice").status_code == 429
        assert watching("bob").status_code == 200


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


@pytest.mark.parametrize(
    ("server", "kept"),
    [
        (Server(), 1000),
        (Server(host="::1"), 1000),
        (Server(watch=7), 7),
        (Server(watch=0), 0),
        (Server(ui=False), 0),
        (Server(allowed_hosts=("models.example.com",)), 0),
        (Server(cors_origins=("https://a.example",)), 0),
        (Server(allowed_hosts=("models.example.com",), watch=7), 7),
        (Server(host="0.0.0.0"), 0),  # noqa: S104 — it is only said
        (Server(host="0.0.0.0", watch=7), 7),  # noqa: S104 — as above
    ],
)
def test_turns_are_kept_by_default_where_only_this_machine_can_call(server: Server, kept: int) -> None:
    assert Settings(server=server, keys=KEYS).watched == kept


@pytest.mark.parametrize(("watch", "status"), [(None, 404), (5, 200)])
def test_who_calls_through_a_proxy_sees_turns_only_if_they_are_kept_on_purpose(watch: int | None, status: int) -> None:
    with serving(Settings(server=Server(watch=watch))) as address:
        httpx.post(f"{address}/v1/responses", json={"model": "demo", "input": "Hi"}).raise_for_status()
        forwarded = {"x-forwarded-for": "192.0.2.7"}
        with httpx.stream("GET", f"{address}/inspector/rows", headers=forwarded, timeout=10) as answer:
            assert answer.status_code == status
        with httpx.stream("GET", f"{address}/inspector/rows", timeout=10) as answer:
            assert answer.status_code == 200


def test_without_a_ring_there_is_nothing_to_watch() -> None:
    with serving(Settings(server=Server(watch=0))) as address:
        answer = httpx.get(f"{address}/inspector/rows")
    assert (answer.status_code, "--watch" in answer.json()["error"]["message"]) == (404, True)
