"""A client of `codex app-server`, which is what an editor runs: JSON-RPC, one message a line."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

Json = dict[str, Any]


class Editor:
    """The client."""

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
async def editing(command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> AsyncIterator[Editor]:
    """A client of the server that this command starts."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env=environ,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=1 << 22,
    )
    try:
        editor = Editor(process)
        await editor.call("initialize", clientInfo={"name": "test", "version": "1"}, capabilities={})
        yield editor
    finally:
        process.terminate()
        await process.wait()
