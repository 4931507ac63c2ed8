"""The first difference between two prompts, and which of several earlier prompts a new one probably continues."""

from collections.abc import Iterable, Sequence
from typing import Final, Literal, NamedTuple, TypeVar

from .fingerprint import DIGEST, Fingerprint, offset_of
from .prefix import SUMMARIZED, Prefix, Reason

How = Literal["changed", "added", "reordered", "fewer", "shorter"]

BEFORE_PARTS: Final[tuple[Reason, ...]] = ("prompt_cache_key_changed",)
"""Settings that matter more than all parts."""
BEFORE_MESSAGES: Final[tuple[Reason, ...]] = (
    "text_format_changed", "reasoning_effort_changed", "verbosity_changed",
)  # fmt: skip
"""Settings that matter less than tools, and more than other parts."""
ALIKE: Final = 0.5
"""The share of the shorter prompt that another one must have in common with it to be its continuation: of its bytes at
least this share, or more than this share of its parts."""
MOST_COMPARED: Final = 64
"""Prompts whose beginnings are compared, the latest ones."""
MOST_SEARCHED: Final = 16
"""Of them, prompts in which parts are looked for one by one."""


WORDS: Final[dict[How, str]] = {
    "changed": "changed",
    "added": "was added",
    "reordered": "is another tool: they are the same in another order",
    "fewer": "are fewer than before",
    "shorter": "is shorter than before",
}


class Change(NamedTuple):
    """What changed first."""

    reason: Reason
    place: str
    """The path of the part in the ask, or the name of the setting."""
    kind: str = ""
    """What the part is."""
    how: How = "changed"
    byte: int | None = None
    """Bytes of the prompt before the change. A change is found to `FINE` bytes, so there may be a few more."""
    length: int = 0
    """Bytes of the new prompt."""

    @property
    def words(self) -> str:
        """It in plain words."""
        named = f"{self.place} ({self.kind})" if self.kind else self.place
        where = "" if self.byte is None else f", near byte {self.byte:,} of {self.length:,}"
        return f"{named} {WORDS[self.how]}{where}"

    @property
    def lost(self) -> float:
        """The share of the new prompt that comes after the change."""
        return 1.0 if self.byte is None or not self.length else 1 - self.byte / self.length


def first_change(before: Fingerprint, now: Fingerprint, prefix: Prefix) -> Change | None:
    """The first change; None if everything in `before` is still there, perhaps with more after it.

    `prefix` is the new prompt.
    """
    if before.model != now.model:
        place = "model" if before.model[1] != now.model[1] else "upstream"
        return Change("model_changed", place)
    if change := _changed_setting(before, now, prefix, BEFORE_PARTS):
        return change
    part = _first_different_part(before, now, prefix)
    if part is not None and part.reason == "tools_changed":
        return part
    return _changed_setting(before, now, prefix, BEFORE_MESSAGES) or part or _changed_setting(before, now, prefix, None)


CandidateT = TypeVar("CandidateT")


def continued(
    now: Fingerprint, candidates: Sequence[tuple[CandidateT, Fingerprint]]
) -> tuple[CandidateT, Fingerprint] | None:
    """The prompt among these, oldest first, that the new one probably continues; None if it resembles none.

    It is the one with the longest common beginning, and of several the latest. Where the beginning itself changed, it
    is the one with the most parts in common. In a short conversation that may be little but a message, so it may be
    the one whose messages are all at the beginning of the new ones, if its rules begin alike. One for another model is
    continued only if all its messages are there: many agents begin in the same way.
    """
    latest = [each for each in candidates[: -MOST_COMPARED - 1 : -1] if _may_continue(each[1], now)]
    best = max(latest, key=lambda each: now.start(_common(each[1], now)), default=None)
    if best is None or _alike(_beginning(best[1], now), best[1], now):
        return best
    best = max(latest[:MOST_SEARCHED], key=lambda each: _shared(each[1], now))
    if _alike(_shared(best[1], now), best[1], now):
        return best
    messages = _messages(now)
    shorter = [each for each in latest if _is_beginning(_messages(each[1]), messages) and _rules_alike(each[1], now)]
    return max(shorter, key=lambda each: len(_messages(each[1])), default=None)


class _Common(NamedTuple):
    """What two prompts have in common."""

    size: int
    parts: int


def _beginning(before: Fingerprint, now: Fingerprint) -> _Common:
    parts = _common(before, now)
    return _Common(now.start(parts), parts)


