"""What is compared: all of it exactly, but of messages and warnings only the words that the golden file names.

A golden message is what must be in the real one, in this order; `…` stands for any words, and for any header's value.
"""

import json
import re
from pathlib import Path
from typing import Any, Final

_TOLD: Final = frozenset({"message", "x_am_warnings", "x-am-warnings"})
"""Members whose text is for people."""
USUAL: Final = re.compile(
    "cache-control|connection|content-length|content-type|date|keep-alive|openai-processing-ms|server|transfer-encoding"
    "|vary|x-accel-buffering|x-am-upstream|x-ratelimit-.*|x-request-id"
)
"""Headers that any answer may have. Others must be named by the case."""


def lines(file: Path) -> list[Any]:
    """The JSON values of a file, one a line."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]


def write_lines(file: Path, values: list[Any]) -> None:
    """Keep values, one a line."""
    file.write_text("".join([json.dumps(value, ensure_ascii=False) + "\n" for value in values]), encoding="utf-8")


def loosened(got: Any, golden: Any, member: str = "") -> Any:
    """What was got, with the golden text in place of each message and warning that has its words."""
    match got, golden:
        case str(), str() if member in _TOLD and _has_words(got, golden):
            return golden
        case dict(), dict() if member == "headers":
            named = {key: value for key, value in got.items() if key in golden or not USUAL.fullmatch(key)}
            any_value = {key: "…" for key in named if golden.get(key) == "…"}
            return {key: loosened(value, golden.get(key), key) for key, value in named.items()} | any_value
        case dict(), dict():
            return {key: loosened(value, golden.get(key), key) for key, value in got.items()}
        case list(), list():
            others = [*golden, *([None] * len(got))]
            return [loosened(value, other, member) for value, other in zip(got, others, strict=False)]
        case _:
            return got


def plain_headers(line: Any) -> Any:
    """A line of an exchange with the headers that a new golden file names."""
    match line:
        case {"response": {"headers": headers}}:
            named = {key: value for key, value in headers.items() if key == "content-type" or not USUAL.fullmatch(key)}
            return {"response": {**line["response"], "headers": named}}
        case _:
            return line


def _has_words(message: str, golden: str) -> bool:
    return re.search(".*?".join(re.escape(part.strip()) for part in golden.split("…")), message, re.DOTALL) is not None


def renumbered(value: Any) -> Any:
    """The value with its stable names numbered anew, in the order in which they are seen."""
    names: dict[str, str] = {}

    def name(found: re.Match[str]) -> str:
        kind = found[1]
        number = sum(each.startswith(kind) for each in names) + 1
        return names.setdefault(found[0], f"{kind}{number}")

    return json.loads(re.sub(r"\b([a-z]+_AM-|AM2\.|call_)\d+\b", name, json.dumps(value)))
