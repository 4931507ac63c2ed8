"""docs/performance.md and its plot, from what was measured."""

import os
import platform
from datetime import UTC, datetime
from pathlib import Path

from bench.workloads import WORKLOADS

Results = dict[str, dict[str, dict[str, float]]]
MARK = "<!-- measured -->"
FLOOR = "httpx copy"
BAR = 22
LEFT = 170
WIDE = 460


def write(results: Results, folder: Path, missing: list[str]) -> None:
    """Replaces what stands between the marks; the words around it are written by hand."""
    file = folder / "performance.md"
    words = file.read_text() if file.exists() else f"# Performance\n\n{MARK}\n{MARK}\n"
    head, _, rest = words.partition(MARK)
    _, _, tail = rest.partition(MARK)
    file.write_text(f"{head}{MARK}\n\n{tables(results, missing)}\n{MARK}{tail}")
    paced = results.get("many, paced", {})
    values = {name: told["us_per_chunk"] for name, told in paced.items() if "us_per_chunk" in told}
    if values:
        (folder / "performance.svg").write_text(plot(values))


def tables(results: Results, missing: list[str]) -> str:
    """One table a workload, each figure beside its ratio to the httpx copy."""
    day = datetime.now(UTC).date().isoformat()
    machine = f"{os.cpu_count()} cores, CPython {platform.python_version()}"
    lines = [f"Measured on {day}, {machine}; median of the rounds, all in one run.", ""]
    if missing:
        lines += [f"Not at hand: {', '.join(missing)}.", ""]
    lines += ["![CPU per chunk](performance.svg)", ""]
    for work in WORKLOADS:
        told = results.get(work.name)
        if told:
            lines += [f"### {work.name}: {work.about}", "", *_table(told, streamed=work.stream), ""]
    if "start" in results:
        lines += [
            "### Start and memory",
            "",
            "| | first answer, s | at rest, MB | peak, MB |",
            "| --- | --- | --- | --- |",
        ]
        lines += [
            f"| {name} | {told['seconds']:.2f} | {told['rss']:.0f} | {told['peak']:.0f} |"
            for name, told in results["start"].items()
        ]
        lines.append("")
    return "\n".join(lines)


def _table(told: dict[str, dict[str, float]], *, streamed: bool) -> list[str]:
    unit = "us_per_chunk" if streamed else "ms_per_request"
    word = "µs CPU per chunk" if streamed else "ms CPU per request"
    memory = any("kb_per_stream" in figures for figures in told.values())
    head = f"| | {word} | × httpx copy | ms CPU per request | first word p50, ms | p99, ms | chunks/s |"
    lines = [
        head + (" kB per stream | MB more afterwards |" if memory else ""),
        "| --- " * (9 if memory else 7) + "|",
    ]
    base = told.get(FLOOR, {}).get(unit)
    for name, figures in told.items():
        if not figures:
            continue
        ratio = f"{figures[unit] / base:.2f}" if base else "–"
        row = (
            f"| {name} | {figures[unit]:.1f} | {ratio} | {figures['ms_per_request']:.2f} | "
            f"{figures['first_p50_ms']:.1f} | {figures['first_p99_ms']:.1f} | {figures['chunks_per_second']:.0f} |"
        )
        lines.append(row + (f" {figures['kb_per_stream']:.0f} | {figures['grown_mb']:.1f} |" if memory else ""))
    return lines


def plot(values: dict[str, float]) -> str:
    """Bars, longest last."""
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
