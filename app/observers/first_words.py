"""A few words of a turn, by which it can be told from others in a list."""

import re
from typing import Any, Final

from ..key_search import redacted_line

MOST: Final = 160
"""Characters of an excerpt."""
_SEARCHED: Final = 4 * MOST
_PREAMBLE: Final = re.compile(
    r"(?:(?:Chunk ID|Wall time|Exit code|Process exited|Process running|Original token count)\b[^\n]*\n){1,9}Output:\n"
)
"""What Codex writes before the output of a command."""
_CODE: Final = re.compile(r"code:? ([0-9]{1,9})$", re.MULTILINE)
_SPACES: Final = re.compile(r"\s+")
_CALL: Final = "_call"


def said_in(request: dict[str, Any]) -> str:
    """The end of what a client sent: the user's last text, or the last result of a tool."""
    given = request.get("input")
    if isinstance(given, str):
        return cut(given)
    last = given[-1] if isinstance(given, list) and given else None
    if not isinstance(last, dict):
        return ""
    kind = last.get("type")
    if isinstance(kind, str) and kind.endswith("_output"):
        return cut(f"result: {_result_in(text_of(last.get('output')))}")
    return cut(text_of(last.get("content")) or str(kind or ""))


def answered_in(output: list[Any]) -> str:
    """The beginning of what a model said."""
    for item in output:
        if isinstance(item, dict) and item.get("type") == "message" and (text := cut(text_of(item.get("content")))):
            return text
    return ""


def called_in(output: list[Any]) -> list[str]:
    """The names of the tools that these items call."""
    kinds = [(item, str(item.get("type", ""))) for item in output if isinstance(item, dict)]
    return [cut(str(item.get("name") or kind.removesuffix(_CALL))) for item, kind in kinds if kind.endswith(_CALL)]


def text_of(content: Any) -> str:
    """The text of a content, no longer than an excerpt needs."""
    if isinstance(content, str):
        return content[:_SEARCHED]
    if not isinstance(content, list):
        return "" if content is None else str(content)[:_SEARCHED]
    texts, length = list[str](), 0
    for part in content:
        text = part.get("text") if isinstance(part, dict) else None
        kind = part.get("type") if isinstance(part, dict) else type(part).__name__
        texts.append(text[:_SEARCHED] if isinstance(text, str) else f"[{kind}]")
        length += len(texts[-1])
        if length > _SEARCHED:
            break
    return " ".join(texts)


def cut(text: str) -> str:
    """A text on one line, short enough for a row, without secrets."""
    line = _SPACES.sub(" ", redacted_line(text[:_SEARCHED])).strip()
    return f"{line[:MOST]}…" if len(line) > MOST else line


def _result_in(text: str) -> str:
    """What a command printed, and its exit code if it failed."""
    found = _PREAMBLE.match(text)
    if found is None:
        return text
    code = _CODE.search(found[0])
    failed = f"exit code {code[1]}: " if code is not None and int(code[1]) else ""
    return failed + (text[found.end() :] or "(no output)")
