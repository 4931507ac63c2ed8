"""What litellm gets wrong for Gemini: equal calls of one step, and some reasons of the end. Pure.

Up to Gemini 2.5 a call has no id, and litellm (1.106) drops every part of a message that is equal to one before it: of
three equal calls one is told, with three outputs, which Google refuses. So equal calls are told as successive steps:
the call and its output, then the next call and its output. From Gemini 3 on calls have ids, and no two are equal.
litellm needs time by the square of the calls of a message, for every Gemini: so long steps are told in parts.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from app.upstreams.litellm_can import GEMINI_PROVIDERS, is_claude

Json = dict[str, Any]

LONGEST_STEP: Final = 64
"""Calls of one message. litellm compares each with all before it, and each output with all calls."""

_WITH_IDS: Final = re.compile(r"(?:.*/)?gemini-(?:[3-9]|[1-9]\d|.*latest$)")
_REASON: Final = re.compile(r'"finishReason"\s*:\s*"([A-Z_]{1,60})"')
_SOURCES: Final = '"groundingMetadata"'
_BLOCKED: Final = frozenset({"MODEL_ARMOR"})
_MODEL_FAILED: Final = frozenset(
    {"MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE", "TOO_MANY_TOOL_CALLS"}
)
"""Ends of an answer in which the model did something that its server could not use: nobody can go on with it."""
_FAILED: Final = "tool_use_failed"
"""Groq's word for such an end, which all lanes know."""


def drops_equal_calls(provider: str, model: str) -> bool:
    """Whether litellm tells this model one of several equal calls only."""
    if provider not in GEMINI_PROVIDERS or is_claude(provider, model) or _WITH_IDS.match(model.lower()):
        return False
    return provider == "gemini" or "gemini" in model.lower() or model.isdigit()


def serves_gemini(provider: str, model: str) -> bool:
    """Whether litellm translates for this model as it does for Gemini."""
    return provider in GEMINI_PROVIDERS and not is_claude(provider, model)


def in_steps(messages: Sequence[Json], *, parts_equal_calls: bool = True) -> list[Json]:
    """The same conversation, in which no message holds more than `LONGEST_STEP` calls, or, if wanted, equal ones."""
    told: list[Json] = []
    place = 0
    while place < len(messages):
        message = messages[place]
        place += 1
        calls = message.get("tool_calls") or []
        groups = [
            group[start : start + LONGEST_STEP]
            for group in (_without_twins(calls) if parts_equal_calls else [calls])
            for start in range(0, len(group), LONGEST_STEP)
        ]
        if len(groups) < 2:  # noqa: PLR2004 — nothing to part
            told.append(message)
            continue
        outputs: dict[str, Json] = {}
        while place < len(messages) and messages[place].get("role") == "tool":
            outputs[str(messages[place].get("tool_call_id"))] = messages[place]
            place += 1
        for number, group in enumerate(groups):
            step = {"role": "assistant", "content": None} if number else message
            told.append(step | {"tool_calls": group})
            told += [outputs[call["id"]] for call in group if call["id"] in outputs]
    return told


def _without_twins(calls: Sequence[Json]) -> list[list[Json]]:
    """These calls in their order, in groups without equal ones."""
    groups: list[list[Json]] = []
    known: set[str] = set()
    for call in calls:
        call_as_read = _as_read(call)
        if not groups or call_as_read in known:
            groups.append([])
            known.clear()
        known.add(call_as_read)
        groups[-1].append(call)
    return groups


def _as_read(call: Json) -> str:
    function = call["function"]
    try:
        arguments = json.loads(function["arguments"])
    except (ValueError, RecursionError):
        arguments = function["arguments"]
    return json.dumps([function["name"], arguments], sort_keys=True)


def without_odd_sources(line: str) -> str:
    """The line of a stream without what it says of its sources, where litellm's parser would fail over it."""
    if _SOURCES not in line:
        return line
    start, data, written = line.partition("data:")
    try:
        told = json.loads(written)
    except (ValueError, RecursionError):
        return line
    candidates = told.get("candidates") if isinstance(told, dict) else None
    odd = [each for each in candidates if _is_odd(each)] if isinstance(candidates, list) else []
    for candidate in odd:
        del candidate["groundingMetadata"]
    return f"{start}{data} {json.dumps(told)}" if odd else line


def _is_odd(candidate: Any) -> bool:
    """Whether the sources of this candidate have another form than Google's documents say."""
    if not isinstance(candidate, dict) or "groundingMetadata" not in candidate:
        return False
    held = candidate["groundingMetadata"]
    return not all(_is_as_documented(each) for each in (held if isinstance(held, list) else [held]))


def _is_as_documented(sources: Any) -> bool:
    if not isinstance(sources, dict):
        return False
    chunks, supports = sources.get("groundingChunks", []), sources.get("groundingSupports", [])
    if not (isinstance(chunks, list) and isinstance(supports, list)):
        return False
    return all(isinstance(chunk, dict) and isinstance(chunk.get("web", {}), dict) for chunk in chunks) and all(
        isinstance(support, dict)
        and isinstance(support.get("segment", {}), dict)
        and isinstance(numbers := support.get("groundingChunkIndices", []), list)
        and all(type(number) is int for number in numbers)
        for support in supports
    )


def mend_reason(choice: Json, lines: Sequence[str]) -> Json | None:
    """Mend the finish reason that litellm guessed, by the lines in which Gemini gave one. Gives an error it stands for.

    Without such a line there was no reason: litellm calls every piece the last one.
    """
    found = [match[1] for line in lines for match in _REASON.finditer(line)]
    reason = found[-1] if found else ""
    if reason in _BLOCKED:
        choice["finish_reason"] = "content_filter"
    elif not lines or reason in _MODEL_FAILED:
        del choice["finish_reason"]
    if reason in _MODEL_FAILED:
        return {
            "error": {"message": f"The model ended with {reason}.", "type": "invalid_request_error", "code": _FAILED}
        }
    return None
