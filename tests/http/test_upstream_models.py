"""GET /v1/models where a wildcard passes any name on: what the upstream lists, and who may have it asked."""

from contextlib import AbstractContextManager
from typing import Any

import httpx
import pytest

from tests.support.surveyed_server import Page, SurveyedServer, chats, listing
from tests.wire.configuration import Can, Key, Model, Settings, Table, Upstream
from tests.wire.program import serving
from tests.wire.script import counts, says, stops
from tests.wire.servers import Status

LIST = listing(
    {"id": "seen", "context_window": 8192},
    {"id": "org/model:7b", "max_model_len": 32_768, "capabilities": {"vision": False}},
    {"id": "own-name", "context_window": 16_384},
)
DONE = [says("Hi."), stops(), counts(1, 1)]


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def fresh(text: str) -> AbstractContextManager[str]:
    """A server of its own, because it remembers what is listed."""
    return serving(text, fresh=True)


def behind(surveyed: SurveyedServer, models: dict[str, Table] | None = None, **more: Any) -> str:
    upstream = Upstream(via="chat", base_url=surveyed.url, **more.pop("upstream", {}))
    return Settings(
        upstreams={"up": upstream, "demo": Upstream(via="demo"), **more.pop("upstreams", {})},
        models={**(models or {}), "*": Model(upstream="up")},
        **more,
    )


def catalogue(url: str, key: str = "") -> Any:
    """As Codex asks for it."""
    headers = bearer(key) if key else {}
    answer = httpx.get(f"{url}/v1/models", params={"client_version": "0.169.0"}, headers=headers, timeout=10)
    assert answer.status_code == 200, answer.text
    return answer.json()


def names(url: str, key: str = "") -> list[str]:
    body = catalogue(url, key)
    listed = [entry["id"] for entry in body["data"]]
    assert [entry["slug"] for entry in body["models"]] == listed
    return listed


def test_what_the_upstream_lists_comes_after_what_is_configured_and_no_name_twice() -> None:
    own = {"seen": Model(upstream="demo"), "mapped": Model(upstream="up", name="own-name")}
    with SurveyedServer(chats(models=LIST)) as server, fresh(behind(server, own)) as url:
        assert names(url) == ["seen", "mapped", "org/model:7b", "own-name"]
        one = httpx.get(f"{url}/v1/models/org/model:7b", timeout=50).json()
        assert (one["id"], one["object"], one["owned_by"]) == ("org/model:7b", "model", "am-proxy")
        assert server.paths == ["/v1/models"]


@pytest.mark.parametrize("via", ["responses", "litellm"])
def test_every_lane_has_its_upstream_asked(via: Any) -> None:
    with SurveyedServer(chats(models=LIST)) as server:
        settings = Settings(
            upstreams={"up": Upstream(via=via, base_url=server.url)}, models={"*": Model(upstream="up")}
        )
        with fresh(settings) as url:
            assert names(url) == ["seen", "org/model:7b", "own-name"]


def test_codex_is_told_what_the_upstream_says_unless_it_is_configured() -> None:
    own = {
        "seen": Model(upstream="up", context_window=4096),
        "mapped": Model(upstream="up", name="own-name"),
        "sees": Model(upstream="up", name="org/model:7b", can=Can(vision=True)),
        "elsewhere": Model(upstream="demo", name="own-name"),
    }
    with SurveyedServer(chats(models=LIST)) as server, fresh(behind(server, own)) as url:
        entries = catalogue(url)["models"]
    assert [(entry["slug"], entry.get("context_window"), entry.get("input_modalities")) for entry in entries] == [
        ("seen", 4096, None),
        ("mapped", 16_384, None),
        ("sees", 32_768, None),
        ("elsewhere", None, None),
        ("org/model:7b", 32_768, ["text"]),
        ("own-name", 16_384, None),
    ]


def test_a_window_configured_for_all_names_comes_first() -> None:
    with SurveyedServer(chats(models=LIST)) as server:
        settings = Settings(
            upstreams={"up": Upstream(via="chat", base_url=server.url)},
            models={"*": Model(upstream="up", context_window=2048)},
        )
        with fresh(settings) as url:
            entries = catalogue(url)["models"]
    assert {entry["context_window"] for entry in entries} == {2048}


def test_a_wildcard_that_leads_to_one_model_lists_nothing() -> None:
    with SurveyedServer(chats(models=LIST)) as server:
        upstreams = {"up": Upstream(via="chat", base_url=server.url)}
        with fresh(Settings(upstreams=upstreams, models={"*": Model(upstream="up", name="seen")})) as url:
            assert names(url) == []
        with fresh(Settings(upstreams=upstreams, models={"small": Model(upstream="up")})) as url:
            assert names(url) == ["small"]
        assert server.paths == []


@pytest.mark.parametrize(
    "page",
    [
        Status(500, b"<html>"),
        Status(302, headers={"location": "http://127.0.0.1:9/"}),
        listing("", " padded ", "with\nline", "x" * 257, "*"),
    ],
)
def test_what_is_configured_is_listed_whatever_the_upstream_does(page: Page) -> None:
    with SurveyedServer(chats(models=page)) as server:
        server.may_violate = True
        with fresh(behind(server, {"mine": Model(upstream="up")})) as url:
            assert [names(url), names(url)] == [["mine"], ["mine"]]
            assert len(server.paths) == 1


def key(name: str, **more: Any) -> Table:
    return Key(name=name, value=name, **more)


def test_a_key_for_some_models_sees_only_those() -> None:
    keys = [key("all"), key("some", models=["org/*", "seen"]), key("none", models=["other"])]
    with SurveyedServer(chats(models=LIST)) as server, fresh(behind(server, keys=keys)) as url:
        assert names(url, "all") == ["seen", "org/model:7b", "own-name"]
        assert names(url, "some") == ["seen", "org/model:7b"]
        assert names(url, "none") == []


def test_guests_see_nothing_of_an_upstream_with_a_key_of_ours() -> None:
    with SurveyedServer(chats(models=LIST)) as server, SurveyedServer(chats(models=LIST)) as other:
        settings = behind(
            server,
            {"for-guests": Model(upstream="open")},
            keys=[key("alice")],
            upstream={"api_key": "ours"},
            upstreams={"open": Upstream(via="chat", base_url=other.url, auth="passthrough")},
        )
        with fresh(settings) as url:
            assert names(url, "guest-key") == ["for-guests"]
            assert server.paths == other.paths == []
            assert "seen" in names(url, "alice")
            assert server.asks[0].headers["authorization"] == "Bearer ours"
