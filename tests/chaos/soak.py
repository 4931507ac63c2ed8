"""`make soak`: hundreds of streams at once, with faults on both sides, for minutes. Writes docs/reliability.md.

    python -m tests.chaos.soak --minutes 10 --streams 200

Every stream follows a plan that is known here. One that completes must hold exactly what its upstream said; one that
fails must have failed for its plan's reason, and hold a beginning of it. The server is the real command, in a process
of its own, whose memory and descriptors are watched.
"""

import argparse
import asyncio
import json
import os
import platform
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import aiohttp

from tests.chaos.scenarios import (
    FAULTS,
    HARMLESS,
    Scenario,
    chat_script,
    join_surrogates,
    responses_script,
    scenario_of,
)
from tests.support.grammar import check
from tests.support.running import ROOT, running
from tests.support.servers import ChatUpstream, ResponsesUpstream

REPORT: Final = ROOT / "docs" / "reliability.md"
LANES: Final = ("chat", "litellm", "responses")
SETTLED: Final = 0.25
"""Of the time: what the server takes until then it may keep."""
MEGABYTE: Final = 1024 * 1024
GROWTH: Final = 24 * MEGABYTE
MORE_DESCRIPTORS: Final = 8
CONFIG: Final = """
[server]
max_turns = 5000

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

[models]
chat = {{ upstream = "chat" }}
litellm = {{ upstream = "litellm" }}
responses = {{ upstream = "responses" }}
"""


@dataclass
class Tally:
    """What was seen."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By lane, and by how a stream ended."""
    wrong: list[str] = field(default_factory=list)
    most_at_once: int = 0
    at_once: int = 0
    deltas: int = 0
    samples: list[tuple[float, int, int]] = field(default_factory=list)
    """Seconds, bytes of memory, descriptors."""


async def one_stream(session: aiohttp.ClientSession, url: str, lane: str, scenario: Scenario, tally: Tally) -> None:
    """One client, from its request to the end of the stream, or until it has had enough."""
    body = {"model": lane, "input": str(scenario.number), "stream": True, "store": False}
    events: list[dict[str, Any]] = []
    outcome = "lost"
    try:
        async with session.post(f"{url}/responses", json=body) as response:
            if response.status != 200:
                outcome = f"HTTP {response.status}"
                check_refusal(scenario, await response.json())
                return
            buffer = b""
            async for data in response.content.iter_any():
                *frames, buffer = (buffer + data).split(b"\n\n")
                events += [json.loads(frame.partition(b"\ndata: ")[2]) for frame in frames if b"\ndata: {" in frame]
                if scenario.patience is not None and len(events) > scenario.patience:
                    outcome = "hung up"
                    return
        outcome = check_stream(scenario, events)
        tally.deltas += len(events)
    except (AssertionError, aiohttp.ClientError, OSError, ValueError, TimeoutError) as error:
        tally.wrong.append(f"`{lane}`, scenario {scenario.number} ({scenario.fault}): {type(error).__name__}: {error}")
    finally:
        tally.outcomes[lane, outcome] += 1


def check_refusal(scenario: Scenario, value: Any) -> None:
    """Only what was to be refused is, in OpenAI's shape."""
    assert value["error"].keys() == {"message", "type", "param", "code"}, value
    assert scenario.fault in {"refused", "busy", "dies"}, f"refused without a reason: {value}"


def check_stream(scenario: Scenario, events: list[dict[str, Any]]) -> str:
    """The outcome, if it is one that the plan has."""
    check(events)
    last = events[-1]
    text = join_surrogates("".join(event["delta"] for event in events if event["type"] == "response.output_text.delta"))
    if last["type"] == "response.completed":
        assert scenario.fault in HARMLESS, "completed although it was cut"
        assert text == scenario.text, "not what was said"
        assert last["response"]["output"][0]["content"][0]["text"] == scenario.text, "not what was said, in the end"
        return "completed"
    assert last["type"] == "response.failed", last["type"]
    assert scenario.fault not in HARMLESS - {"busy"}, f"failed without a reason: {last['response']['error']}"
    assert scenario.text.startswith(text), "not the beginning of what was said"
    return "failed"


async def client(
    url: str, index: int, deadline: float, session: aiohttp.ClientSession, tally: Tally, seats: int
) -> None:
    """One stream after the other, until it is time."""
    number = index
    while time.monotonic() < deadline:
        tally.at_once += 1
        tally.most_at_once = max(tally.most_at_once, tally.at_once)
        await one_stream(session, url, LANES[number % len(LANES)], scenario_of(number), tally)
        tally.at_once -= 1
        number += seats


