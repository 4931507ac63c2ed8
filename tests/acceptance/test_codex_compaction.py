"""The Codex CLI with a provider that is named OpenAI: it lets the server sum its conversation up, and goes on."""

import json

import pytest

from app.compaction.summary_text import INTRODUCTION, SUM_UP
from tests.support.codex import Codex
from tests.support.serving import serving
from tests.support.summary_lanes import SUMMARY_LANES
from tests.wire.script import calls, counts, more, opens, stops, text_turn
from tests.wire.servers import Ask, Step
from tests.wire.servers.small_window import SmallWindow

pytestmark = pytest.mark.xdist_group("node")

SMALL = 16_000
DONE = "Done: naïve 😀."
HTTP = ""
SOCKET = "supports_websockets = true"
OPENAI = ("-c", 'model_providers.am.name="OpenAI"', "-c", "model_auto_compact_token_limit=20000")


@pytest.mark.parametrize(
    ("name", "provider", "window"),
    [("chat", SOCKET, 64_000), ("chat", HTTP, None), ("messages", HTTP, 64_000), ("functions", SOCKET, None)],
    ids=[
        "chat, websocket, window known",
        "chat, HTTP, window learnt",
        "messages, HTTP, window known",
        "functions, websocket, window learnt",
    ],
)
def test_a_conversation_that_is_longer_than_the_model_takes_is_summed_up_in_parts(
    codex: Codex, name: str, provider: str, window: int | None
) -> None:
    """The model gets a smaller window in the middle, as when it is replaced by another one: nothing more fits."""
    lane = SUMMARY_LANES[name]
    rounds = 8
    command = json.dumps({"cmd": "seq 1 1800"})

    def is_summing(ask: Ask) -> bool:
        return lane.texts(ask)[-1][1] == SUM_UP

    def answer(number: int, ask: Ask) -> list[Step]:
        if number < rounds:
            if number == rounds - 1:
                server.tokens = SMALL
            used = counts(50_000 if number == rounds - 1 else 500, 10)
            return [opens(), calls(0, "exec_command", id=f"call_{number}"), more(0, command), stops("tool_calls"), used]
        return list(text_turn(f"Notes {number}.") if is_summing(ask) else text_turn(DONE))

    server = SmallWindow(64_000, answer)
    with lane.serving(server) as upstream, serving(lane.settings(upstream.url, window)) as url:
        codex.set_up(url, "m", provider=provider)
        ran = codex.run("Do it", *OPENAI)
    assert (ran.code, ran.said, ran.errors) == (0, [DONE], [])
    assert server.refused
    assert any(map(is_summing, server.taken))
    assert lane.texts(server.taken[-1])[-1] == ("user", f"{INTRODUCTION}\n\nNotes {len(server.taken) - 2}.")
