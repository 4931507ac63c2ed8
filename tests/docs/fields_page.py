"""docs/fields.md, made from what tests/wire has seen. Run as a program, this prints it."""

import sys
from collections import defaultdict
from pathlib import Path

SEEN = Path(__file__).parents[1] / "wire" / "fields" / "outcomes.txt"
HEAD = """\
# Fields

<!-- Made by `python -m tests.docs.fields_page` from tests/wire/fields/outcomes.txt. Do not edit. -->

Every field that the `openai` package knows of a request, and what becomes of it. A test sends each of them in each way
to ask a model, and compares what the model's server and the client get.

- **honoured**: it has its effect, in the words of the model's server
- **warned**: it has no effect, and `x-am-warnings` says so; with `strict = true` the request is refused
- **quiet**: it has no effect that anybody could miss
- **refused**: a 400 names it, and says what to do instead

With `via = "responses"` all of them are passed on, but those that need stored state, which are refused everywhere.
"""
TITLES = {
    "parameter": "Parameters", "include": "`include`", "tool": "Tools", "tool_choice": "`tool_choice`",
    "item": "Items of `input`", "part": "Parts of messages", "frame": "Frames of a websocket",
}  # fmt: skip
WAYS = ("chat", "litellm", "messages")


def page() -> str:
    """The whole document."""
    found: dict[str, dict[str, list[str]]] = {kind: defaultdict(list) for kind in TITLES}
    for line in SEEN.read_text().splitlines():
        name, _, told = line.rpartition(": ")
        kind, _, field = name.partition(":")
        found[kind][_in_words(told.split(", "))].append(f"`{field}`")
    lines = [HEAD]
    for kind, rows in found.items():
        lines += [f"## {TITLES[kind]}", "", "| | fields |", "| --- | --- |"]
        lines += [f"| {told} | {', '.join(fields)} |" for told, fields in sorted(rows.items())] + [""]
    return "\n".join(lines)


def _in_words(told: list[str]) -> str:
    """What all ways do, or what each does."""
    words = told[: len(WAYS)]
    if len(set(words)) == 1:
        return words[0]
    return ", ".join(f"{word} (`{way}`)" for word, way in zip(words, WAYS, strict=True))


if __name__ == "__main__":
    sys.stdout.write(page())
