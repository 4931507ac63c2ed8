"""A stream as one short line per event, for tables that a person can read.

created                     0 added message             0 added function_call f call_1
in_progress                 0.0 added output_text       0 says '{}'
completed                   0.0 says 'Hi'               0 said '{}'
incomplete content_filter   0.0 said 'Hi'               0 done function_call completed
failed server_error         0.0 cites 0
                            0.0 done output_text
                            0 done message completed
"""

from collections.abc import Iterable, Mapping
from typing import Any


def event_lines(events: Iterable[Mapping[str, Any]]) -> list[str]:
    """One line per event: where (seat, or seat and part), what, and what it says."""
    return [_line(event) for event in events]


def _line(event: Mapping[str, Any]) -> str:
    kind = event["type"].removeprefix("response.")
    if "response" in event:
        return _lifecycle(kind, event["response"])
    if "item" in event:
        return f"{event['output_index']} {_item(kind.removeprefix('output_item.'), event['item'])}"
    where = str(event["output_index"])
    index = next((event[key] for key in ("content_index", "summary_index", "command_index") if key in event), None)
    if index is not None:
        where += f".{index}"
    verb = kind.rpartition(".")[2]
    if "part" in event:
        return f"{where} {verb} {event['part']['type']}"
    if "annotation" in event:
        return f"{where} cites {event['annotation_index']}"
    return f"{where} {_words(verb, event)}"


def _words(verb: str, event: Mapping[str, Any]) -> str:
    if verb == "delta":
        return f"says {event['delta']!r}"
    items = [event[key] for key in ("arguments", "input", "command", "text", "refusal") if key in event]
    if not items:  # a sign of an image's making
        return verb
    return f"{'added' if verb == 'added' else 'said'} {items[0]!r}"


def _lifecycle(kind: str, response: Mapping[str, Any]) -> str:
    if response["error"]:
        return f"{kind} {response['error']['code']}"
    if response["incomplete_details"]:
        return f"{kind} {response['incomplete_details']['reason']}"
    return kind


def _item(verb: str, item: Mapping[str, Any]) -> str:
    if verb == "done":
        return f"done {item['type']} {item['status']}"
    return " ".join(["added", item["type"], *[item[key] for key in ("name", "call_id") if key in item]])
