"""Writes docs/servers.md: a table of lanes and behaviours for each model server, with versions and footnotes."""

import json
import re
from collections.abc import Mapping
from typing import Final

from tests.conformance.install import own_version
from tests.conformance.matrix import Footnotes
from tests.servers.behaviours import BEHAVIOURS
from tests.servers.install import version
from tests.servers.lanes import LANES, SERVERS, Lane

Found = Mapping[str, Mapping[str, list[str]]]
"""Faults by lane, then by behaviour. An empty list means that the behaviour is right."""

HEAD: Final = """\
# Model servers, run for real

`make servers` wrote this page. It installs model servers in `.cache`, runs one after another, and puts AM Proxy in \
front of each, once for each API by which AM Proxy can ask it. Each server runs a tiny model whose weights are written \
by hand, so that its answers are known; the tokenizer, chat template, parsers of reasoning and calls, grammars, limits \
and errors are the server's own. Each question is asked through AM Proxy, streamed and whole, and directly at \
temperature 0. The answers must be equal: text, reasoning, calls, end, token counts and logprobs.

| sign | meaning |
| --- | --- |
| ✓ | the client received what the server says itself (a footnote describes differences) |
| n/a | the server cannot do this over this API: the footnote gives the reason |
| ✗ | broken |
"""


def _sign(lane: Lane, slug: str, found: Found, notes: Footnotes) -> str:
    note = lane.notes.get(slug)
    number = "" if note is None else notes.mark(note.text)
    if found[lane.slug][slug]:
        return f"✗{number}"
    return f"✓{number}" if note is None or note.able else f"n/a{number}"


def _heading(name: str) -> str:
    return f"## {name}\n"


def _section(name: str, found: Found) -> str:
    """What a run of this server has found."""
    notes = Footnotes({})
    server, lanes = SERVERS[name], LANES[name]
    rows = ["| behaviour | " + " | ".join(f"`{lane.title}`" for lane in lanes) + " |"]
    rows += ["| --- |" + " :-: |" * len(lanes)]
    for slug, behaviour in BEHAVIOURS.items():
        signs = [_sign(lane, slug, found, notes) for lane in lanes]
        rows.append(f"| {behaviour.title} | " + " | ".join(signs) + " |")
    titles = {lane.slug: lane.title for lane in lanes}
    broken = [
        f"- {titles[lane]}, {BEHAVIOURS[slug].title}: {json.dumps(faults, ensure_ascii=False)}"
        for lane, cells in found.items()
        for slug, faults in cells.items()
        if faults
    ]
    broken = ["\n### Broken\n", *broken] if broken else []
    ground = (
        f"{server.package} {version(server.environment, server.package)}, AM Proxy {own_version()} "
        f"with litellm {own_version('litellm')}.\n"
    )
    return "\n".join([_heading(name), ground, *rows, "", *notes.lines(), *broken])


def section_of(name: str, current: str) -> str:
    """The section that the page has for this server; empty if it has none."""
    found = re.search(rf"^{re.escape(_heading(name))}.*?(?=^## )", current, re.MULTILINE | re.DOTALL)
    return found[0].strip() if found else ""


def page(found: Mapping[str, Found], current: str) -> str:
    """The whole page: new tables for the servers that ran, those of the current page for the others."""
    sections = [_section(name, found[name]) if name in found else section_of(name, current) for name in SERVERS]
    rows = [f"- **{behaviour.title}**: {behaviour.about}." for behaviour in BEHAVIOURS.values()]
    behaviours = "\n".join(["## What the behaviours are\n", *rows])
    return "\n\n".join(part.strip() for part in (HEAD, *sections, behaviours) if part) + "\n"
