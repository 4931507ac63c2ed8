"""Google's Gemini. litellm gets equal calls of one step and some finish reasons wrong.

Up to Gemini 2.5 a call has no id, and litellm (1.106) drops every part of a message that is equal to one before it: of
three equal calls one is sent, with three outputs, which Google refuses. So equal calls are sent as successive steps:
the call and its output, then the next call and its output. From Gemini 3 on calls have ids, and no two are equal.
For every Gemini, litellm needs quadratic time for the calls of a message: so a long step is split into several.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from .provider import (
    LEVELS,
    AskFacts,
    ErrorWords,
    Json,
    Litellm,
    ModelFacts,
    Parser,
    Provider,
    Translation,
    formats_of_map,
)

LONGEST_STEP: Final = 64
"""Calls of one message. litellm compares each with all before it, and each output with all calls."""

_WITH_IDS: Final = re.compile(r"(?:.*/)?gemini-(?:[3-9]|[1-9]\d|.*latest$)")
_VERSIONED: Final = re.compile(r"/v\d\w*$")
"""The end of a base URL that contains a version."""
_REASON: Final = re.compile(r'"finishReason"\s*:\s*"([A-Z_]{1,60})"')
_SOURCES: Final = '"groundingMetadata"'
_GUESSED: Final = ("stop", "tool_calls")
"""Finish reasons that litellm gives where it knows none."""
_BLOCKED: Final = frozenset({"MODEL_ARMOR"})
_MODEL_FAILED: Final = frozenset(
    {"MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE", "TOO_MANY_TOOL_CALLS"}
)
"""Ends of an answer in which the model did something that its server could not use: it cannot be continued."""
_FAILED: Final = "tool_use_failed"
"""Groq's error code for such an end, which is read from every upstream."""


def efforts(facts: ModelFacts) -> tuple[str, ...]:
    """A Gemini 3 gets a level, an older one a budget. Only the small older ones can be asked not to think."""
    leveled, large = "gemini-3" in facts.model, "pro" in facts.model
    least = () if leveled and large else ("minimal",) if leveled or large else ("none", "minimal")
    return (*least, *LEVELS)


def drops_equal_calls(model: str) -> bool:
    """Whether litellm sends this Gemini one of several equal calls only."""
    return not _WITH_IDS.match(model.lower())


def in_steps(messages: Sequence[Json], *, splits_equal_calls: bool = True) -> list[Json]:
    """The same conversation, in which no message holds more than `LONGEST_STEP` calls, or, if wanted, equal ones."""
    sent: list[Json] = []
    position = 0
    while position < len(messages):
        message = messages[position]
        position += 1
        calls = message.get("tool_calls") or []
        groups = [
            group[start : start + LONGEST_STEP]
            for group in (_without_equal_calls(calls) if splits_equal_calls else [calls])
            for start in range(0, len(group), LONGEST_STEP)
        ]
        if len(groups) < 2:  # noqa: PLR2004 — nothing to split
            sent.append(message)
            continue
        outputs: dict[str, Json] = {}
        while position < len(messages) and messages[position].get("role") == "tool":
            outputs[str(messages[position].get("tool_call_id"))] = messages[position]
            position += 1
        for number, group in enumerate(groups):
            step = {"role": "assistant", "content": None} if number else message
            sent.append(step | {"tool_calls": group})
            sent += [outputs[call["id"]] for call in group if call["id"] in outputs]
    return sent


def _without_equal_calls(calls: Sequence[Json]) -> list[list[Json]]:
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


def _prepare(settings: Json, facts: AskFacts) -> Json:
    equal = drops_equal_calls(str(facts.ask["model"]))
    return settings | {"messages": in_steps(settings["messages"], splits_equal_calls=equal)}


def without_odd_sources(line: str) -> str:
    """The line of a stream without its sources, where litellm's parser would fail over them."""
    if _SOURCES not in line:
        return line
    start, data, written = line.partition("data:")
    try:
        decoded = json.loads(written)
    except (ValueError, RecursionError):
        return line
    candidates = decoded.get("candidates") if isinstance(decoded, dict) else None
    odd = [each for each in candidates if _is_odd(each)] if isinstance(candidates, list) else []
    for candidate in odd:
        del candidate["groundingMetadata"]
    return f"{start}{data} {json.dumps(decoded)}" if odd else line


def _is_odd(candidate: Any) -> bool:
    """Whether the sources of this candidate have a form that Google does not document."""
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


def correct_choice(choice: Json, lines: Sequence[str]) -> Json | None:
    """Correct the finish reason that litellm guessed, by the lines in which Gemini gave one.

    Returns an error to send, if the reason means one. Without such a line there was no reason: litellm calls
    every piece the last one.
    """
    if choice["finish_reason"] not in _GUESSED:
        return None
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


def _address(base_url: str) -> str:
    return base_url if _VERSIONED.search(base_url) else f"{base_url}/v1beta"


PARSER: Final = Parser(
    module="litellm.llms.vertex_ai.gemini.",
    noted='"finishReason"',  # written so, it is a key: in the model's text the quotes would be escaped
    correct_line=without_odd_sources,
    correct_choice=correct_choice,
)
"""litellm's parser of Gemini's streams, for every provider that serves it."""

GEMINI: Final = Translation(
    drops_strict=True,
    drops_parallel_calls=True,
    formats=formats_of_map,
    efforts=efforts,
    prepare=_prepare,
)
"""The translation of Gemini, for every provider that serves it."""

PROVIDERS: Final = (
    Provider(
        name="gemini",
        key_variable="GEMINI_API_KEY",
        one_maker=True,
        error_words=ErrorWords(
            too_long=("input token count.{0,60}exceeds", "maximum number of tokens allowed"),
            bad_key=("API_KEY_INVALID", "API key not valid"),
        ),
        litellm=Litellm(any_key=True, fetches_images="always", address=_address, parser=PARSER),
        translation=GEMINI,
    ),
)
