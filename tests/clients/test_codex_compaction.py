"""The Codex CLI with a provider that is named OpenAI: it lets the server sum its conversation up, and goes on."""

import json

import pytest

from tests.support.codex import Codex
from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.program import serving
from tests.wire.script import calls, counts, more, opens, stops, text_turn
from tests.wire.servers import Ask, ChatUpstream, Step
from tests.wire.servers.small_window import SmallWindow

SMALL = 16_000
DONE = "Done: naïve 😀."
COMMAND = json.dumps({"cmd": "echo one"})
SUMMARY = text_turn("1. The user wants", " it done.")
OPENAI = ("-c", 'model_providers.am.name="OpenAI"', "-c", "model_auto_compact_token_limit=20000")


def before(upstream: ChatUpstream) -> str:
    """A server whose model is `m`."""
    there = Upstream(via="chat", base_url=upstream.url)
    return Settings(upstreams={"u": there}, models={"m": Model(upstream="u", name="demo", context_window=64_000)})


def texts(ask: Ask) -> list[tuple[str, str]]:
    """Role and text of each message."""
    return [(message["role"], str(message.get("content") or "")) for message in ask.body["messages"]]


@pytest.mark.parametrize("provider", ["", "supports_websockets = true"], ids=["HTTP", "websocket"])
def test_a_conversation_that_has_grown_long_is_summed_up_in_the_middle_of_a_tool_loop(
    codex: Codex, provider: str
) -> None:
    long = [opens(), calls(0, "exec_command", id="call_a"), more(0, COMMAND), stops("tool_calls"), counts(50_000, 10)]
    with ChatUpstream(long, SUMMARY, text_turn(DONE)) as upstream, serving(before(upstream)) as url:
        codex.set_up(url, "m", provider=provider)
        ran = codex.run("Do it", *OPENAI)
    assert (ran.code, ran.said, ran.errors) == (0, [DONE], [])
    _, summing, going_on = map(texts, upstream.asks)
    (given, output), (asking, _) = summing[-2:]
    assert (given, "one\n" in output, asking) == ("tool", True, "user")
    assert (going_on[-1][0], going_on[-1][1].endswith("\n\n1. The user wants it done.")) == ("user", True)
    assert [text for _, text in going_on if text == "Do it"] == ["Do it"]


def test_a_summary_that_codex_asks_for_itself_is_shortened_by_it(codex: Codex) -> None:
    """Its provider has another name. It is told in its words that the conversation is too long, and sends less."""
    rounds = 6
    command = json.dumps({"cmd": "seq 1 1800"})

    def answer(number: int, _ask: Ask) -> list[Step]:
        if number >= rounds:
            return list(text_turn(f"Notes {number}." if number == rounds else DONE))
        if number == rounds - 1:
            server.tokens = SMALL
        used = counts(50_000 if number == rounds - 1 else 500, 10)
        return [opens(), calls(0, "exec_command", id=f"call_{number}"), more(0, command), stops("tool_calls"), used]

    server = SmallWindow(64_000, answer)
    with ChatUpstream(server) as upstream, serving(before(upstream)) as url:
        codex.set_up(url, "m")
        ran = codex.run("Do it", "-c", "model_auto_compact_token_limit=20000")
    assert (ran.code, ran.said, ran.errors) == (0, [DONE], [])
    assert server.refused
    assert f"Notes {rounds}." in texts(server.taken[-1])[-1][1]
