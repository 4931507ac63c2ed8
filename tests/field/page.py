"""Writes docs/field.md: for each group of servers a table of the questions, and below it each finding, with the event.

It is made from what the runs found, so that a run of one server changes nothing of the others. `python -m
tests.field.page` writes it again, without a run.
"""

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from tests.conformance.install import ROOT
from tests.field.notes import NOTES
from tests.field.servers import GROUPS, SERVERS, Tested

Json = dict[str, Any]
Found = Mapping[str, Json]
"""What was found, by server."""
PAGE: Final = ROOT / "docs" / "field.md"
FOUND: Final = Path(__file__).with_name("found.json")
NOT_OFFERED: Final = "not-offered"
NOT_RUN: Final = "not run"
MOST_DETAILS: Final = 3
"""Details of a broken rule that the page shows."""
LONGEST_DETAIL: Final = 120
"""Characters."""

HEAD: Final = """\
# Responses servers, tested for their clients

`make field` wrote this page. It starts servers that have a Responses API, one after another, and asks each of them \
the questions of [`python -m tests.judges URL`](compliance.md#any-server): over HTTP and, where the server offers it, \
over a websocket. Each finding names a rule, and the client that is known to break where it is broken.

This is no ranking. A server that was made for other clients than these may break their rules and serve its own \
clients well. Everything below is what was seen in one run, of one version, with one model and one configuration.

| sign | meaning |
| --- | --- |
| ✓ | no client is known to break; a number leads to a note: something is promised and not kept |
| ✗ | a client is known to break: the numbers lead to the broken rules, and to notes |
| n/a | the server does not offer it |
| not run | the reason is below the table |
"""
FOOT: Final = """\
## How to read it

- A rule stands for a client that broke on it, in a test or in its code. \
[tests/judges/client_rules.py](../tests/judges/client_rules.py) lists all rules. A question with ✗ \
can still be answered well for every other client.
- A question is counted for the server that answers it. Where the server behind a bridge is the cause, a note says so.
- "Seen in this run" is what the server sent, and the beginning of the event or body. Ports are 8080 for the server \
and 8000 for the one behind it; they were others.
- `openai-types` compares with the types of the `openai` package {openai}, which has fields that are younger than many \
servers.
- ✓ says that clients can read the answer. Whether a bridge passes on all that it is sent, such as an image, is not \
asked.
- Servers change quickly: a newer version may do all this otherwise.

## How to repeat it

`make field` repeats all of it, and `make field ARGS="--server vllm"` one server. `make servers` and \
`make bench-peers` install them. The commands below each table start a server by hand, in a checkout of AM Proxy after \
that: `FOLDER` is any folder, `KEY` any key, and programs without a path are in `.cache/bench`. Any other model \
does as well as the tiny one.

## Is your server shown wrongly?

Please open an issue. If a rule accuses a server of what no client \
minds, the rule is wrong, and that is a bug of AM Proxy. If the server was started with the wrong flags, say which are \
right. If a newer version does better, that is reason enough for a new run.
"""


class Numbers:
    """The findings of a table. What breaks the same rule at the same server has one number."""

    def __init__(self) -> None:
        self._of: dict[tuple[str, str], int] = {}
        self._seen: dict[tuple[str, str], list[Json]] = {}

    def of(self, slug: str, finding: Json) -> int:
        """The number of a finding."""
        key = (slug, finding["rule"])
        self._seen.setdefault(key, []).append(finding)
        return self._of.setdefault(key, len(self._of) + 1)

    def rows(self, slug: str) -> list[str]:
        """The findings about one server, as rows of a table."""
        return [self._row(key) for key in self._of if key[0] == slug]

    def _row(self, key: tuple[str, str]) -> str:
        seen = self._seen[key]
        first = seen[0]
        details = list(dict.fromkeys(_detail(finding) for finding in seen))
        more = f" and {len(details) - MOST_DETAILS} more" if len(details) > MOST_DETAILS else ""
        shown = "; ".join(details[:MOST_DETAILS]) + more
        quote = f"<br>`{_code(first['quote'])}`" if first["quote"] else ""
        note = f"<br>({NOTES[key]})" if key in NOTES else ""
        rule = f"`{first['rule']}`{'' if first['is_fault'] else ' (note)'}: {_text(first['says'])}"
        return f"| {self._of[key]} | {rule} | {_text(first['breaks'])} | {shown}{quote}{note} |"


def _is_of_websocket(question: str) -> bool:
    return question.startswith("websocket-")


