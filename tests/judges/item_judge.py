"""What clients need of a whole item. Codex reads nothing else, and drops silently what it cannot read."""

import json
from typing import Any, Final

from . import client_rules as rules
from .event_table import OF_ITEM, is_text
from .findings import Findings

_CALLS: Final = {"function_call": "arguments", "custom_tool_call": "input"}
_PHASES: Final = (None, "commentary", "final_answer")
CALL_STATUSES: Final = ("completed", "incomplete", "in_progress")
_ITEMS_WITH_ID: Final = {"message", "reasoning", "function_call", "custom_tool_call"} | OF_ITEM.keys()


def judge_fields(found: Findings, item: dict[str, Any], offending: Any, kind: str) -> bool:
    """Whether an item has a type and an id."""
    if not is_text(item.get("type")):
        found.add(rules.ITEM_FIELDS, "the item has no type", offending, kind)
        return False
    if item["type"] in _ITEMS_WITH_ID and not is_text(item.get("id")):
        found.add(rules.ITEM_FIELDS, f"the item ({item['type']}) has no id", offending, kind)
    return True


def judge_done_item(found: Findings, item: dict[str, Any], offending: Any) -> None:
    """Judge an item that is done, as Codex and the AI SDK read it."""
    kind = item.get("type")
    if kind in _CALLS:
        _judge_call(found, item, offending)
    elif kind == "message":
        if item.get("phase") not in _PHASES:
            found.add(rules.CODEX_PHASE, f"phase is {item['phase']!r}", offending)
        if item.get("role") != "assistant" or not isinstance(item.get("content"), list):
            found.add(rules.CODEX_MESSAGE, f"role is {item.get('role')!r}", offending)
    elif kind == "reasoning" and not isinstance(item.get("summary"), list):
        found.add(rules.CODEX_REASONING, f"summary is {item.get('summary')!r}", offending)


def judge_status(found: Findings, item: dict[str, Any], offending: Any) -> None:
    """A call needs a status only in a stream."""
    if item.get("type") in _CALLS and item.get("status") not in CALL_STATUSES:
        found.add(rules.CALL_STATUS, f"status is {item.get('status')!r}", offending)


def judge_parts(found: Findings, item: dict[str, Any], offending: Any) -> None:
    """The parts of a message need all their fields only in a whole response."""
    content = item.get("content")
    for part in content if item.get("type") == "message" and isinstance(content, list) else ():
        if not isinstance(part, dict) or not is_text(part.get("type")):
            found.add(rules.PART_FIELDS, "a part has no type", offending)
        elif part["type"] == "output_text" and not (
            is_text(part.get("text")) and isinstance(part.get("annotations"), list)
        ):
            missing = "text" if not is_text(part.get("text")) else "list of annotations"
            found.add(rules.PART_FIELDS, f"a part has no {missing}", offending)


def _judge_call(found: Findings, item: dict[str, Any], offending: Any) -> None:
    key = _CALLS[item["type"]]
    if not is_text(item.get("call_id")) or not item["call_id"]:
        found.add(rules.CODEX_CALL_ID, f"call_id is {item.get('call_id')!r}", offending)
    if not is_text(item.get("name")) or not item["name"]:
        found.add(rules.CODEX_NAME, f"name is {item.get('name')!r}", offending)
    if not is_text(item.get(key)):
        found.add(rules.CODEX_ARGUMENTS, f"{key} is a {type(item.get(key)).__name__}", offending)
    elif item["type"] == "function_call" and item.get("status") == "completed" and not _is_json_object(item[key]):
        found.add(rules.ARGUMENTS_JSON, f"arguments are {item[key][:80]!r}", offending)


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
