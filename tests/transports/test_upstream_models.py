"""Who may have an upstream asked for the list of its models, where it was not asked yet, and which ones can be."""

from hashlib import sha256
from typing import Any

import httpx
import pytest

from app.settings import Key, Model, Secret, Settings, Upstream
from app.wiring import lists_of
from tests.support.serving import serving
from tests.support.surveyed_server import SurveyedServer, chats, listing
from tests.wire.script import counts, says, stops

LIST = listing("seen")
DONE = [says("Hi."), stops(), counts(1, 1)]


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def key(name: str, **more: Any) -> Key:
    return Key(name=name, digest=sha256(name.encode()).digest(), **more)


def behind(surveyed: SurveyedServer, keys: tuple[Key, ...]) -> Settings:
    upstreams = {"up": Upstream(via="chat", base_url=surveyed.url)}
    return Settings(upstreams=upstreams, models={"*": Model(upstream="up")}, keys=keys)


def names(url: str, key: str) -> list[str]:
    answer = httpx.get(f"{url}/v1/models", headers=bearer(key), timeout=10)
    return [entry["id"] for entry in answer.json()["data"]]


def test_a_caller_without_a_key_has_nothing_asked() -> None:
    with SurveyedServer(chats(models=LIST)) as server, serving(behind(server, (key("alice"),))) as url:
        assert httpx.get(f"{url}/v1/models").status_code == 401
        assert httpx.get(f"{url}/v1/models", headers=bearer("wrong")).status_code == 401
        assert server.paths == []


def test_asking_the_upstream_counts_as_a_request_and_a_caller_at_its_limit_has_nothing_asked() -> None:
    keys = (key("alice", requests_per_minute=1), key("bob"))
    with SurveyedServer(chats(models=LIST), DONE) as server, serving(behind(server, keys)) as url:
        body = {"model": "seen", "input": "Hi"}
        assert httpx.post(f"{url}/v1/responses", json=body, headers=bearer("alice")).status_code == 200
        assert names(url, "alice") == []
        assert server.paths == ["/v1/chat/completions"]
        assert names(url, "bob") == ["seen"]
        assert names(url, "alice") == ["seen"]  # it is known by now
    with SurveyedServer(chats(models=LIST)) as server, serving(behind(server, keys)) as url:
        first = httpx.get(f"{url}/v1/models", headers=bearer("alice"))
        assert first.headers["x-ratelimit-remaining-requests"] == "0"
        assert httpx.post(f"{url}/v1/responses", json=body, headers=bearer("alice")).status_code == 429


@pytest.mark.parametrize(
    ("upstream", "has_list"),
    [
        (Upstream(via="demo"), False),
        (Upstream(provider="deepseek"), False),  # litellm finds its key by itself
        (Upstream(provider="deepseek", api_key=Secret("sk-1234")), True),
        (Upstream(provider="bedrock"), False),
        (Upstream(provider="ollama_chat", base_url="http://127.0.0.1:11434"), True),
        (Upstream(via="chat", provider="groq"), True),
        (Upstream(via="responses", base_url="http://127.0.0.1:9/v1"), True),
    ],
)
def test_an_upstream_can_be_asked_if_its_address_is_known(upstream: Upstream, has_list: bool) -> None:  # noqa: FBT001 — a column
    assert bool(lists_of(Settings(upstreams={"up": upstream}, models={"m": Model(upstream="up")}))) is has_list
