"""Sealed reasoning over HTTP: replicas, restarts, and what the settings make of it."""

from typing import Any

import httpx

from tests.wire.configuration import Model, Seal, Server, Settings, Upstream
from tests.wire.program import serving
from tests.wire.script import opens, says, stops, thinks
from tests.wire.servers import ChatUpstream

Json = dict[str, Any]

ASKING: Json = {"include": ["reasoning.encrypted_content"], "store": False}
THINK: Json = {"role": "user", "content": "Please think."}


def post(url: str, items: list[Json], **fields: Any) -> httpx.Response:
    """One turn of the demo."""
    return httpx.post(f"{url}/v1/responses", json={"model": "demo", "input": items, **fields}, timeout=30)


def thoughts(response: httpx.Response) -> list[Json]:
    """The reasoning items of an answer."""
    return [item for item in response.json()["output"] if item["type"] == "reasoning"]


def test_replicas_that_share_a_key_go_on_with_each_others_conversations() -> None:
    """One of them in the middle of a rotation. They would refuse where they had to warn."""
    strict = Server(strict=True)
    with (
        serving(Settings(seal=Seal(keys=["s" * 32]), server=strict)) as one,
        serving(Settings(seal=Seal(keys=["n" * 32, "s" * 32]), server=strict)) as rotated,
    ):
        output = post(one, [THINK], **ASKING).json()["output"]
        for url in (one, rotated):
            answer = post(url, [THINK, *output, THINK], **ASKING)
            assert (answer.status_code, answer.headers.get("x-am-warnings")) == (200, None)


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
