"""Triggers and thresholds over a relay of functions, which is asked for a summary."""

import httpx

from app.compaction.summary_text import INTRODUCTION, SUM_UP
from app.settings import Model, Settings, Upstream
from tests.support.long_conversation import HISTORY, TRIGGER, Json, went_on
from tests.support.serving import serving
from tests.wire.servers import ResponsesUpstream
from tests.wire.servers.responses import answer, message


def test_a_relay_of_functions_sums_up_by_a_trigger_with_the_settings_of_the_client() -> None:
    form = {"type": "json_schema", "name": "n", "schema": {"type": "object"}}
    update = {"type": "configuration_update", "text": {"format": form}, "reasoning": {"effort": "low"}}
    settings: Json = {"instructions": "Be brief.", "temperature": 0.5, "service_tier": "flex"}
    left_out: Json = {"max_output_tokens": 9, "tool_choice": "required", "stream": False}
    tools = [{"type": "function", "name": "f", "description": "", "parameters": {"type": "object"}, "strict": False}]
    more = {"type": "additional_tools", "role": "developer", "tools": tools}
    body = {**settings, **left_out, "text": {"format": form, "verbosity": "low"}}
    with ResponsesUpstream(answer(message("msg_1", "1. Slate.")), answer(message("msg_2", "Yes."))) as upstream:
        lane = Upstream(via="responses", base_url=upstream.url, tools="functions")
        with serving(Settings(upstreams={"up": lane}, models={"m": Model(upstream="up")})) as url:
            items = [*HISTORY, update, more, TRIGGER]
            summed = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": items, **body})
            assert summed.status_code == 200
            response = summed.json()
            assert (response["status"], [item["type"] for item in response["output"]]) == ("completed", ["compaction"])
            assert response["usage"]["total_tokens"] == 12
            assert went_on(url, response["output"], "m").headers.get("x-am-warnings") is None
    summing, going_on = upstream.asks
    assert summing.body == {
        **settings,
        "model": "m",
        "input": [*HISTORY, {"type": "message", "role": "user", "content": SUM_UP}],
        "reasoning": {"effort": "low"},
        "store": False,
        "stream": True,
        "text": {"verbosity": "low"},
        "tools": tools,
        "tool_choice": "none",
    }
    assert [item["content"] for item in going_on.body["input"]] == [f"{INTRODUCTION}\n\n1. Slate.", "Go on."]


def test_a_relay_of_functions_keeps_what_is_done_here_and_says_what_has_no_effect() -> None:
    wanted = {"context_management": [{"type": "compaction"}], "truncation": "auto"}
    with ResponsesUpstream(answer(message("msg_1", "Yes."))) as upstream:
        lane = Upstream(via="responses", base_url=upstream.url, tools="functions")
        with serving(Settings(upstreams={"up": lane}, models={"m": Model(upstream="up")})) as url:
            result = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": HISTORY, **wanted})
    assert result.json()["truncation"] == "auto"
    assert "'context_management[0]' has no effect: it is no compaction with" in result.headers["x-am-warnings"]
    assert upstream.asks[0].body.keys().isdisjoint(wanted)
