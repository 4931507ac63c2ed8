"""The Codex CLI stops and steers a running answer as its `app-server` lets an editor do."""

import asyncio
import json
from typing import Any

import pytest

from tests.clients.editor import editing
from tests.clients.tapped import tapped
from tests.support.codex import Codex
from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.program import serving
from tests.wire.script import opens, says, text_turn, thinks
from tests.wire.servers import ChatUpstream, Hang
from tests.wire.servers.steps import Ask

Json = dict[str, Any]


def script(ask: Ask) -> Any:
    """An answer without an end to what is long, and a short one to anything else."""
    last = json.dumps(next(entry["content"] for entry in reversed(ask.body["messages"]) if entry["role"] == "user"))
    return [opens(), thinks("hm"), says("Half a"), Hang()] if "long" in last else text_turn(f"Answer {len(last)}.")


def user(text: str) -> list[Json]:
    return [{"type": "text", "text": text}]


@pytest.mark.parametrize(
    ("websocket", "lite"), [(False, False), (True, False), (True, True)], ids=["HTTP", "websocket", "Responses Lite"]
)
async def test_codex_interrupts_and_steers(codex: Codex, *, websocket: bool, lite: bool) -> None:
    """It drops the request or closes the socket to stop an answer. With Responses Lite it interrupts to steer one."""
    with ChatUpstream(script) as upstream:
        settings = Settings(
            upstreams={"scripted": Upstream(via="chat", base_url=upstream.url)},
            models={"coder": Model(upstream="scripted", context_window=64_000)},
        )
        with serving(settings) as url, tapped(url) as tap:
            provider = "supports_websockets = true" if websocket else ""
            codex.set_up(tap.url, "coder", provider=provider, card={"use_responses_lite": lite})
            program = codex.modules / "@openai" / "codex" / "bin" / "codex.js"
            async with editing([str(program), "app-server"], codex.work, codex.environ) as editor:
                began = await editor.call("thread/start", model="coder", cwd=str(codex.work), approvalPolicy="never")
                thread = began["thread"]["id"]
                turn = await editor.call("turn/start", threadId=thread, input=user("a long answer"))
                await editor.until("item/agentMessage/delta")
                await editor.call("turn/interrupt", threadId=thread, turnId=turn["turn"]["id"])
                assert (await editor.until("turn/completed"))["turn"]["status"] == "interrupted"
                assert await asyncio.to_thread(upstream.asks[-1].wait_gone)
                await editor.call("turn/start", threadId=thread, input=user("short"))
                assert (await editor.until("turn/completed"))["turn"]["status"] == "completed"
                if lite or not websocket:
                    turn = await editor.call("turn/start", threadId=thread, input=user("a long answer again"))
                    await editor.until("item/agentMessage/delta")
                    expected, running = turn["turn"]["id"], upstream.asks[-1]
                    await editor.call("turn/steer", threadId=thread, expectedTurnId=expected, input=user("be brief"))
                    assert (await editor.until("turn/completed"))["turn"]["status"] == "completed"
                    assert await asyncio.to_thread(running.wait_gone)
                    assert "be brief" in json.dumps(upstream.asks[-1].body["messages"][-1])
    assert (tap.websockets > 0, tap.posted == []) == (websocket, websocket)
