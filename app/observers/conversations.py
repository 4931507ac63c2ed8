"""Finds out which turns belong to one conversation: nothing but their own content says so.

Theory of operation
-------------------
A turn continues another one if its input begins with that one's input and answer. Of each turn a digest of this is
kept, as of its input alone, and looked for among the digests of all beginnings of a new input, the longest first:

    the end of an answer        it is continued
    an item with a summary      it is continued after that summary
    the end of an input         the answer was not used: it failed, was stopped, or was edited

A client may also name its conversation, as Codex does. Where the content says nothing, such as after a summary that
the client wrote by itself, the name decides. A turn that continues another one under another name is a fork: it begins
a session of its own. Many conversations begin with the same rules, so a turn with an empty answer, to which a client
may send no more than these, is continued by further items under its own name only.

Only digests are kept, and only of turns that are kept themselves.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .item_digest import chain


class TurnPlace(NamedTuple):
    """The place of a turn among the others of its conversation."""

    session: int
    number_in_session: int
    """From 0 on; turns that were forgotten count as well."""
    since: int | None = None
    """The number of the turn that it continues, or that came before it."""
    new_from: int = 0
    """How many items of its input were in that turn, as far as its content says."""
    is_continued: bool = False
    """Whether the input begins with all of that turn, its answer included."""


@dataclass
class _Session:
    name: str
    turns: list[int] = field(default_factory=list)
    """The numbers of the kept ones, oldest first."""
    count: int = 0


@dataclass
class _Digests:
    """What is kept of one turn."""

    session: int
    input: bytes
    answer: bytes = b""
    summaries: Sequence[bytes] = ()
    is_complete: bool = False


class Conversations:
    """The sessions of one owner. `new_session` numbers a new one."""

    def __init__(self, new_session: Callable[[], int]) -> None:
        self._new_session = new_session
        self._sessions: dict[int, _Session] = {}
        self._named: dict[str, int] = {}
        self._turns: dict[int, _Digests] = {}
        self._answers: dict[bytes, int] = {}
        self._summaries: dict[bytes, int] = {}
        self._inputs: dict[bytes, int] = {}

    def began(self, number: int, items: Sequence[bytes], name: str = "") -> TurnPlace:
        """The place of a new turn. `items` are the digests of its input."""
        beginnings = list(chain(list(items)))
        found = self._continued(items, beginnings)
        if found is not None and found.end.is_empty and self._is_fork(found.end, name):
            found = None
        session = self._session_of(found, name)
        self._turns[number] = _Digests(session, beginnings[-1] if beginnings else b"")
        if beginnings:
            self._inputs[beginnings[-1]] = number
        kept = self._sessions[session]
        turn = self._last_of(session) if found is None else found.end.turn
        result = TurnPlace(
            session, kept.count, turn, 0 if found is None else found.items, found is not None and found.is_all
        )
        kept.turns.append(number)
        kept.count += 1
        return result

    def answered(self, number: int, output: Sequence[bytes], summaries: Sequence[bytes] = ()) -> None:
        """Called when a turn is complete. `summaries`: the digests of those items that hold one."""
        turn = self._turns.get(number)
        if turn is None:
            return
        *_, turn.answer = turn.input, *chain(list(output), turn.input)
        turn.is_complete, turn.summaries = True, summaries
        self._answers[turn.answer] = number
        self._summaries |= dict.fromkeys(summaries, number)

    def turns_of(self, session: int) -> list[int]:
        """The numbers of its turns, oldest first."""
        return list(self._sessions[session].turns) if session in self._sessions else []

    def forget(self, number: int) -> None:
        """Forgets a turn, and its session with the last one."""
        turn = self._turns.pop(number, None)
        if turn is None:
            return
        known = ((self._inputs, turn.input), (self._answers, turn.answer))
        for numbers, digest in (*known, *((self._summaries, each) for each in turn.summaries)):
            if numbers.get(digest) == number:
                del numbers[digest]
        session = self._sessions[turn.session]
        session.turns.remove(number)
        if not session.turns:
            del self._sessions[turn.session]
            if self._named.get(session.name) == turn.session:
                del self._named[session.name]

    def _continued(self, items: Sequence[bytes], beginnings: Sequence[bytes]) -> "_Continued | None":
        """The turn that such an input continues."""
        for index in range(len(items) - 1, -1, -1):
            for digest, numbers in ((beginnings[index], self._answers), (items[index], self._summaries)):
                end = self._end(digest, numbers)
                if end is not None and (index < len(items) - 1 or not end.is_empty):
                    return _Continued(end, index + 1, is_all=True)
            end = self._end(beginnings[index], self._inputs)
            if end is not None and (index < len(items) - 1 or not end.is_complete):
                return _Continued(end, index + 1, is_all=False)
        return None

    def _end(self, digest: bytes, numbers: dict[bytes, int]) -> "_End | None":
        """The turn that left a conversation there."""
        if (number := numbers.get(digest)) is None:
            return None
        turn = self._turns[number]
        return _End(number, turn.session, turn.is_complete, turn.answer == turn.input)

    def _session_of(self, found: "_Continued | None", name: str) -> int:
        if found is not None and not self._is_fork(found.end, name):
            return self._joined(found.end.session, name)
        if name in self._named:
            return self._named[name]
        return self._joined(self._new_session(), name)

    def _is_fork(self, end: "_End", name: str) -> bool:
        """Whether the session of this turn has another name."""
        other = self._sessions[end.session].name
        return bool(name and other and other != name)

    def _joined(self, session: int, name: str) -> int:
        kept = self._sessions.setdefault(session, _Session(""))
        if name and not kept.name:
            kept.name = name
            self._named.setdefault(name, session)
        return session

    def _last_of(self, session: int) -> int | None:
        """The turn before in a session of which nothing else is known."""
        kept = self._sessions[session]
        return kept.turns[-1] if kept.turns else None


class _End(NamedTuple):
    """A turn that left a conversation there."""

    turn: int
    session: int
    is_complete: bool
    """Whether the turn has an answer."""
    is_empty: bool
    """Whether nothing is in the answer, as in that of a turn that was only prepared."""


class _Continued(NamedTuple):
    """A turn that an input continues."""

    end: _End
    items: int
    """How many items of the input are known from there."""
    is_all: bool
    """Whether they are all of that turn, its answer included."""
