"""A tool that the client demands, and what the log says where the model calls another one."""

from typing import Any

import httpx
import pytest

from app.settings import Model, Settings, Upstream
from tests.support.serving import serving
from tests.wire.script import call_turn
from tests.wire.servers import ChatUpstream

TOOLS: list[dict[str, Any]] = [{"type": "function", "name": name, "parameters": {}} for name in ("weather", "clock")]


def test_it_stands_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with ChatUpstream(call_turn("weather", "{}")) as upstream, caplog.at_level("INFO", "am_proxy.turn"):
        there = Upstream(via="chat", base_url=upstream.url)
        with serving(Settings(upstreams={"there": there}, models={"m": Model(upstream="there")})) as url:
            body = {"model": "m", "input": "Hi", "tools": TOOLS, "tool_choice": {"type": "function", "name": "clock"}}
            httpx.post(f"{url}/v1/responses", json=body, timeout=20)
    [line] = [record.__dict__["fields"] for record in caplog.records if record.name == "am_proxy.turn"]
    assert (line["ruled_out_calls"], line["demanded_call"]) == (["weather"], "missing")
