"""The table of measured facts in README.md, made from the pages that the measurements wrote."""

import re
from collections.abc import Iterator
from typing import Final

from tests.support.running import ROOT

DOCS: Final = ROOT / "docs"
OURS: Final = "AM Proxy, chat"
OTHERS: Final = ("LiteLLM proxy", "opencodex", "llm-rosetta")
MARK: Final = "<!-- measured -->"


def shown(page: str) -> str:
    """What a page shows between its two marks."""
    text = (ROOT / page).read_text()
    assert text.count(MARK) == 2, page
    return text.split(MARK)[1].strip()


def bless(page: str, text: str) -> None:
    """Writes the current text between the two marks of a page."""
    before, _, after = (ROOT / page).read_text().split(MARK)
    (ROOT / page).write_text(f"{before}{MARK}\n\n{text}\n\n{MARK}{after}")


def table() -> str:
    """One row for each fact: AM Proxy's figure, and the other bridges as a multiple of it."""
    small = table_of("codex: 60 kB")
    stream = table_of("many, paced")
    start = table_of("start:")
    versions = dict(_versions())
    names = [f"{name} {versions[name]}" for name in OTHERS]
    return "\n".join(
        [
            f"| | AM Proxy | {' | '.join(names)} |",
            f"| --- | --- |{' --- |' * len(names)}",
            _ratios("CPU time of a Codex request (60 kB, 20 tools)", small, "ms CPU per request", "ms"),
            _ratios("CPU time of a streamed chunk (100 streams at once)", stream, "µs CPU per chunk", "µs"),
            _figures("memory at rest", start, "MB at rest", "MB"),
            _figures("start of the command to its first answer", start, "first answer, s", "s"),
        ]
    )


def _ratios(title: str, rows: dict[str, dict[str, str]], column: str, unit: str) -> str:
    ours = float(rows[OURS][column])
    others = [f"{float(rows[name][column]) / ours:.1f} times" for name in OTHERS]
    return f"| {title} | {ours:.1f} {unit} | {' | '.join(others)} |"


def _figures(title: str, rows: dict[str, dict[str, str]], column: str, unit: str) -> str:
    return f"| {title} | {' | '.join(f'{float(rows[name][column]):.3g} {unit}' for name in (OURS, *OTHERS))} |"


def table_of(section: str) -> dict[str, dict[str, str]]:
    """The rows of one workload of docs/performance.md by the name of the program."""
    text = (DOCS / "performance.md").read_text()
    (found,) = (each for each in re.split(r"^### ", text, flags=re.MULTILINE) if each.startswith(section))
    head, _, *rows = [_cells(line) for line in found.splitlines() if line.startswith("|")]
    return {row[0].removesuffix(" †"): dict(zip(head, row, strict=True)) for row in rows}


def conformance() -> list[tuple[int, int, int]]:
    """For each table of docs/conformance.md: how many clients it has, how many behaviours, and how many are broken."""
    _, *tables = (DOCS / "conformance.md").read_text().split("| behaviour |")
    counts = []
    for table in tables:
        head, _, _, *behaviours = [_cells(line) for line in f"| behaviour |{table}".splitlines() if line[:2] == "| "]
        counts.append((len(head) - 1, len(behaviours), sum("✗" in cell for row in behaviours for cell in row)))
    return counts


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _versions() -> Iterator[tuple[str, str]]:
    """The versions that `make bench-peers` installs."""
    recipe = (ROOT / "Makefile").read_text()
    for name, pattern in zip(
        OTHERS, (r"litellm\[proxy\]==([\d.]+)", r"opencodex@([\d.]+)", r"llm-rosetta==([\d.]+)"), strict=True
    ):
        found = re.search(pattern, recipe)
        assert found, name
        yield name, found[1]
