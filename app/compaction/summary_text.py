"""The text of a summary: the prompt that asks a model for it, and how it is read from the last event of the answer."""

from typing import Any, Final, Literal, NamedTuple

import msgspec

from ..json_text import json_value
from ..protocol.events import LastEvent, RelayedLast

SUM_UP: Final = """\
This conversation is about to be replaced by a summary, because it has grown long. Write that summary now. Whoever \
goes on from here, you or another model, will have nothing else: what you leave out is lost.

Write it as notes, under these headings, and leave a heading out where there is nothing to say:

1. What the user wants: every request and wish that still holds, the newest to the letter.
2. Rules: what must or must not be done, tastes and limits the user named, approvals given or denied.
3. What was done: the steps so far and what came of each, mistakes and what they taught included.
4. Facts: names, numbers, dates, addresses, identifiers, paths of files and what each is for, commands that work, \
code and messages that will be needed again, to the letter.
5. What tools gave: results that still matter, with the source of each.
6. Decisions, and the reasons for them.
7. Where things stand: what is being worked on, what is open, the very next step.

Keep summaries of earlier parts that you find above. Add nothing that was not said or found. Use the language of the \
conversation, call no tool, answer no question, and write nothing but the summary."""

INTRODUCTION: Final = (
    "What was said and done up to here was replaced by this summary. Go on from it, and do not mention it unless asked."
)
"""Precedes the summary in the message that the next model reads."""
CUT: Final = "[The summary ends here: its writer had no more room.]"
REASONING: Final = "<think>"
"""How the reasoning begins that some upstreams write into their text."""
END_OF_REASONING: Final = "</think>"


class WrittenSummary(NamedTuple):
    """Its text, empty without a summary; the refusal, empty if the model did not refuse; and why the answer ended."""

    text: str
    refusal: str
    ending: Literal["end", "length", "content_filter"]


def written_summary(last: LastEvent | RelayedLast) -> WrittenSummary:
    """The summary in a model's answer. One that was cut at a limit says so, to the model that will read it."""
    read: Any = json_value(last.body) if isinstance(last, RelayedLast) else msgspec.to_builtins(last.response)
    items = read.get("output") if isinstance(read, dict) else None
    parts = [
        part
        for item in (items if isinstance(items, list) else [])
        if isinstance(item, dict) and item.get("type") == "message" and isinstance(item.get("content"), list)
        for part in item["content"]
        if isinstance(part, dict)
    ]
    text, refusal = (
        "".join(part[name] for part in parts if isinstance(part.get(name), str)).strip() for name in ("text", "refusal")
    )
    if text.startswith(REASONING):
        text = text.partition(END_OF_REASONING)[2].strip()
    details = last.response.incomplete_details
    if last.response.status != "incomplete":
        return WrittenSummary(text, refusal, "end")
    filtered = details is not None and details.reason == "content_filter"
    return WrittenSummary(f"{text}\n\n{CUT}" if text else "", refusal, "content_filter" if filtered else "length")
