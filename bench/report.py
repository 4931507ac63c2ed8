"""Writes docs/performance.md and its plot from the measurements."""

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from bench.all_cores import tables_of_workers
from bench.goals import Figures, Results, reached
from bench.growth import Growth
from bench.profile import Profiles
from bench.targets import TARGETS
from bench.workloads import MILLION, WAITING, WORKLOADS, Workload

MARK = "<!-- measured -->"
FLOOR = "httpx copy"
BAR = 22
LEFT = 170
WIDE = 460
BUSY = 1.5
"""The system load that a run causes by itself."""
SHOWN = 0.05
"""What is not rounded to nothing."""
ASKED_LESS = {target.name: target.asked_less for target in TARGETS}
PROFILED_HOW = (
    "Where the server is found when it is looked at 250 times in a second of CPU time. What a function that is written",
    "in C takes counts for the one that calls it, and what the event loop takes for the one that it calls next.",
)


def write(
    results: Results,
    seen: Profiles,
    folder: Path,
    *,
    missing: list[str],
    minutes: float,
    grown: Mapping[str, Growth] = MappingProxyType({}),
) -> None:
    """Replaces the text between the two marks; the text around it is written by hand."""
    file = folder / "performance.md"
    words = file.read_text() if file.exists() else f"# Performance\n\n{MARK}\n{MARK}\n"
    head, _, rest = words.partition(MARK)
    _, _, tail = rest.partition(MARK)
    parts = [
        *run_details(missing, minutes),
        *goals(results),
        *tables(results),
        *growth_tables(grown),
        *where_it_goes(seen),
    ]
    file.write_text(f"{head}{MARK}\n\n" + "\n".join(parts) + f"\n{MARK}{tail}")
    paced = results.get("many, paced", {})
    values = {name: told["us_per_chunk"] for name, told in paced.items() if "us_per_chunk" in told}
    if values:
        (folder / "performance.svg").write_text(plot(values))


def run_details(missing: list[str], minutes: float) -> list[str]:
    """When and on which machine the run took place."""
    day = datetime.now(UTC).date().isoformat()
    machine = f"{os.cpu_count()} cores, CPython {platform.python_version()}"
    lines = [f"Measured on {day}, {machine}; the median of the rounds, all in one run of {minutes:.0f} minutes.", ""]
    busy = os.getloadavg()[2] - BUSY
    if busy >= SHOWN:
        lines += [f"The machine also did other work (its load was {busy:.1f} above that of a run alone).", ""]
    return lines + ([f"Not installed: {', '.join(missing)}.", ""] if missing else [])


def goals(results: Results) -> list[str]:
    """The table of goals."""
    rows = [
        f"| {goal.about} | {'≥' if goal.at_least else '≤'} {goal.bound:g} | {value:.2f} | "
        f"{'yes' if goal.met(value) else '**no**'} |"
        for goal, value in reached(results)
    ]
    return ["## Goals and results", "", "| | goal | this run | reached |", "| --- " * 4 + "|", *rows, ""]


def tables(results: Results) -> list[str]:
    """One table for each workload, each figure with its ratio to the httpx copy."""
    lines = ["## Comparison", "", "![CPU per chunk](performance.svg)", ""]
    for work in [*WORKLOADS, MILLION, WAITING]:
        told = {name: figures for name, figures in results.get(work.name, {}).items() if figures}
        if told:
            lines += [f"### {work.name}: {work.about}", "", *_table(told, work), ""]
    if start := results.get("start"):
        rows = [
            f"| {name} | {told['answered']:.2f} | {told['quiet']:.1f} | {told['rss']:.0f} | "
            + (f"{told['peak']:.0f} |" if "peak" in told else "– |")
            for name, told in start.items()
        ]
        head = "| | first answer, s | at rest, s | MB at rest | MB at most, with the waiting streams |"
        lines += ["### start: from the start of the command", "", head, "| --- " * 5 + "|", *rows, ""]
    return lines + tables_of_workers(results.get("workers", {}))


