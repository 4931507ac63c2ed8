"""`make soak`: hundreds of streams at once, with faults on all sides, for minutes. Writes docs/reliability.md.

    python -m tests.chaos.soak --minutes 10 --streams 200 --workers 2

Every stream follows a plan that is known here. One that completes must hold exactly what its upstream said; one that
fails must have failed for its plan's reason, and hold a beginning of it. Workers of the server are killed
meanwhile. The server is the real command, whose memory and descriptors are watched.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

import aiohttp
import httpx

from tests.chaos.scenarios import chat_script, messages_script, responses_script
from tests.chaos.soak_clients import KEY, Client, Tally
from tests.chaos.soak_harm import children, kill_workers, taken_by, watch
from tests.chaos.soak_report import Plan, report, verdict
from tests.support.running import ROOT, Running, running
from tests.wire.servers import ChatUpstream, ResponsesUpstream
from tests.wire.servers.anthropic import AnthropicUpstream

REPORT: Final = ROOT / "docs" / "reliability.md"
CONFIG: Final = """
[server]
max_turns = 5000
workers = {workers}
metrics = "open"

[[keys]]
name = "soak"
value = "{key}"
concurrency = 4000
requests_per_minute = 1_000_000

[upstreams.chat]
via = "chat"
base_url = "{chat}"
breaker_failures = 0

[upstreams.litellm]
base_url = "{chat}"
breaker_failures = 0

[upstreams.responses]
via = "responses"
base_url = "{responses}"
breaker_failures = 0

[upstreams.messages]
via = "messages"
base_url = "{messages}"
api_key = "sk-ant-scripted"
breaker_failures = 0

[models]
chat = {{ upstream = "chat" }}
litellm = {{ upstream = "litellm" }}
responses = {{ upstream = "responses" }}
messages = {{ upstream = "messages" }}
"""


async def soak(server: Running, plan: Plan) -> Tally:
    """The whole run."""
    tally = Tally()
    pid = server.process.pid
    began = time.monotonic()
    deadline = began + plan.minutes * 60
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=120)) as session:
        beside = [asyncio.create_task(watch(pid, began, tally))]
        if children(pid):
            beside.append(asyncio.create_task(kill_workers(pid, plan.minutes * 60 / 10, tally)))
        client = Client(server.url, session, tally)
        await asyncio.gather(*(client.run(number, plan.streams, deadline) for number in range(plan.streams)))
        for task in beside:
            task.cancel()
        ends = await asyncio.gather(*beside, return_exceptions=True)
    tally.wrong += [f"a task of the soak failed: {end!r}" for end in ends if isinstance(end, Exception)]
    return tally


def still_running(url: str) -> str:
    """What the metrics say about turns that run, when none should."""
    lines = httpx.get(f"{url.removesuffix('/v1')}/metrics", timeout=10).text.splitlines()
    return next(line for line in lines if line.startswith("am_proxy_turns_in_flight "))


def run(plan: Plan, folder: Path) -> tuple[Tally, list[str]]:
    """Starts all, and says what is wrong in the end."""
    seen: dict[str, set[int]] = {"chat": set(), "responses": set(), "messages": set()}
    with ExitStack() as stack:
        chat = stack.enter_context(ChatUpstream(partial(chat_script, seen=seen["chat"])))
        responses = stack.enter_context(ResponsesUpstream(partial(responses_script, seen=seen["responses"])))
        messages = stack.enter_context(AnthropicUpstream(partial(messages_script, seen=seen["messages"])))
        addresses = {"chat": chat.url, "responses": responses.url, "messages": messages.url}
        (folder / "config.toml").write_text(CONFIG.format(workers=plan.workers, key=KEY, **addresses))
        with running(folder=folder) as server:
            tally = asyncio.run(soak(server, plan))
            stack.close()  # with the upstreams go the connections that are kept to them
            time.sleep(3)
            tally.samples.append((tally.samples[-1][0] + 3, *taken_by(server.process.pid)))
            left = still_running(server.url)
            code = server.stop()
    found = verdict(tally)
    if left.partition(" ")[2] not in {"0", "0.0"}:
        found.append(f"turns are counted that do not run: {left}")
    if code:
        found.append(f"the server ended with {code}")
    return tally, found


def main() -> int:
    """Runs it, and writes the page; 1 if anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--to", type=Path, default=REPORT, help="where the page goes")
    arguments = parser.parse_args()
    plan = Plan(arguments.minutes, arguments.streams, arguments.workers)
    with tempfile.TemporaryDirectory() as folder:
        tally, found = run(plan, Path(folder))
    arguments.to.write_text(report(tally, plan, found))
    sys.stdout.write(arguments.to.read_text())
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