def _has_websocket(found: Json) -> bool:
    return bool(found["websocket"] == HTTPStatus.SWITCHING_PROTOCOLS)


def _text(text: str) -> str:
    """Text in a cell."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def _detail(finding: Json) -> str:
    text: str = finding["detail"]
    return _text(text if len(text) <= LONGEST_DETAIL else f"{text[:LONGEST_DETAIL]}…")


def _code(text: str) -> str:
    """Code in a cell."""
    return text.replace("|", "\\|").replace("`", "'").replace("\n", " ")


def sign(slug: str, found: Json | None, question: str, numbers: Numbers) -> str:
    """What a cell of the table says."""
    if found is None or "not_run" in found:
        return NOT_RUN
    if question not in found["questions"]:
        return "n/a" if _is_of_websocket(question) and not _has_websocket(found) else NOT_RUN
    findings = found["questions"][question]
    marks = sorted({numbers.of(slug, finding) for finding in findings})
    mark = f"<sup>{', '.join(map(str, marks))}</sup>" if marks else ""
    if any(finding["is_fault"] for finding in findings):
        return f"✗{mark}"
    if any(finding["rule"] == NOT_OFFERED for finding in findings):
        return f"n/a{mark}"
    return f"✓{mark}"


def questions_of(found: Found) -> list[str]:
    """All that was asked, in its order: those over a websocket come last."""
    asked = dict.fromkeys(name for each in found.values() for name in each.get("questions", {}))
    return sorted(asked, key=_is_of_websocket)


def _server(tested: Tested, found: Json | None, numbers: Numbers) -> str:
    """The part below the table about one server."""
    head = f"### {tested.title}\n"
    if found is None or "not_run" in found:
        return f"{head}\nNot run: {(found or {}).get('not_run', 'no run has included it yet')}."
    rows = numbers.rows(tested.slug)
    table = ["| | rule | what breaks on it | seen in this run |", "| --- | --- | --- | --- |", *rows]
    parts = [f"{head}\n{found['version']}, {found['date']}.{_websocket(found)}"]
    parts.append("\n".join(table) if rows else "Nothing was found.")
    files = [
        f"`{name}`:\n\n```{'toml' if name.endswith('.toml') else 'json'}\n{text.strip()}\n```"
        for name, text in found["files"].items()
    ]
    return "\n\n".join([*parts, *files, f"```sh\n{found['how']}\n{found['judged']}\n```"])


def _websocket(found: Json) -> str:
    return "" if _has_websocket(found) else f" No websocket was offered (status {found['websocket']})."


def _group(name: str, found: Found, questions: Sequence[str]) -> str:
    group = GROUPS[name]
    members = [tested for tested in SERVERS.values() if tested.group == name]
    numbers = Numbers()
    rows = ["| question | " + " | ".join(tested.title for tested in members) + " |"]
    rows.append("| --- |" + " :-: |" * len(members))
    # number the findings column by column, so that those of a server are together
    signs = {
        tested.slug: [sign(tested.slug, found.get(tested.slug), question, numbers) for question in questions]
        for tested in members
    }
    for at, question in enumerate(questions):
        rows.append(f"| {question} | " + " | ".join(signs[tested.slug][at] for tested in members) + " |")
    parts = [
        _server(tested, found.get(tested.slug), numbers)
        for tested in members
        if not (group.is_quiet and _is_clean(found.get(tested.slug)))
    ]
    if group.is_quiet:
        parts = ["\n".join(_line(tested, found[tested.slug]) for tested in members if tested.slug in found), *parts]
    return "\n\n".join(part for part in [f"## {group.title}\n\n{group.about}", "\n".join(rows), *parts] if part)


def _is_clean(found: Json | None) -> bool:
    """Whether nothing was found."""
    return found is not None and "not_run" not in found and not any(found["questions"].values())


def _line(tested: Tested, found: Json) -> str:
    """The line about a server that can be repeated by this command alone."""
    clean = ": nothing was found" if _is_clean(found) else ""
    version = f"{found['version']}, " if "version" in found else ""
    return f'- {tested.title}: {version}{found["date"]}{clean}. `make field ARGS="--server {tested.slug}"`'


def page(found: Found) -> str:
    """The whole page."""
    questions = questions_of(found)
    groups = [_group(name, found, questions) for name in GROUPS]
    openai = " and ".join(sorted({each["openai"] for each in found.values() if "openai" in each}))
    foot = FOOT.replace("{openai}", openai)
    return "\n\n".join(part.strip() for part in (HEAD, *groups, foot)) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(json.loads(FOUND.read_text("utf-8"))), "utf-8")
