"""The worked example of docs/scaling.md, computed from the figures of docs/performance.md."""

from math import ceil
from typing import Final

from tests.docs.measured import table_of

AGENTS: Final = 10_000
STREAMING: Final = 20
"""Seconds of a turn in which an agent's answer is streamed."""
WORKING: Final = 10
"""Seconds after it in which the agent runs its tools."""
PACE: Final = 25
"""Chunks in a second of a stream."""
LOAD: Final = 0.6
"""Of a core: what it may be busy in the mean, so that it copes with more for a while."""
LANES: Final = {"chat": "chat", "messages": "messages", "relay": "responses", "litellm": "litellm"}
"""The name of a row of docs/performance.md, and the value of `via`."""
PER_CHUNK, PER_REQUEST, PER_STREAM = "µs CPU per chunk", "ms CPU per request", "kB per stream"


def example() -> str:
    """The paragraphs and tables between the marks of the page."""
    streams = round(AGENTS * STREAMING / (STREAMING + WORKING))
    turns = AGENTS / (STREAMING + WORKING)
    chunks = streams * PACE
    head = (
        "| `via` | CPU of chunks, cores | of requests, cores | together | processes at "
        f"{LOAD:.0%} | agents for each process | memory, GB |"
    )
    rows = [_row(name, via, streams, turns, chunks) for name, via in LANES.items()]
    about = (
        f"{AGENTS:,} agents, each of which streams an answer for {STREAMING} seconds and then runs its tools for "
        f"{WORKING}, have {streams:,} streams open at any time, and begin {turns:.0f} turns a second. At "
        f"{PACE} chunks a second in each stream that is {chunks:,} chunks a second. A request is as large as one "
        "of Codex (60 kB)."
    )
    table = "\n".join([head, "| --- " * 7 + "|", *rows])
    return "\n\n".join([about, table, _connections(streams), *_balancers(streams, turns, chunks)])


def _row(name: str, via: str, streams: int, turns: float, chunks: int) -> str:
    program = f"AM Proxy, {name}"
    for_chunks = chunks * float(table_of("many, paced")[program][PER_CHUNK]) / 1e6
    for_turns = turns * float(table_of("codex: 60 kB")[program][PER_REQUEST]) / 1e3
    processes = ceil((for_chunks + for_turns) / LOAD)
    at_rest = float(table_of("start:")[program]["MB at rest"])
    memory = processes * at_rest / 1e3 + streams * float(table_of("waiting:")[program][PER_STREAM]) / 1e6
    return (
        f"| `{via}` | {for_chunks:.1f} | {for_turns:.1f} | {for_chunks + for_turns:.1f} | {processes} | "
        f"{AGENTS // processes:,} | {memory:.1f} |"
    )


def _connections(streams: int) -> str:
    return (
        f"**Connections:** {AGENTS:,} from agents to the load balancers, which agents keep open while they run their "
        f"tools; {streams:,} from there to AM Proxy, and {streams:,} from AM Proxy to its upstreams. With the "
        "processes of the table that is fewer for each than `max_turns` and `max_connections` allow by default."
    )


def _balancers(streams: int, turns: float, chunks: int) -> list[str]:
    lines = []
    measured = [name for name in ("HAProxy", "nginx") if name in table_of("codex: 60 kB")]
    for name in measured:
        cores = chunks * float(table_of("many, paced")[name][PER_CHUNK]) / 1e6
        cores += turns * float(table_of("codex: 60 kB")[name][PER_REQUEST]) / 1e3
        memory = AGENTS * float(table_of("waiting:")[name][PER_STREAM]) / 1e3
        lines.append(
            f"- {name} needs {cores:.1f} cores without TLS, and about {memory:,.0f} MB for {AGENTS:,} connections. "
            f"Set its limit of connections to at least {AGENTS + streams:,} (both sides)."
        )
    lines.append("- Have two, each of which can carry all, so that one may fail.")
    return ["**Load balancers:**", "\n".join(lines)]
