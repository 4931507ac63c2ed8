"""Conversations that are fitted to a model's window: how long a picture counts, and refusals that come as events."""

import json
import threading
from collections.abc import Callable
from typing import Any, Final

import httpx
import pytest

import app.dialects.responses.relay
import app.new_turns
from tests.support.serving import serving
from tests.support.summary_lanes import SUMMARY_LANES, SummaryLane
from tests.support.tool_rounds import TASK, THRESHOLD, TOOLS, rounds
from tests.wire.script import text_turn
from tests.wire.servers.functions_only import VllmResponses
from tests.wire.servers.responses import answer, begins, ends, message
from tests.wire.servers.small_window import SmallWindow
from tests.wire.servers.steps import Ask, Step

Json = dict[str, Any]

WINDOW: Final = 12_000
MANAGED: Final[Json] = {"context_management": [THRESHOLD]}


def answered(_number: int, _ask: Ask) -> list[Step]:
    return list(answer(message("msg_1", "Notes.")))


def as_events_behind_the_beginning(error: Json) -> list[Step]:
    """As OpenAI's API does it."""
    return [*begins(), {"type": "error", "error": error}, ends(status="failed", error=error)]


def test_a_server_that_refuses_in_an_event_is_asked_for_less() -> None:
    server = SmallWindow(WINDOW, answered, refusal=as_events_behind_the_beginning)
    items = [TASK, *rounds(8), {"role": "user", "content": "And now?"}]
    with VllmResponses(server) as upstream, serving(SUMMARY_LANES["functions"].settings(upstream.url, None)) as url:
        result = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": items, "tools": TOOLS, **MANAGED})
    assert (result.status_code, result.json()["status"]) == (200, "completed"), result.text
    assert server.refused
    assert SUMMARY_LANES["functions"].texts(server.taken[-1])[-1] == ("user", "And now?")


PICTURE = f"data:image/png;base64,{'iVBORw0KGgo' * 30_000}"


@pytest.mark.parametrize("lane", SUMMARY_LANES.values(), ids=SUMMARY_LANES)
@pytest.mark.parametrize(
    "item",
    [
        {"role": "user", "content": [{"type": "input_image", "image_url": PICTURE, "detail": "auto"}]},
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_image", "image_url": PICTURE}]},
    ],
    ids=["message", "output"],
)
def test_a_picture_is_not_as_long_as_its_bytes(lane: SummaryLane, item: Json) -> None:
    items = [TASK, *rounds(2, "short"), {"role": "user", "content": "Look."}, item, {"role": "user", "content": "So?"}]
    if item.get("type") is not None:
        items[-2:] = [{"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"}, item]
    with lane.server(lane.translated(text_turn("Yes."))) as upstream:
        with serving(lane.settings(upstream.url, WINDOW)) as url:
            body = {"model": "m", "input": items, "tools": TOOLS, **MANAGED}
            result = httpx.post(f"{url}/v1/responses", json=body, timeout=30)
        assert (result.status_code, len(upstream.asks)) == (200, 1)
        assert PICTURE[-1000:] in json.dumps(upstream.asks[0].body)
    assert [each["type"] for each in result.json()["output"]] == ["message"]
    assert "input_transformations" not in result.json()


def test_it_is_done_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others do not wait for it: the largest request takes seconds where its server tells nothing of its window."""
    seen: dict[str, set[str]] = {}

    def watched(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*args: Any, **kwargs: Any) -> Any:
            seen.setdefault(name, set()).add(threading.current_thread().name.rpartition("_")[0])
            return work(*args, **kwargs)

        return noted

    for module, name in (
        (app.dialects.responses.relay, "RelayTurn"),
        (app.new_turns, "PostedItems"),
        (app.dialects.responses.relay, "tokens_of"),
    ):
        monkeypatch.setattr(module, name, watched(name, getattr(module, name)))
    server = SmallWindow(60_000, answered)
    items = [TASK, *rounds(40), {"role": "user", "content": "And now?"}]
    with VllmResponses(server) as upstream, serving(SUMMARY_LANES["functions"].settings(upstream.url, None)) as url:
        result = httpx.post(f"{url}/v1/responses", json={"model": "m", "input": items, "tools": TOOLS, **MANAGED})
    assert (result.status_code, len(server.refused)) == (200, 1)
    assert seen == {name: {"am-proxy-long-work"} for name in ("RelayTurn", "PostedItems", "tokens_of")}
