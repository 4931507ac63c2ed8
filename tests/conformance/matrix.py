"""Writes docs/conformance.md: a table of clients and behaviours for each lane, with versions and footnotes."""

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tests.conformance.cells import CELLS
from tests.conformance.clients import CLIENTS, Client
from tests.conformance.install import PYTHON, npm_version, own_version
from tests.conformance.lanes import LANES, Lane

Faults = Mapping[str, Mapping[str, list[str]]]
"""By client, then by cell. An empty list means that the cell passed."""

HEAD: Final = """\
# Conformance: real clients, driven for real

`make conformance` wrote this page. It installs the clients below in `.cache` and starts AM Proxy with its defaults in \
front of a scripted server, once for each kind of server that AM Proxy asks. It tests each behaviour with each client, \
and compares the client's result with the output of the scripted model. The scripted servers are strict. They must \
receive exactly the same calls and tool outputs. Every answer is streamed.

| sign | meaning |
| --- | --- |
| ✓ | the client received exactly the model's output (a footnote describes differences in form), and the upstream \
received exactly the client's data |
| n/a | the client cannot do this with any server of this API: the footnote gives the reason |
| ✗ | broken |
"""
BEHAVIOURS: Final = """\
## What the behaviours are

- **text**: in pieces, with non-ASCII characters. **reasoning**: requested by the client, with the settings \
in [clients.md](clients.md#reasoning), and shown separately \
from the text. **reasoning between calls**: in a tool loop, the upstream gets the reasoning before each call back, in \
its place.
- **parallel calls**: two calls, with interleaved arguments where the API has them; both tools run, and both outputs \
are sent back.
- **custom tool**: raw text, not JSON, with line ends, quotes, a backslash and an emoji; the escapes may be split \
at any position.
- **namespace tool**: a call has the tool's name and namespace. **tool_search**: finds a tool \
that was not offered before.
- **structured output**: the upstream receives the schema, and the client parses the answer.
- **images**, **image in tool output**: the upstream receives the same bytes.
- **refusal**, **incomplete** (at the token limit).
- **failed before the stream** (500), **failed in mid-stream** (an error after some text), **cut upstream** (the \
connection is closed after some text): the client shows the reason, and keeps the text if it keeps any.
- **429 with Retry-After**: the client waits for the given time, then receives the answer.
- **60 s of silence**: in the middle of a text, for all clients at once, with a keep-alive every 15 s.
- **am-proxy launch**: the command starts AM Proxy for the scripted server and the coding agent, which answers a prompt.
"""


@dataclass(frozen=True)
class Footnotes:
    """Numbered in order of appearance; the same text has one number."""

    said: dict[str, int]

    def number(self, text: str) -> int:
        """The number of this footnote."""
        return self.said.setdefault(text, len(self.said) + 1)

    def mark(self, text: str) -> str:
        """The number of this footnote, as it is written behind a word."""
        return f"<sup>{self.number(text)}</sup>"

    def lines(self) -> list[str]:
        """The lines below the table."""
        return [f"{number}. {text[0].upper()}{text[1:]}." for text, number in self.said.items()]


def versions(client: Client) -> str:
    """The versions of the tested packages."""
    if client.npm:
        main, *more = [npm_version(package) or "?" for package in (client.package, *client.more)]
    else:
        main, *more = [_pypi_version(package) for package in (client.package, *client.more)]
    result = [f"{package} {version}" for package, version in zip(client.more, more, strict=True)]
    return ", ".join([main, *result])


def _pypi_version(package: str) -> str:
    if not PYTHON.exists():
        return "?"  # as for an npm package that is not there
    asked = f"import importlib.metadata as m; print(m.version({package!r}))"
    return subprocess.run([str(PYTHON), "-c", asked], capture_output=True, text=True, check=True).stdout.strip()


def _sign(lane: Lane, name: str, cell: str, faults: Faults, notes: Footnotes) -> str:
    note = lane.note(name, CLIENTS[name], cell)
    number = "" if note is None else notes.mark(note.text)
    if note is not None and not note.tried:
        return f"n/a{number}"
    if faults[name][cell]:
        return f"✗{number}"
    return f"✓{number}" if note is None or note.able else f"n/a{number}"


def _section(lane: Lane, faults: Faults) -> str:
    """What a run over this lane has found."""
    notes = Footnotes({})
    names = list(CLIENTS)
    rows = ["| behaviour | " + " | ".join(CLIENTS[name].title for name in names) + " |"]
    rows += ["| --- |" + " :-: |" * len(names)]
    rows += ["| version | " + " | ".join(versions(CLIENTS[name]) for name in names) + " |"]
    for slug, cell in CELLS.items():
        title = cell.title + (notes.mark(lane.remarks[slug]) if slug in lane.remarks else "")
        signs = [_sign(lane, name, slug, faults, notes) for name in names]
        rows.append(f"| {title} | " + " | ".join(signs) + " |")
    table = "\n".join(rows)
    broken = [
        f"- {CLIENTS[name].title}, {CELLS[slug].title}: {json.dumps(found, ensure_ascii=False)}"
        for name, cells in faults.items()
        for slug, found in cells.items()
        if found
    ]
    broken = ["\n### Broken\n", *broken] if broken else []
    with_litellm = f" with litellm {own_version('litellm')}" if lane.via == "litellm" else ""
    ground = f"\nThe server: AM Proxy {own_version()}{with_litellm}.\n"
    return "\n".join([_heading(lane), lane.about, "", table, ground, *notes.lines(), *broken])


def _heading(lane: Lane) -> str:
    return f'## {lane.title}: `via = "{lane.via}"`\n'


def section_of(lane: Lane, current: str) -> str:
    """The section that the page has for this lane; empty if it has none."""
    found = re.search(rf"^{re.escape(_heading(lane))}.*?(?=^## )", current, re.MULTILINE | re.DOTALL)
    return found[0].strip() if found else ""


def page(found: Mapping[str, Faults], current: str) -> str:
    """The whole page: new tables for the lanes that were run, those of the current page for the others."""
    sections = [
        _section(lane, found[name]) if name in found else section_of(lane, current) for name, lane in LANES.items()
    ]
    return "\n\n".join(part.strip() for part in (HEAD, *sections, BEHAVIOURS) if part) + "\n"