def growth_tables(grown: Mapping[str, Growth]) -> list[str]:
    """One table for each program: what a request costs, by its bytes and by its items."""
    lines = []
    for name, growth in grown.items():
        head = "| | ms CPU per request | others wait at most, ms | MB more at most |"
        lines += [f"### growth: one request at a time, from small to large, {name}", "", head, "| --- " * 4 + "|"]
        lines += [
            f"| {cost.name} | {cost.ms:.2f} | {cost.stall:.0f} | {cost.mb:.1f} |"
            for costs in growth.values()
            for cost in costs
        ]
        lines.append("")
    return lines


def where_it_goes(seen: Profiles) -> list[str]:
    """Time by room and by function."""
    if not seen:
        return []
    lines = ["## Where the CPU time goes", "", *PROFILED_HOW, ""]
    for lane, profiles in seen.items():
        for profile in profiles:
            lines += [f"### {lane}: {profile.about}", "", "| room | share | µs |", "| --- " * 3 + "|"]
            lines += [f"| {row.name} | {row.share:.0%} | {row.us:.1f} |" for row in profile.rooms]
            functions = "; ".join(f"`{row.name.split(',')[0]}` {row.share:.0%}" for row in profile.functions)
            lines += ["", f"The most expensive functions: {functions}.", ""]
    return lines


def _table(told: dict[str, Figures], work: Workload) -> list[str]:
    unit = "us_per_chunk" if work.stream else "ms_per_request"
    word = "µs CPU per chunk" if work.stream else "ms CPU per request"
    memory = any("kb_per_stream" in figures for figures in told.values())
    first = "first text" if work.stream else "answer"
    head = f"| | {word} | × httpx copy | ms CPU per request | {first} p50, ms | p99, ms | chunks/s |"
    lines = [
        head + (" kB per stream | MB more afterwards |" if memory else ""),
        "| --- " * (9 if memory else 7) + "|",
    ]
    base = told.get(FLOOR, {}).get(unit)
    fewer = False
    for name, figures in told.items():
        less = work.name in ASKED_LESS[name]
        fewer = fewer or less
        ratio = f"{figures[unit] / base:.2f}" if base else "–"
        row = (
            f"| {name}{' †' if less else ''} | {figures[unit]:.1f} | {ratio} | {figures['ms_per_request']:.2f} | "
            f"{figures['first_p50_ms']:.1f} | {figures['first_p99_ms']:.1f} | {figures['chunks_per_second']:.0f} |"
        )
        lines.append(row + (f" {figures['kb_per_stream']:.0f} | {figures['grown_mb']:.1f} |" if memory else ""))
    if fewer:
        lines += [
            "",
            f"† with {work.fewer} requests instead of {work.requests}: it is much slower, or cannot handle more.",
        ]
    return lines


def plot(values: dict[str, float]) -> str:
    """A bar chart, sorted by length."""
    most = max(values.values())
    rows = []
    for place, (name, value) in enumerate(sorted(values.items(), key=lambda pair: pair[1])):
        y = 40 + place * (BAR + 8)
        colour = "#1f6feb" if name.startswith("AM Proxy") else "#8b949e"
        rows.append(
            f'<text x="{LEFT - 8}" y="{y + 15}" text-anchor="end">{name}</text>'
            f'<rect x="{LEFT}" y="{y}" width="{value / most * WIDE:.0f}" height="{BAR}" fill="{colour}"/>'
            f'<text x="{LEFT + value / most * WIDE + 6:.0f}" y="{y + 15}">{value:.0f}</text>'
        )
    high = 50 + len(values) * (BAR + 8)
    title = '<text x="8" y="22" font-weight="bold">µs of CPU per chunk, 100 paced streams of 200 chunks</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDE + 60}" height="{high}" '
        'font-family="sans-serif" font-size="13"><rect width="100%" height="100%" fill="#ffffff"/>'
        f"{title}{''.join(rows)}</svg>\n"
    )
