"""The Codex CLI stops and steers a running answer as its `app-server` lets an editor do."""

import asyncio
import json
import logging
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from app.settings import Model, Settings, Upstream
from tests.support.codex import Codex
from tests.support.script import opens, says, text_turn, thinks
from tests.support.servers import ChatUpstream, Hang
from tests.support.servers.steps import Ask
from tests.support.serving import serving

pytestmark = pytest.mark.xdist_group("node")

Json = dict[str, Any]


def script(ask: Ask) -> Any:
    """An answer without an end to what is long, and a short one to anything else."""
    last = json.dumps(next(entry["content"] for entry in reversed(ask.body["messages"]) if entry["role"] == "user"))
    return [opens(), thinks("hm"), says("Half a"), Hang()] if "long" in last else text_turn(f"Answer {len(last)}.")


class Editor:
    """A client of `codex app-server`: JSON-RPC, one message a line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._calls = 0

    async def call(self, method: str, **params: Any) -> Json:
        """The result of a call. Notifications before it are skipped."""
        self._calls += 1
        await self._send({"id": self._calls, "method": method, "params": params})
        while (message := await self._receive()).get("id") != self._calls:
            pass
        assert "result" in message, message
        result: Json = message["result"]
        return result

    async def until(self, method: str) -> Json:
        """The parameters of the next notification of this kind."""
        while (message := await self._receive()).get("method") != method:
            pass
        params: Json = message["params"]
        return params

    async def _send(self, message: Json) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        await self._process.stdin.drain()

    async def _receive(self) -> Json:
        assert self._process.stdout is not None
        message: Json = json.loads(await asyncio.wait_for(self._process.stdout.readline(), 30))
        return message


@asynccontextmanager
async def editing(codex: Codex) -> AsyncIterator[tuple[Editor, str]]:
    """An editor with a conversation."""
    process = await asyncio.create_subprocess_exec(
        str(shutil.which("node")),
        str(codex.modules / "@openai" / "codex" / "bin" / "codex.js"),
        "app-server",
        cwd=codex.work,
        env=codex.environ,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=1 << 22,
    )
    try:
        editor = Editor(process)
        await editor.call("initialize", clientInfo={"name": "test", "version": "1"}, capabilities={})
        thread = await editor.call("thread/start", model="coder", cwd=str(codex.work), approvalPolicy="never")
        yield editor, thread["thread"]["id"]
    finally:
        process.terminate()
        await process.wait()


def user(text: str) -> list[Json]:
    return [{"type": "text", "text": text}]


@pytest.mark.parametrize(
    ("websocket", "lite"), [(False, False), (True, False), (True, True)], ids=["HTTP", "websocket", "Responses Lite"]
)
async def test_codex_interrupts_and_steers(
    codex: Codex, caplog: pytest.LogCaptureFixture, *, websocket: bool, lite: bool
) -> None:
    """It drops the request or closes the socket to stop an answer. With Responses Lite it interrupts to steer one."""
    with caplog.at_level(logging.INFO, "am_proxy.turn"), ChatUpstream(script) as upstream:
        settings = Settings(
            upstreams={"scripted": Upstream(via="chat", base_url=upstream.url)},
            models={"coder": Model(upstream="scripted", context_window=64_000, use_responses_lite=lite)},
        )
        with serving(settings) as url:
            codex.set_up(url, "coder", provider="supports_websockets = true" if websocket else "")
            async with editing(codex) as (editor, thread):
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
                    expected = turn["turn"]["id"]
                    await editor.call("turn/steer", threadId=thread, expectedTurnId=expected, input=user("be brief"))
                    assert (await editor.until("turn/completed"))["turn"]["status"] == "completed"
                    assert "be brief" in json.dumps(upstream.asks[-1].body["messages"][-1])
    lines = [record.__dict__["fields"] for record in caplog.records if record.name == "am_proxy.turn"]
    assert {line.get("websocket", False) for line in lines} == {websocket}
    ends = [(line["finish"], line.get("reason")) for line in lines]
    assert ("disconnected", None) in ends
    assert (("incomplete", "interrupted") in ends) is lite
