"""What clients need of a whole response and of an error."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from . import client_rules as rules
from .event_table import is_number, is_text
from .findings import Finding, Findings, narrowed
from .item_judge import judge_done_item, judge_fields, judge_parts

STATUSES: Final = ("completed", "failed", "in_progress", "cancelled", "queued", "incomplete")
_FINAL: Final = {HTTPStatus.UNAUTHORIZED, HTTPStatus.NOT_FOUND, HTTPStatus.REQUEST_ENTITY_TOO_LARGE}
CUT: Final = "max_output_tokens"
_CUT_REASONS: Final = {CUT, "content_filter"}
_COUNTS: Final = ("input_tokens", "output_tokens", "total_tokens")
_DETAILS: Final = {"input_tokens_details": "cached_tokens", "output_tokens_details": "reasoning_tokens"}


def judge_answered_response(body: object) -> list[Finding]:
    """What is wrong with the answer to a request without `stream`."""
    found = Findings()
    if not isinstance(body, dict):
        found.add(rules.WHOLE_RESPONSE, "the body is no JSON object", body)
        return found.found
    if body.get("object") != "response":
        found.add(rules.RESPONSE_KIND, f"object is {body.get('object')!r}", narrowed(body, "id", "object"))
    judge_response_fields(found, body, body)
    status = body.get("status")
    if status not in STATUSES:
        found.add(rules.STATUS, f"status is {status!r}", narrowed(body, "id", "status"))
    judge_end(found, str(status), body, body)
    output = body.get("output")
    for item in output if isinstance(output, list) else []:
        if not isinstance(item, dict):
            found.add(rules.ITEM_FIELDS, "an item is no object", body)
        elif judge_fields(found, item, item, "output"):
            judge_done_item(found, item, item)
            judge_parts(found, item, item)
    return found.found


def judge_response_fields(found: Findings, response: Mapping[str, Any], offending: Any) -> None:
    """The fields that every response needs."""
    missing = [key for key in ("id", "model") if not is_text(response.get(key))]
    if type(response.get("created_at")) not in (int, float):
        missing.append("created_at")
    if missing:
        found.add(
            rules.RESPONSE_FIELDS,
            f"missing or of the wrong type: {', '.join(missing)}",
            narrowed(offending, "id", "created_at", "model"),
        )
    if not isinstance(response.get("output"), list):
        found.add(rules.RESPONSE_OUTPUT, "output is no list", narrowed(offending, "id", "output"))


def judge_end(found: Findings, status: str, response: Mapping[str, Any], offending: Any) -> None:
    """The fields of a response that has ended, by its status."""
    usage = response.get("usage")
    if usage is None:
        if status == "completed" or cut_reason(response) == CUT:
            found.add(rules.USAGE_MISSING, "there is no usage", narrowed(offending, "id", "usage"))
    elif trouble := _usage_trouble(usage):
        found.add(rules.USAGE, trouble, narrowed(offending, "id", "usage"))
    if status == "failed":
        error = response.get("error")
        if not isinstance(error, dict) or not is_text(error.get("message")) or not is_text(error.get("code")):
            found.add(rules.FAILED_ERROR, "there is no code or no message", narrowed(offending, "id", "error"))
    if status == "incomplete" and not is_text(cut_reason(response)):
        found.add(rules.INCOMPLETE_REASON, "there is no reason", narrowed(offending, "id", "incomplete_details"))


def cut_reason(response: Mapping[str, Any]) -> Any:
    """Why a response is incomplete."""
    details = response.get("incomplete_details")
    return details.get("reason") if isinstance(details, dict) else None


def judge_cut_answers(answers: Sequence[tuple[Mapping[str, Any], int]]) -> list[Finding]:
    """What is wrong with long answers, each with the number of tokens to which it was limited.

    One answer may end by itself at its last token. Several do not, so only what holds for all of them is believed.
    """
    found = Findings()
    over = [_output_tokens(response) - limit for response, limit in answers]
    is_whole = all(response.get("status") == "completed" for response, _ in answers)
    last, limit = answers[-1]
    seen = narrowed(last, "id", "status", "incomplete_details", "usage")
    if all(tokens > 0 for tokens in over):
        found.add(rules.LIMIT, f"{over[-1] + limit} tokens, where {limit} were allowed", seen)
    elif is_whole and not any(over):
        found.add(rules.CUT_STATUS, f"status is 'completed', and all {limit} tokens were used", seen)
    for response, _ in answers:
        if response.get("status") != "incomplete":
            continue
        if is_text(reason := cut_reason(response)) and reason not in _CUT_REASONS:
            found.add(rules.CUT_STATUS, f"the reason is {reason!r}", narrowed(response, "id", "incomplete_details"))
        output = response.get("output")
        items = [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []
        if items and items[-1].get("status") not in (None, "incomplete"):
            detail = f"the status of the last item is {items[-1]['status']!r}"
            found.add(rules.CUT_ITEM, detail, narrowed(response, "id", "output"))
    return found.found


def _output_tokens(response: Mapping[str, Any]) -> int:
    """The tokens of an answer; 0 if it does not say so."""
    usage = response.get("usage")
    tokens = usage.get("output_tokens") if isinstance(usage, dict) else None
    return tokens if isinstance(tokens, int) else 0


def _usage_trouble(usage: Any) -> str:
    if not isinstance(usage, dict):
        return "usage is no object"
    wrong = [key for key in _COUNTS if not is_number(usage.get(key))]
    for details, key in _DETAILS.items():
        value = usage.get(details)
        if value is not None and (not isinstance(value, dict) or not is_number(value.get(key))):
            wrong.append(f"{details}.{key}")
    return f"no whole numbers: {', '.join(wrong)}" if wrong else ""


def judge_answered_error(status: int, headers: Mapping[str, str], body: object) -> list[Finding]:
    """What is wrong with the answer to an invalid request. `body` is the JSON, or the text if it is none."""
    found = Findings()
    seen = {"status": status, "body": body}
    if not HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR:
        found.add(rules.ERROR_STATUS, f"the status is {status}", seen)
        if status < HTTPStatus.BAD_REQUEST:
            return found.found
    if status in _FINAL and "retry-after" in {name.lower() for name in headers}:
        found.add(rules.NO_RETRY, f"a {status} has Retry-After", seen)
    judge_error_object(found, body.get("error") if isinstance(body, dict) else None, seen)
    return found.found


def judge_error_object(found: Findings, error: Any, offending: Any) -> None:
    """The object with the reason."""
    if not isinstance(error, dict) or not is_text(error.get("message")):
        found.add(rules.ERROR_BODY, "there is no error.message", offending)
        return
    wrong = [key for key in ("code", "param") if not (error.get(key) is None or is_text(error[key]))]
    if not is_text(error.get("type")):
        wrong.append("type")
    if wrong:
        found.add(rules.ERROR_STRINGS, f"missing or of the wrong type: {', '.join(wrong)}", offending)
