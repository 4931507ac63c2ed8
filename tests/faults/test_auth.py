"""Coming in without a key, with a wrong one, by a side door, or for what one's key does not open."""

import pytest

from tests.faults.attacked_server import (
    BEARER,
    BOBS_KEY,
    KEY,
    PROMPT,
    STRANGER,
    AttackedServer,
    Refusal,
    refusal_of,
)

Headers = list[tuple[str, str]]

DOORS: dict[str, Headers] = {
    "no key": [],
    "an empty key": [("authorization", "Bearer")],
    "no scheme": [("authorization", KEY)],
    "another scheme": [("authorization", f"Basic {KEY}")],
    "a scheme too many": [("authorization", f"Bearer Bearer {KEY}")],
    "a wrong key": [("authorization", "Bearer wrong-key-of-somebody")],
    "a key too short": [("authorization", f"Bearer {KEY[:-1]}")],
    "a key too long": [("authorization", f"Bearer {KEY}x")],
    "a key in capitals": [("authorization", f"Bearer {KEY.upper()}")],
    "a key with something behind it": [("authorization", f"Bearer {KEY}, Bearer {KEY}")],
    "a key in quotes": [("authorization", f'Bearer "{KEY}"')],
    "a key's digest": [("authorization", "Bearer 2f7c0c6b8f3f3f0f0a7e6a3c9b2d1e0f2f7c0c6b8f3f3f0f0a7e6a3c9b2d1e0f")],
    "an endless key": [("authorization", f"Bearer {'x' * 7000}")],
    "the same key twice": [("authorization", f"Bearer {KEY}"), ("authorization", f"Bearer {KEY}")],
    "two keys": [("authorization", f"Bearer {KEY}"), ("authorization", f"Bearer {BOBS_KEY}")],
    "a right key behind a wrong one": [("authorization", "Bearer wrong"), ("authorization", f"Bearer {KEY}")],
    "a key in another header": [("x-api-key", KEY), ("api-key", KEY), ("proxy-authorization", f"Bearer {KEY}")],
    "a key in a cookie": [("cookie", f"authorization=Bearer {KEY}")],
    "a path in a header": [("x-original-url", "/health/live"), ("x-rewrite-url", "/health/live")],
    "a friend's address": [
        ("x-forwarded-for", "127.0.0.1"),
        ("x-real-ip", "127.0.0.1"),
        ("forwarded", "for=127.0.0.1"),
    ],
    "a method in a header": [("x-http-method-override", "GET")],
}
PATHS = {
    "with the key in the query": f"/v1/responses?api_key={KEY}&authorization=Bearer%20{KEY}",
    "without v1": "/responses",
    "with a slash too many": "/v1/responses/",
    "of something stored": "/v1/responses/resp_1/cancel",
}
NOT_THERE = [
    "/v1/../v1/models", "//v1/models", "/V1/models", "/v1/models;a=b", "/health/live/../../v1/models", "/v1/models%00",
    "/v1\\models", "/v1/./models", "/health/../v1/models", "/v1/chat/completions", "/metrics/../v1/models", "/.env",
    "/config.toml", "/v1/responses/../../config.toml", "/%2e%2e/config.toml", "/..%2fconfig.toml", "/docs/", "/redoc",
]  # fmt: skip


@pytest.mark.parametrize("headers", DOORS.values(), ids=DOORS)
def test_strangers_stay_outside(attacked: AttackedServer, headers: Headers) -> None:
    with attacked.watched():
        answer = attacked.client.post("/v1/responses", json={"model": "direct", "input": PROMPT}, headers=headers)
        assert refusal_of(answer) == STRANGER


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_every_path_needs_a_key(attacked: AttackedServer, path: str) -> None:
    with attacked.watched():
        answer = attacked.client.post(path, json={"model": "direct", "input": PROMPT})
        assert refusal_of(answer) == STRANGER


@pytest.mark.parametrize("path", NOT_THERE)
def test_no_spelling_of_a_path_shows_what_needs_a_key(attacked: AttackedServer, path: str) -> None:
    with attacked.watched():
        answer = attacked.client.get(path)
        assert refusal_of(answer) in {STRANGER, Refusal(404, "not_found")}
        assert "location" not in answer.headers


def test_a_stranger_is_turned_away_before_the_body_is_read(attacked: AttackedServer) -> None:
    """A body that would be refused for itself, were it looked at."""
    with attacked.watched():
        for content in (b"{", b" " * 70_000):
            answer = attacked.client.post("/v1/responses", content=content, headers={"content-type": "text/plain"})
            assert refusal_of(answer) == STRANGER


@pytest.mark.parametrize("model", ["litellm", "gemini", "anthropic", "any other"])
def test_a_key_opens_its_own_models_alone(attacked: AttackedServer, model: str) -> None:
    bob = {"authorization": f"Bearer {BOBS_KEY}"}
    with attacked.watched():
        answer = attacked.client.post("/v1/responses", json={"model": model, "input": PROMPT}, headers=bob)
        assert refusal_of(answer) == Refusal(404, "model_not_found", "model")
        assert [found["id"] for found in attacked.client.get("/v1/models", headers=bob).json()["data"]] == ["direct"]


def test_a_right_key_comes_in_and_only_the_upstreams_own_goes_out(attacked: AttackedServer) -> None:
    with attacked.watched(asks=True):
        answer = attacked.client.post("/v1/responses", json={"model": "direct", "input": PROMPT}, headers=BEARER)
        assert answer.status_code == 200
    assert KEY not in str(attacked.upstream.asks[-1])
