"""Rules and what is found to break them."""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

LONGEST_QUOTE: Final = 400
"""Characters of an event that a finding quotes."""
LONGEST_DETAIL: Final = 200
"""As above, of the sentence about it."""
MOST: Final = 50
"""Findings about one answer. A server that breaks a rule with every event would fill the memory."""


class Rule(NamedTuple):
    """What clients need."""

    name: str
    says: str
    """How it should be."""
    breaks: str
    """Which client breaks, and how."""
    is_fault: bool = True
    """Whether a client is known to break. Otherwise it is a note: something is promised and not kept."""


class Finding(NamedTuple):
    """A broken rule."""

    rule: Rule
    detail: str
    """What is wrong in this case."""
    quote: str
    """The event or body, cut if it is long."""

    def as_json(self) -> dict[str, Any]:
        """The finding as a program reads it."""
        rule = self.rule
        return {
            "rule": rule.name,
            "is_fault": rule.is_fault,
            "says": rule.says,
            "breaks": rule.breaks,
            "detail": self.detail,
            "quote": self.quote,
        }


class Findings:
    """A list of findings: the first for each rule and kind of event, and not too many."""

    def __init__(self) -> None:
        self.found: list[Finding] = []
        self.count = 0
        """How often a rule was broken."""
        self._seen: set[tuple[str, str]] = set()

    def add(self, rule: Rule, detail: str, offending: Any, kind: str = "") -> None:
        """Note that `offending` breaks the rule, unless an event of this kind has already broken it."""
        self.count += 1
        key = (rule.name, kind)
        if key in self._seen or len(self.found) >= MOST:
            return
        self._seen.add(key)
        self.found.append(Finding(rule, detail[:LONGEST_DETAIL], quoted(offending)))


def narrowed(offending: Any, *keys: str) -> Any:
    """A response, or the event that carries it, with these keys of the response alone."""
    if not isinstance(offending, Mapping):
        return offending
    response = offending.get("response")
    if isinstance(response, Mapping):
        return {"type": offending.get("type"), "response": narrowed(response, *keys)}
    return {key: offending[key] for key in keys if key in offending}


def quoted(value: Any) -> str:
    """The value as JSON (text as it is), cut if it is long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE]}…"