def _shared(before: Fingerprint, now: Fingerprint) -> _Common:
    """The parts that are in both, wherever."""
    known = set(map(before.digest, range(before.parts)))
    shared = [part for part in range(now.parts) if now.digest(part) in known]
    return _Common(sum(now.ends[part] - now.start(part) for part in shared), len(shared))


def _messages(print_: Fingerprint) -> bytes:
    """The hashes of its messages."""
    return print_.digests[(print_.tools + print_.system) * DIGEST :]


def _may_continue(before: Fingerprint, now: Fingerprint) -> bool:
    return before.model == now.model or _messages(now).startswith(_messages(before))


def _is_beginning(messages: bytes, longer: bytes) -> bool:
    return 0 < len(messages) < len(longer) and longer.startswith(messages)


def _rules_alike(before: Fingerprint, now: Fingerprint) -> bool:
    """Whether a tool is in both, or both have a system prompt with the same beginning."""
    tools = set(map(before.digest, range(before.tools)))
    if any(now.digest(part) in tools for part in range(now.tools)):
        return True
    if not before.system or not now.system:
        return False
    return before.checks_of(before.tools)[:1] == now.checks_of(now.tools)[:1]


def _alike(common: _Common, before: Fingerprint, now: Fingerprint) -> bool:
    if not common.parts:
        return False
    shorter = min(before.length, now.length), min(before.parts, now.parts)
    return common.size >= ALIKE * shorter[0] or common.parts > ALIKE * shorter[1]


def _changed_setting(
    before: Fingerprint, now: Fingerprint, prefix: Prefix, reasons: Iterable[Reason] | None
) -> Change | None:
    """The first setting with one of these reasons, or with any, that changed."""
    for setting in prefix.settings:
        if (reasons is None or setting.reason in reasons) and before.settings.get(setting.name) != now.settings.get(
            setting.name
        ):
            return Change(setting.reason, setting.name, length=now.length)
    return None


def _first_different_part(before: Fingerprint, now: Fingerprint, prefix: Prefix) -> Change | None:
    """The first part that differs."""
    at = _common(before, now)
    if at == before.parts and (before.tools, before.system) == (now.tools, now.system):
        return None  # more may follow
    section = _section(at, before, now)
    if at >= section.end:
        return Change(section.reason, section.name, "", section.if_less, now.start(at), now.length)
    how: How = "added" if at >= section.end_before else "changed"
    if how == "changed" and section.name == "tools" and _same_tools(before, now):
        how = "reordered"
    part = (*prefix.tools, *prefix.system, *prefix.messages)[at]
    byte = now.start(at) + (_offset(before, now, at) if how == "changed" else 0)
    return Change(section.reason, part.place, part.kind, how, byte, now.length)


class _Section(NamedTuple):
    """Tools, system prompt or messages."""

    name: str
    reason: Reason
    if_less: How
    end: int
    """How many parts are in it and before it."""
    end_before: int
    """The same in the earlier prompt."""


def _section(at: int, before: Fingerprint, now: Fingerprint) -> _Section:
    """The first section that a change at this part concerns."""
    tools = _Section("tools", "tools_changed", "fewer", now.tools, before.tools)
    ends = now.tools + now.system, before.tools + before.system
    system = _Section("the system prompt", "input_changed", "shorter", *ends)
    reason: Reason = SUMMARIZED if now.summaries > before.summaries else "input_changed"
    messages = _Section("messages", reason, "fewer", now.parts, before.parts)
    return next((each for each in (tools, system) if at < max(each.end, each.end_before)), messages)


def _common(before: Fingerprint, now: Fingerprint) -> int:
    """How many parts are the same from the beginning on. Slices are compared, because there may be many thousands."""
    low, high = 0, min(before.parts, now.parts)
    while low < high:
        middle = (low + high + 1) // 2
        if before.digests[low * DIGEST : middle * DIGEST] == now.digests[low * DIGEST : middle * DIGEST]:
            low = middle
        else:
            high = middle - 1
    return low


def _offset(before: Fingerprint, now: Fingerprint, part: int) -> int:
    """How many bytes of this part are the same, as far as the checks tell."""
    one, other = before.checks_of(part), now.checks_of(part)
    for number, (check, changed) in enumerate(zip(one, other, strict=False)):
        if check != changed:
            return offset_of(number)
    return offset_of(max(min(len(one), len(other)) - 1, 0))


def _same_tools(before: Fingerprint, now: Fingerprint) -> bool:
    def digests(print_: Fingerprint) -> list[bytes]:
        return sorted(map(print_.digest, range(print_.tools)))

    return digests(before) == digests(now)
