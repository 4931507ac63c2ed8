"""Sealed reasoning over HTTP: replicas, restarts, and what the settings make of it."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from tests.wire.configuration import Key, Model, Seal, Server, Settings, Upstream
from tests.wire.program import serving
from tests.wire.script import opens, says, stops, thinks
from tests.wire.servers import ChatUpstream

Json = dict[str, Any]

ASKING: Json = {"include": ["reasoning.encrypted_content"], "store": False}
THINK: Json = {"role": "user", "content": "Please think."}
SHARED = Seal(keys=["s" * 32])


def post(url: str, items: list[Json], **fields: Any) -> httpx.Response:
    """One turn of the demo."""
    return httpx.post(f"{url}/v1/responses", json={"model": "demo", "input": items, **fields}, timeout=30)


def thoughts(response: httpx.Response) -> list[Json]:
    """The reasoning items of an answer."""
    return [item for item in response.json()["output"] if item["type"] == "reasoning"]


@pytest.fixture
def replicas() -> Iterator[dict[str, str]]:
    """Two that share a key, of which one is in the middle of a rotation, and one with a key of its own."""
    rotated = Seal(keys=["n" * 32, "s" * 32])
    settings = {
        "one": Settings(seal=SHARED, server=Server(strict=True)),
        "rotated": Settings(seal=rotated, server=Server(strict=True)),
        "stranger": Settings(),
    }
    with ExitStack() as stack:
        yield {name: stack.enter_context(serving(each)) for name, each in settings.items()}


def test_replicas_that_share_a_key_go_on_with_each_others_conversations(replicas: dict[str, str]) -> None:
    """They would refuse where they had to warn."""
    output = post(replicas["one"], [THINK], **ASKING).json()["output"]
    for name in ("one", "rotated"):
        answer = post(replicas[name], [THINK, *output, THINK], **ASKING)
        assert (answer.status_code, answer.headers.get("x-am-warnings")) == (200, None)


def test_a_stranger_goes_on_as_well_and_says_what_it_ignored(replicas: dict[str, str]) -> None:
    output = post(replicas["one"], [THINK], **ASKING).json()["output"]
    answer = post(replicas["stranger"], [THINK, *output, THINK])
    assert answer.status_code == 200
    [warning] = json.loads(answer.headers["x-am-warnings"])
    assert warning.startswith("input[1].encrypted_content was ignored: ")


def test_a_request_whose_seals_hold_too_much_is_a_400() -> None:
    """Of a long thought, brought back too often: 32 MiB may be opened for a request."""
    long = [opens(), thinks("hm " * 110_000), says("Yes."), stops()]
    with ChatUpstream(long) as chat:
        settings = Settings(
            upstreams={"chat": Upstream(via="chat", base_url=chat.url)}, models={"m": Model(upstream="chat")}
        )
        with serving(settings) as url:
            [thought, content] = post(url, [THINK], model="m", **ASKING).json()["output"]
            thought["summary"] = []
            answers = [post(url, [THINK, *[thought] * times, content, THINK], model="m") for times in (3, 110)]
    assert [answer.status_code for answer in answers] == [200, 400]
    error = answers[1].json()["error"]
    assert (error["code"], error["param"]) == ("invalid_value", "input[102].encrypted_content")
    assert len(chat.asks) == 2


def test_a_window_brought_back_many_times_is_opened_once() -> None:
    """Each holds two million characters; sixty of them are more than may be opened."""
    managed = {"context_management": [{"type": "compaction", "compact_threshold": 10}]}
    long = {"role": "user", "content": "a" * 2_000_000}
    with serving() as url:
        [item, _] = post(url, [THINK, {"role": "assistant", "content": "OK."}, long], **managed).json()["output"]
        answer = post(url, [*[item] * 60, THINK])
    assert (answer.status_code, answer.headers.get("x-am-warnings")) == (200, None)


ALICE = "alice-1"


def by(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def ask(url: str, key: str, items: list[Json], path: str = "/v1/responses", **fields: Any) -> httpx.Response:
    """A request with this key."""
    return httpx.post(f"{url}{path}", json={"model": "demo", "input": items, **fields}, headers=by(key), timeout=30)


def test_callers_who_come_with_a_key_of_the_upstream_share_nothing() -> None:
    """Nor do they with those who have a key of this server."""
    with ChatUpstream([opens(), thinks("hm"), says("Yes."), stops()]) as upstream:
        theirs = Upstream(via="chat", base_url=upstream.url, auth="passthrough")
        ours = Upstream(via="chat", base_url=upstream.url)
        models = {"demo": Model(upstream="theirs"), "ours": Model(upstream="ours")}
        upstreams = {"theirs": theirs, "ours": ours}
        with serving(
            Settings(seal=SHARED, keys=[Key(name="alice", value=ALICE)], upstreams=upstreams, models=models)
        ) as url:
            output = ask(url, "sk-stranger", [THINK], **ASKING).json()["output"]
            warned = {
                key: "x-am-warnings" in ask(url, key, [THINK, *output, THINK], model=model).headers
                for key, model in (("sk-stranger", "demo"), ("sk-another", "demo"), (ALICE, "ours"))
            }
    assert warned == {"sk-stranger": False, "sk-another": True, ALICE: True}
