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
a session of its own.

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
        session = self._session_of(found, name)
        self._turns[number] = _Digests(session, beginnings[-1] if beginnings else b"")
        if beginnings:
            self._inputs[beginnings[-1]] = number
        kept = self._sessions[session]
        since, new_from, is_continued = found or (kept.turns[-1] if kept.turns else None, 0, False)
        place = TurnPlace(session, kept.count, since, new_from, is_continued)
        kept.turns.append(number)
        kept.count += 1
        return place

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

    def _continued(self, items: Sequence[bytes], beginnings: Sequence[bytes]) -> tuple[int, int, bool] | None:
        """The turn that such an input continues, how many items they share, and whether the answer is among them."""
        for index in range(len(items) - 1, -1, -1):
            if (found := self._answers.get(beginnings[index])) is not None:
                return found, index + 1, True
            if (found := self._summaries.get(items[index])) is not None:
                return found, index + 1, True
            if (found := self._inputs.get(beginnings[index])) is not None and (
                index < len(items) - 1 or not self._turns[found].is_complete
            ):
                return found, index + 1, False
        return None

    def _session_of(self, found: tuple[int, int, bool] | None, name: str) -> int:
        if found is not None:
            session = self._turns[found[0]].session
            other = self._sessions[session].name
            if not name or not other or other == name:
                self._name(session, name)
                return session
        if name in self._named:
            return self._named[name]
        session = self._new_session()
        self._sessions[session] = _Session("")
        self._name(session, name)
        return session

    def _name(self, session: int, name: str) -> None:
        if name and not self._sessions[session].name:
            self._sessions[session].name = name
            self._named.setdefault(name, session)
