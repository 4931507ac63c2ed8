"""POST /v1/responses/compact and triggers over a relay: its upstream sums up, or is asked for a summary."""

import httpx
import pytest

from tests.http.transports.one_model import one_model
from tests.support.long_conversation import (
    HISTORY,
    SUMMARY_FOLLOWS,
    SUMMARY_WANTED,
    TRIGGER,
    Json,
    compact,
    went_on,
)
from tests.wire.configuration import Model, Seal, Settings, Upstream
from tests.wire.program import serving
from tests.wire.servers import Ask, ResponsesUpstream, Script, Status
from tests.wire.servers.responses import ScriptedItem, answer, message

THEIRS: Json = {
    "id": "resp_c1",
    "object": "response.compaction",
    "created_at": 1_700_000_000,
    "output": [
        {"id": "msg_1", "type": "message", "role": "user", "status": "completed", "content": []},
        {"id": "cmp_1", "type": "compaction", "encrypted_content": "gAAA"},
    ],
    "usage": {
        "input_tokens": 7,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 12,
    },
}


class CompactingUpstream(ResponsesUpstream):
    """A server that sums up by itself, and takes nothing there but what belongs to it."""

    def faults(self, ask: Ask) -> list[str]:
        """OpenAI refuses what it does not know."""
        if ask.path != "/v1/responses/compact":
            return super().faults(ask)
        return [f"unknown parameter {key}" for key in ask.body.keys() - {"model", "input", "instructions"}]


def test_a_relay_lets_its_upstream_sum_up_and_brings_it_what_it_sealed() -> None:
    scripts = [Status(200, THEIRS)], answer(message("msg_2", "Yes."))
    with CompactingUpstream(*scripts) as upstream, serving(one_model(upstream)) as url:
        summary = compact(url, model="m", instructions="Be brief.")
        assert summary.status_code == 200
        output = summary.json()["output"]
        assert [item["id"] for item in output] == ["msg_AM-1", "cmp_AM-1"]
        assert went_on(url, output, "m").status_code == 200
    first, second = upstream.asks
    assert first.body == {"model": "m", "instructions": "Be brief.", "input": HISTORY}
    assert second.body["input"][:2] == THEIRS["output"]
    assert summary.json() | {"output": []} == THEIRS | {"id": "resp_AM-c1", "output": []}


@pytest.mark.parametrize("status", [404, 405])
def test_a_relay_asks_for_a_summary_where_its_upstream_cannot_sum_up(status: int) -> None:
    scripts = (
        [Status(status, {"detail": "x"})],
        answer(message("msg_1", "1. Sla", "te.")),
        answer(message("msg_2", "Yes")),
    )
    with CompactingUpstream(*scripts) as upstream, serving(one_model(upstream)) as url:
        summary = compact(url, model="m").json()
        assert [item["type"] for item in summary["output"]] == ["message", "message", "compaction"]
        assert summary["usage"]["total_tokens"] == 12
        assert went_on(url, summary["output"], "m").status_code == 200
    _, summing, going_on = upstream.asks
    *history, wanted = summing.body["input"]
    assert (history, wanted["role"], SUMMARY_WANTED in wanted["content"]) == (HISTORY, "user", True)
    assert (summing.body["store"], summing.body["stream"]) == (False, True)
    told, following = [item["content"] for item in going_on.body["input"]][2:]
    assert (SUMMARY_FOLLOWS in told, told.endswith("\n\n1. Slate."), following) == (True, True, "Go on.")


@pytest.mark.parametrize(
    ("scripts", "status"),
    [
        ([[Status(401, {"error": {"message": "sk-secret0123456789"}})]], 502),
        ([[Status(429, {"error": {"message": "x"}}, {"retry-after": "9"})]], 429),
        ([[Status(404, {})], [Status(500, {})]], 502),
        ([[Status(200, b"no")]], 502),
    ],
)
def test_what_a_relays_upstream_refuses_is_reported(scripts: list[Script], status: int) -> None:
    with CompactingUpstream(*scripts) as upstream, serving(one_model(upstream)) as url:
        summary = compact(url, model="m")
    assert summary.status_code == status
    assert "sk-secret0123456789" not in summary.text


def test_a_relay_that_may_seal_nothing_says_so_where_its_upstream_cannot_sum_up() -> None:
    with CompactingUpstream([Status(404, {})]) as upstream:
        lane = Upstream(via="responses", base_url=upstream.url)
        settings = Settings(upstreams={"up": lane}, models={"m": Model(upstream="up")}, seal=Seal(when="never"))
        with serving(settings) as url:
            refused = compact(url, model="m")
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "unsupported_parameter")
    assert len(upstream.asks) == 1


def test_a_relay_carries_a_trigger_and_a_threshold_as_they_are() -> None:
    item = {"id": "cmp_1", "type": "compaction", "encrypted_content": "gAAA"}
    wanted = [{"type": "compaction", "compact_threshold": 1_000}]
    with ResponsesUpstream(answer(message("msg_1", "Yes."))) as upstream, serving(one_model(upstream)) as url:
        body = {"model": "m", "input": [*HISTORY, item, TRIGGER], "context_management": wanted}
        assert httpx.post(f"{url}/v1/responses", json=body).status_code == 200
    assert upstream.asks[0].body["context_management"] == wanted
    assert upstream.asks[0].body["input"] == [*HISTORY, item, TRIGGER]


@pytest.mark.parametrize("sealed", ["gAAA", "AM2.of another AM Proxy"])
def test_a_summary_that_an_upstream_sealed_goes_back_to_it_alone(sealed: str) -> None:
    """Another one would refuse the request for it."""
    made = {"type": "compaction", "id": "cmp_1", "encrypted_content": sealed}
    item = ScriptedItem([], made, made)
    with (
        ResponsesUpstream(answer(item), answer(message("msg_1", "Yes."))) as one,
        ResponsesUpstream(answer(message("msg_2", "No."))) as other,
    ):
        settings = Settings(
            upstreams={
                "a": Upstream(via="responses", base_url=one.url),
                "b": Upstream(via="responses", base_url=other.url),
            },
            models={"one": Model(upstream="a"), "other": Model(upstream="b")},
        )
        with serving(settings) as url:
            first = httpx.post(f"{url}/v1/responses", json={"model": "one", "input": [*HISTORY, TRIGGER]})
            output = first.json()["output"]
            assert [item["type"] for item in output] == ["compaction"]
            assert went_on(url, output, "one").headers.get("x-am-warnings") is None
            assert (
                "input[0] was left out: only the server that" in went_on(url, output, "other").headers["x-am-warnings"]
            )
    assert one.asks[1].body["input"][0] == made
    assert "compaction" not in [item.get("type") for item in other.asks[0].body["input"]]
