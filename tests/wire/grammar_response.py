"""What the grammar knows of the response: every field, whether it may be null, and what each status allows."""

import math
import re
from typing import Any, Final

from tests.wire.grammar_checks import is_list, is_number, is_object, is_text, require
from tests.wire.grammar_tables import Holds

REASONS: Final = {"max_output_tokens", "content_filter", "max_messages", "interrupted", "steered"}


def _is_float(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type] # it is a number by now


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _null_or(holds: Holds) -> Holds:
    return lambda value: value is None or holds(value)


def _is_reasoning(value: object) -> bool:
    return isinstance(value, dict) and {"effort", "summary"} <= value.keys()


def _is_text_setting(value: object) -> bool:
    return isinstance(value, dict) and is_object(value.get("format")) and value.get("verbosity", "") is not None


def _is_error(value: object) -> bool:
    return isinstance(value, dict) and all(is_text(value.get(key)) and value[key] for key in ("code", "message"))


def _is_usage(value: object) -> bool:
    return (
        isinstance(value, dict)
        and all(is_number(value.get(key)) for key in ("input_tokens", "output_tokens", "total_tokens"))
        and _counts(value.get("input_tokens_details"), "cached_tokens", "cache_write_tokens")
        and _counts(value.get("output_tokens_details"), "reasoning_tokens")
        and value["total_tokens"] == value["input_tokens"] + value["output_tokens"]
        and value.get("estimated", True) is True
    )


def _counts(details: object, *keys: str) -> bool:
    return isinstance(details, dict) and all(is_number(details.get(key)) for key in keys)


def _are_tools(value: object) -> bool:
    return isinstance(value, list) and all(
        is_object(tool) and (tool.get("type") != "function" or {"description", "parameters", "strict"} <= tool.keys())
        for tool in value
    )


FIELDS: Final[dict[str, Holds]] = {
    "id": lambda value: is_text(value) and re.fullmatch(r"resp_(AM-)?[a-z0-9-]+", value) is not None,
    "object": lambda value: value == "response",
    "created_at": is_number,
    "completed_at": _null_or(is_number),
    "status": lambda value: value in ("in_progress", "completed", "incomplete", "failed"),
    "background": lambda value: value is False,
    "error": _null_or(_is_error),
    "frequency_penalty": _is_float,
    "incomplete_details": _null_or(lambda value: is_object(value) and value.get("reason") in REASONS),
    "instructions": lambda value: value is None or isinstance(value, str | list),
    "max_output_tokens": _null_or(is_number),
    "max_tool_calls": _null_or(is_number),
    "metadata": is_object,
    "model": lambda value: is_text(value) and value != "",
    "output": is_list,
    "parallel_tool_calls": _is_flag,
    "presence_penalty": _is_float,
    "previous_response_id": _null_or(lambda value: is_text(value) and value != ""),
    "prompt_cache_key": _null_or(is_text),
    "reasoning": _null_or(_is_reasoning),
    "safety_identifier": _null_or(is_text),
    "service_tier": is_text,
    "store": lambda value: value is False,
    "temperature": _is_float,
    "text": _is_text_setting,
    "tool_choice": lambda value: isinstance(value, str | dict),
    "tools": _are_tools,
    "top_logprobs": is_number,
    "top_p": _is_float,
    "truncation": is_text,
    "usage": _null_or(_is_usage),
}
"""Every field of a response: always present, and null only where it says so."""

MOVING: Final = {"status", "completed_at", "error", "incomplete_details", "output", "usage"}
"""The fields that may differ between the lifecycle events of one stream."""


def check_response(response: dict[str, Any]) -> None:
    """Refuse a response that lacks a field or contradicts its own status. Also fit for the body of `stream: false`."""
    for key, holds in FIELDS.items():
        require(key in response and holds(response[key]), f"a response carries a proper {key}")
    status = response["status"]
    require(
        (response["completed_at"] is not None) == (status == "completed"), "completed_at is a number once completed"
    )
    require(
        (response["error"] is not None) == (status == "failed"), "error is there when the response failed, only then"
    )
    require(
        (response["incomplete_details"] is not None) == (status == "incomplete"),
        "incomplete_details are there when the response is incomplete, only then",
    )
    if status == "completed":
        require(response["completed_at"] >= response["created_at"], "nothing is completed before it is created")


def same_echo(first: dict[str, Any], response: dict[str, Any]) -> None:
    """Refuse a response whose id, model or settings changed on the way."""
    for key in FIELDS.keys() - MOVING:
        require(response[key] == first[key], f"{key} of the response never changes")
