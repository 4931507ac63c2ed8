"""The summary that a model wrote, in the last event of its answer."""

from typing import Any, Final, Literal, NamedTuple

import msgspec

from app.compaction.summary_prompt import CUT
from app.json_text import json_value
from app.protocol.events import LastEvent, RelayedLast

REASONING: Final = "<think>"
"""How the reasoning begins that some upstreams write into their text."""
END_OF_REASONING: Final = "</think>"


class WrittenSummary(NamedTuple):
    """What it says, and why it ended. `text` is empty where there is none, `refusal` where the model did not refuse."""

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