async def watch(pid: int, began: float, tally: Tally) -> None:
    """Look at the server every few seconds."""
    while True:
        tally.samples.append((time.monotonic() - began, *taken_by(pid)))
        await asyncio.sleep(2)


def taken_by(pid: int) -> tuple[int, int]:
    """Memory and descriptors of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE"), len(list(Path(f"/proc/{pid}/fd").iterdir()))


async def soak(url: str, pid: int, minutes: float, streams: int) -> Tally:
    """The whole run, and what is left when every stream has ended."""
    tally = Tally()
    began = time.monotonic()
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=120)) as session:
        watching = asyncio.create_task(watch(pid, began, tally))
        deadline = began + minutes * 60
        await asyncio.gather(*(client(url, index, deadline, session, tally, streams) for index in range(streams)))
        watching.cancel()
    return tally


def verdict(tally: Tally) -> list[str]:
    """What is wrong with it."""
    settled = [sample for sample in tally.samples if sample[0] >= tally.samples[-1][0] * SETTLED][:3]
    grown = tally.samples[-2][1] - min(sample[1] for sample in settled)
    more = tally.samples[-1][2] - tally.samples[0][2]
    found = tally.wrong[:20]
    if grown > GROWTH:
        found.append(f"memory grew by {grown / MEGABYTE:.0f} MB after it had settled")
    if more > MORE_DESCRIPTORS:
        found.append(f"{more} descriptors are left open")
    return found


def report(tally: Tally, minutes: float, streams: int, found: list[str]) -> str:
    """The page."""
    kinds = sorted({outcome for _, outcome in tally.outcomes})
    rows = [f"| `{lane}` | " + " | ".join(str(tally.outcomes[lane, kind]) for kind in kinds) + " |" for lane in LANES]
    every = max(len(tally.samples) // 10, 1)
    shown = [*tally.samples[:-1:every], tally.samples[-1]]
    samples = [f"| {seconds:.0f} | {memory / MEGABYTE:.0f} | {files} |" for seconds, memory, files in shown]
    faults = ", ".join(f"{fault} {share} %" for fault, share in FAULTS.items())
    lines = [
        "# Reliability",
        "",
        "<!-- Written by `make soak`. Do not edit. -->",
        "",
        f"The last run: {minutes:g} minutes, {streams} clients at once, {sum(tally.outcomes.values())} streams",
        f"({tally.deltas} events in streams read to the end), on {time.strftime('%Y-%m-%d', time.gmtime())},",
        f"CPython {platform.python_version()} on {platform.system()}, {os.cpu_count()} cores.",
        "The server is the real command in its own process; upstreams and clients share another process, on loopback.",
        "",
        f"The upstreams' faults, chosen at random: {faults}. One client in ten hangs up after a few events.",
        "A stream that completes must contain exactly what its upstream sent. A stream that fails must have had",
        "a fault, and contain the beginning of that text. The events of every stream must be in a valid order.",
        "",
        f"**{'Nothing was lost, and no resources are left over.' if not found else 'The run failed.'}**",
        *[f"- {one}" for one in found],
        "",
        "| `via` | " + " | ".join(kinds) + " |",
        "| --- |" + " --- |" * len(kinds),
        *rows,
        "",
        "The server's memory and file descriptors. The last row is measured after all streams and upstreams end.",
        "",
        "| seconds | MB | descriptors |",
        "| --- | --- | --- |",
        *samples,
        "",
        "The tests in `tests/chaos/` cover single faults, in every run of the test suite.",
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    """Run it, write the page; 1 if anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--to", type=Path, default=REPORT, help="where the page goes")
    arguments = parser.parse_args()
    seen: dict[str, set[int]] = {"chat": set(), "responses": set()}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        chat = stack.enter_context(ChatUpstream(partial(chat_script, seen=seen["chat"])))
        responses = stack.enter_context(ResponsesUpstream(partial(responses_script, seen=seen["responses"])))
        (Path(folder) / "config.toml").write_text(CONFIG.format(chat=chat.url, responses=responses.url))
        with running(folder=Path(folder)) as server:
            pid = server.process.pid
            tally = asyncio.run(soak(server.url, pid, arguments.minutes, arguments.streams))
            stack.close()  # with the upstreams go the connections that are kept to them
            time.sleep(2)
            tally.samples.append((tally.samples[-1][0] + 2, *taken_by(pid)))
            code = server.stop()
    found = verdict(tally)
    if code:
        found.append(f"the server ended with {code}")
    arguments.to.write_text(report(tally, arguments.minutes, arguments.streams, found))
    sys.stdout.write(arguments.to.read_text())
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
