"""How the cost of a request grows: its CPU time, its memory, and how long other requests wait because of it."""

import http.client
import json
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import linear_regression
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from bench.measure import begin_load, started
from bench.process import Measured
from bench.targets import Target
from bench.workloads import Request

KB: Final = 1024
MB: Final = 1024 * KB
BYTES: Final = (KB, 10 * KB, 100 * KB, MB, 8 * MB, 32 * MB - 4 * KB)
"""Bytes of requests of ten items. The last one is nearly as long as the server allows."""
ITEMS: Final = (10, 100, 1_000, 4_096, 16_384)
"""Numbers of items of about 100 bytes. There may be no more than the last number."""
MOST: Final = 100
"""Requests of one size."""
LEAST: Final = 3
SENT: Final = 32 * MB
"""Bytes of the requests of one size, unless that would be less than `LEAST` requests."""
PAUSE: Final = 0.002
"""Seconds between two requests of the client that waits."""
LARGE: Final = 2
"""Growth counts where a request costs this many times as much as the smallest one: below, most costs are fixed."""
WORDS: Final = "What it is about, and what was found there. "


class Size(NamedTuple):
    """One size of a request."""

    name: str
    amount: int
    """Its bytes, or its items."""
    request: Request


class Cost(NamedTuple):
    """What a request of one size costs."""

    name: str
    amount: int
    ms: float
    """CPU time of one request."""
    stall: float
    """The longest time in milliseconds that a small request waited meanwhile."""
    mb: float
    """The most memory, more than before."""


Growth = Mapping[str, Sequence[Cost]]
"""`bytes` and `items`: the costs, from small to large."""


def by_bytes(length: int) -> Size:
    """A request of ten messages and about so many bytes."""
    each = max(1, length // 10 - 80)
    items = [
        {"type": "message", "role": ("user", "assistant")[n % 2], "content": (WORDS * (each // len(WORDS) + 1))[:each]}
        for n in range(10)
    ]
    name = f"{math.ceil(length / MB)} MB" if length >= MB else f"{length // KB} kB"
    return Size(name, length, Request(items, []))


def by_items(count: int) -> Size:
    """A request of so many items: messages, calls and their outputs, as agents send them."""
    items: list[dict[str, Any]] = []
    for n in range(-(-count // 3)):
        items += [
            {"type": "message", "role": "user", "content": f"Please look at number {n}, and say what it is."},
            {"type": "function_call", "call_id": f"call_{n}", "name": "look", "arguments": f'{{"number": {n}}}'},
            {"type": "function_call_output", "call_id": f"call_{n}", "output": f"It is number {n}, as before."},
        ]
    return Size(f"{count:,} items", count, Request(items[:count], []))


Sizes = Mapping[str, Sequence[Size]]
"""`bytes` and `items`: the sizes, from small to large."""
SIZES: Final[Sizes] = MappingProxyType({"bytes": tuple(map(by_bytes, BYTES)), "items": tuple(map(by_items, ITEMS))})
QUICK_SIZES: Final[Sizes] = MappingProxyType(
    {"bytes": tuple(map(by_bytes, (KB, 100 * KB, MB, 8 * MB))), "items": tuple(map(by_items, (10, 1_000, 4_096)))}
)


def grown(target: Target, folder: Path, sizes: Sizes) -> Growth:
    """Measures requests of all these sizes with this program. Raises `RuntimeError` if it fails."""
    with started(target, folder) as (server, _):
        server.quiet()
        _costs(sizes["bytes"][0], target, server)  # what is done once
        return {kind: [_costs(size, target, server) for size in each] for kind, each in sizes.items()}


def _costs(size: Size, target: Target, server: Measured) -> Cost:
    path, body = target.ask("b-1-0", False, size.request)  # noqa: FBT003 — a signature of the table
    requests = max(LEAST, min(MOST, SENT // len(json.dumps(body))))
    job = {"host": "127.0.0.1", "port": target.port, "path": path, "body": body, "requests": requests}
    server.forget_peak()
    rss, before = server.rss(), server.cpu()
    load = begin_load({**job, "concurrency": 1, "stream": False})
    pings, stall = 0, 0.0
    client = http.client.HTTPConnection("127.0.0.1", target.port)
    while load.poll() is None:
        began = time.perf_counter()
        client.request("GET", "/health/live")
        client.getresponse().read()
        stall = max(stall, time.perf_counter() - began)
        pings += 1
        time.sleep(PAUSE)
    client.close()
    assert load.stdout is not None
    seen = json.loads(load.stdout.read() or "{}")
    if not seen or seen["faults"]:
        raise RuntimeError(f"{size.name}: {seen.get('faults') or 'the load died'}")
    used = server.cpu() - before - pings * _ping_costs(target, server)
    cost = Cost(size.name, size.amount, used / requests * 1e3, stall * 1e3, max(server.peak() - rss, 0))
    print(f"growth           {target.name:20} {cost.name:>12} ms={cost.ms:.2f} stall={cost.stall:.1f} mb={cost.mb:.1f}")
    return cost


def _ping_costs(target: Target, server: Measured) -> float:
    """Seconds of CPU time of a small request."""
    count, before = 100, server.cpu()
    client = http.client.HTTPConnection("127.0.0.1", target.port)
    for _ in range(count):
        client.request("GET", "/health/live")
        client.getresponse().read()
    client.close()
    return (server.cpu() - before) / count


def figures(growth: Growth) -> dict[str, float]:
    """What the goals are about."""
    figures = {f"{kind}_exponent": exponent(costs) for kind, costs in growth.items()}
    for name, kind, most in (
        ("stall_1mb", "bytes", MB),
        ("stall_32mb", "bytes", BYTES[-1]),
        ("stall_items", "items", ITEMS[-1]),
    ):
        stalls = {cost.amount: cost.stall for cost in growth[kind] if cost.amount <= most}
        if most in stalls:
            figures[name] = max(stalls.values())
    return figures


def exponent(costs: Sequence[Cost]) -> float:
    """The power of its size with which the cost of a large request grows: 1 if it is linear, 2 if quadratic."""
    smallest = costs[0]
    points = [
        (math.log(cost.amount), math.log(max(cost.ms - smallest.ms, 1e-3)))
        for cost in costs
        if cost.ms >= LARGE * smallest.ms
    ]
    return linear_regression(*zip(*points, strict=True)).slope
