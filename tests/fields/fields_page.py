"""docs/fields.md: what each lane does with each member of a request."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from tests.wire.fields.quiet_fields import reason

HEAD: Final = """\
# Every field of a request

<!-- Made from tests/wire/fields/outcomes.txt by `pytest tests/fields --bless fields`. Do not edit. -->

What AM Proxy does with each parameter, input item, content part, tool, `tool_choice`, value of `include` and websocket
frame of the Responses API, as the Python package `openai` {version} knows them, and a few that Codex and Open Responses
have. A test sends each of them over HTTP or a websocket in each way, to a scripted server for the model.

- **honoured**: the model, or the answer, is different because of it.
- **warned**: it has no effect, or less than it says; a warning in `x-am-warnings` says so. With `strict` such a request
  is refused.
- **refused**: 400, with words.
- **passed on**: a server with the Responses API gets it as it is, and decides.
- **quiet**: it has no effect, there is no warning, and nothing is lost; the reason is in the last column.

The columns are ways to ask a model:

- **chat**: `via = "chat"`, a server of which nothing is known.
- **messages**: `via = "messages"`, Claude.
- **litellm**: `via = "litellm"`, OpenAI's `gpt-5.1`.
- **responses**: `via = "responses"`, a server that has all types of tools itself.

Other models may take less, as far as that is known: then there are more warnings.
"""
LANES: Final = ("chat", "messages", "litellm", "responses")
"""The columns, as `tests/wire/fields/lanes.py` has them."""
TITLES: Final = {
    "parameter": "Parameters",
    "item": "Items of the input",
    "part": "Content parts",
    "tool": "Tools",
    "tool_choice": "Objects in `tool_choice`",
    "include": "Values of `include`",
    "frame": "Websocket frames",
}


class Row(NamedTuple):
    """One member, with what each lane does."""

    name: str
    words: Sequence[str]

    @property
    def why(self) -> str:
        """Why it has no effect where nobody is told."""
        return reason(self.name) if "quiet" in self.words else ""


def page(table: str, version: str) -> str:
    """The whole document."""
    rows = [Row(name, words.split(", ")) for name, words in (line.rsplit(": ", 1) for line in table.splitlines())]
    sections = [HEAD.format(version=version)]
    for what, title in TITLES.items():
        columns = ("in each way",) if what == "frame" else LANES
        lines = [f"| | {' | '.join(columns)} | |", f"| --- |{' --- |' * len(columns)} --- |"]
        of_kind = [row for row in rows if row.name.startswith(f"{what}:")]
        lines += [f"| {name} | {' | '.join(row.words)} | {row.why} |" for name, row in _merged(of_kind)]
        sections.append("\n".join([f"## {title}\n", *lines, ""]))
    return "\n".join(sections)


def _merged(rows: Sequence[Row]) -> Iterator[tuple[str, Row]]:
    """The rows, without members that fare as the whole does."""
    by_name = {row.name: row for row in rows}
    for row in rows:
        name = row.name.partition(":")[2]
        owner = _owner(row, by_name)
        if owner is not None and _same(row, owner):
            continue
        members = [each for each in rows if each.name.startswith(f"{row.name}.")]
        whole = bool(members) and all(_same(each, row) for each in members)
        yield (f"`{name}` and its members" if whole else f"`{name}`"), row


def _owner(row: Row, by_name: Mapping[str, Row]) -> Row | None:
    """The nearest object around a member that has a row."""
    name = row.name
    while "." in name:
        name = name.rpartition(".")[0]
        if name in by_name:
            return by_name[name]
    return None


def _same(row: Row, owner: Row) -> bool:
    return (row.words, row.why) == (owner.words, owner.why)
