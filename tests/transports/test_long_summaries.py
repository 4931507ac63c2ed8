"""A summary that is longer than the model can read is cut, so that the conversation goes on."""

import json
from typing import Any

import httpx
import pytest

from tests.support.serving import serving
from tests.support.summary_lanes import SUMMARY_LANES
from tests.wire.script import text_turn
from tests.wire.servers.small_window import SmallWindow
from tests.wire.servers.steps import Ask, Step

Json = dict[str, Any]

WINDOW = 12_000
LONG = "The first word. " + "Notes. " * 20_000 + "The last word."
HISTORY: list[Json] = [{"role": "user", "content": "Go."}, {"role": "assistant", "content": "text " * 6_000}]
ASKED: Json = {"input": [*HISTORY, {"type": "compaction_trigger"}]}
MANAGED: Json = {
    "input": [*HISTORY, {"role": "user", "content": "And now?"}],
    "context_management": [{"type": "compaction", "compact_threshold": 5_000}],
}


def long_notes(_number: int, ask: Ask) -> list[Step]:
    return list(text_turn(LONG if "text text" in str(ask.body) else "Yes."))


@pytest.mark.parametrize("fields", [ASKED, MANAGED], ids=["asked for", "over the threshold"])
@pytest.mark.parametrize("name", SUMMARY_LANES)
def test_a_long_summary_is_cut_with_a_warning(name: str, fields: Json) -> None:
    lane = SUMMARY_LANES[name]
    server = SmallWindow(WINDOW, long_notes)
    with lane.serving(server) as upstream, serving(lane.settings(upstream.url, WINDOW)) as url:
        answer = httpx.post(f"{url}/v1/responses", json={"model": "m", **fields}, timeout=30)
        assert answer.status_code == 200, answer.text
        assert "The summary was cut" in json.loads(answer.headers["x-am-warnings"])[-1]
        items = [*answer.json()["output"], {"role": "user", "content": "Why?"}]
        assert items[0]["type"] == "compaction"
        following = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": items}, timeout=30)
    assert following.status_code == 200, following.text
    summary = next(text for _, text in lane.texts(server.taken[-1]) if "Notes." in text)
    assert "The first word." in summary
    assert summary.endswith("The last word.")
