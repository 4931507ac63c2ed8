"""Prompts that grow or change from turn to turn, and servers that report what they read from a cache."""

from typing import Any, Final

import httpx
import pytest

from app.settings import Model, Server, Settings, Upstream
from tests.wire.script import counts, says, stops
from tests.wire.servers import ChatUpstream, ResponsesUpstream, Step

Json = dict[str, Any]
RULES: Final = "You are an agent. " * 100
TOOL: Final = {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}}
FIRST: Final[Json] = {"instructions": RULES, "tools": [TOOL], "input": [{"role": "user", "content": "Hi"}]}
SECOND: Final[Json] = FIRST | {
    "input": [*FIRST["input"], {"role": "assistant", "content": "Hi."}, {"role": "user", "content": "Go on."}]
}
NEW_RULES: Final = SECOND | {"instructions": RULES.replace("agent", "Agent", 1)}
WATCHING: Final = Server(watch=5)


def replies(cached: int = 0) -> list[Step]:
    return [says("Hi."), stops(), counts(1000, 5, cached=cached)]


def settings_of(upstream: ChatUpstream | ResponsesUpstream, server: Server = WATCHING, **more: Any) -> Settings:
    via: Any = "responses" if isinstance(upstream, ResponsesUpstream) else "chat"
    return Settings(
        server=server,
        upstreams={"up": Upstream(via=via, base_url=upstream.url)},
        models={"m": Model(upstream="up"), "other": Model(upstream="up")},
        **more,
    )


def post(url: str, body: Json, *, compared_with: Any = None, key: str = "", **fields: Any) -> httpx.Response:
    options = {} if compared_with is None else {"prompt_cache_options": {"comparison_response_id": compared_with}}
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return httpx.post(f"{url}/v1/responses", json={"model": "m", **body, **options, **fields}, headers=headers)


def lines(caplog: pytest.LogCaptureFixture) -> list[Json]:
    """The fields of the log lines of all turns."""
    return [record.fields for record in caplog.records if record.name == "am_proxy.turn"]  # type: ignore[attr-defined]
