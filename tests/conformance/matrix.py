"""docs/conformance.md: client by behaviour, with the versions, and a footnote wherever there is something to know."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tests.conformance.cells import CELLS
from tests.conformance.clients import CLIENTS, Client
from tests.conformance.install import PYTHON, npm_version, own_version

Faults = Mapping[str, Mapping[str, list[str]]]
"""By client, then by cell. No faults: all is well."""

HEAD: Final = """\
# Conformance: real clients, driven for real

`make conformance` wrote this page. It fetches the clients below into `.cache`, starts this server as it is by default \
(`via = "litellm"`) in front of a scripted chat server, drives each client through each behaviour, and compares what \
the client has in its hands at the end with what the scripted model said. The chat server refuses, as strict ones do, \
every ask with a broken role order, an unpaired call, a bad name, an empty content or arguments that are no JSON; and \
it must have got the calls and what their tools gave back to the letter. Every answer is streamed.

| sign | means |
| --- | --- |
| ✓ | the client has exactly what the model said, in its own way where a footnote says so, and the upstream got \
exactly what the client did |
| n/a | the client cannot do this, whatever the server: the footnote says why |
| ✗ | broken |
"""
BEHAVIOURS: Final = """\

## What the behaviours are

- **text**: piecewise, with characters beyond ASCII. **reasoning**: shown apart from the text.
- **parallel calls**: two calls whose arguments arrive by turns; both tools run, both outputs go back.
- **custom tool**: raw text, not JSON, with line ends, quotes, a backslash and an emoji; the escapes are cut anywhere.
- **namespace tool**: comes back under its name and namespace. **tool_search**: finds a tool not offered before.
- **structured output**: the schema reaches the upstream, the answer is parsed by the client.
- **images**, **image in tool output**: the same bytes reach the upstream.
- **refusal**, **incomplete** (at the limit of tokens).
- **failed before the stream** (500), **failed in mid-stream** (an error after some text), **cut upstream** (the \
connection is closed after some text): the client says why, and keeps the text where it keeps any.
- **429 with Retry-After**: the client waits as long as it was told to, then has the answer.
- **60 s of silence**: in the middle of a text, all clients at once, kept alive every 15 s.
"""


@dataclass(frozen=True)
class Footnotes:
    """Numbered as they come; the same words have one number."""

    said: dict[str, int]

    def number(self, text: str) -> int:
        """The number of these words."""
        return self.said.setdefault(text, len(self.said) + 1)

    def lines(self) -> list[str]:
        """What stands at the foot."""
        return [f"{number}. {text[0].upper()}{text[1:]}." for text, number in self.said.items()]


def versions(client: Client) -> str:
    """What was driven."""
    if client.npm:
        main, *more = [npm_version(package) or "?" for package in (client.package, *client.more)]
    else:
        main, *more = [_pypi_version(package) for package in (client.package, *client.more)]
    told = [f"{package} {version}" for package, version in zip(client.more, more, strict=True)]
    return ", ".join([main, *told])


def _pypi_version(package: str) -> str:
    asked = f"import importlib.metadata as m; print(m.version({package!r}))"
    return subprocess.run([str(PYTHON), "-c", asked], capture_output=True, text=True, check=True).stdout.strip()


def _sign(client: Client, cell: str, faults: Faults, name: str, notes: Footnotes) -> str:
    note = client.notes.get(cell)
    number = "" if note is None else f"<sup>{notes.number(note.text)}</sup>"
    if note is not None and not note.tried:
        return f"n/a{number}"
    if faults[name][cell]:
        return f"✗{number}"
    return f"✓{number}" if note is None or note.able else f"n/a{number}"


def page(faults: Faults) -> str:
    """The whole page."""
    notes = Footnotes({})
    names = list(CLIENTS)
    rows = ["| behaviour | " + " | ".join(CLIENTS[name].title for name in names) + " |"]
    rows += ["| --- |" + " :-: |" * len(names)]
    rows += ["| version | " + " | ".join(versions(CLIENTS[name]) for name in names) + " |"]
    for slug, cell in CELLS.items():
        signs = [_sign(CLIENTS[name], slug, faults, name, notes) for name in names]
        rows.append(f"| {cell.title} | " + " | ".join(signs) + " |")
    table = "\n".join(rows)
    broken = [
        f"- {CLIENTS[name].title}, {CELLS[slug].title}: {json.dumps(found, ensure_ascii=False)}"
        for name, cells in faults.items()
        for slug, found in cells.items()
        if found
    ]
    broken = ["\n## Broken\n", *broken] if broken else []
    ground = f"\nThe server: AM Proxy {own_version()} with litellm {own_version('litellm')}.\n"
    return "\n".join([HEAD, table, ground, *notes.lines(), *broken, BEHAVIOURS])
