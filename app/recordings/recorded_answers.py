"""What upstreams answered, from recordings: by the ask, or in the order in which it was recorded."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple, Protocol

from ..json_text import json_bytes
from .comparison import first_difference, plain_ask
from .folders import folders_in
from .reading import NoRecordingError, read
from .recording import Arrival, Exchange, Recording

MOST_BYTES: Final = 64 * 1024 * 1024
"""Bytes of the recordings that one upstream serves."""
_NEAREST: Final = 200
"""Recorded asks that are compared with one that has no recording."""
_LIMIT: Final = 120
"""Seconds that an upstream may be silent, if nothing else was configured."""
_LONGEST: Final = 86_400
_NEARLY: Final = 0.95
"""The part of the time limit from which a silence counts as one: times are measured at different places."""
_VALUE: Final = 60
"""Characters of a value that a message quotes."""


class RecordedAnswer(NamedTuple):
    """What came back after one ask."""

    name: str
    """The name of the recording."""
    arrivals: list[Arrival]
    was_silent: bool
    """Whether it ended because nothing came within the time limit. If AM Proxy stopped reading for another reason,
    it is not known what would have come."""


class NotRecordedError(Exception):
    """No recording fits an ask; the text says what is nearest."""


class RecordedAnswers(Protocol):
    """Finds the answer to an ask."""

    def next_answer(self, ask: Any) -> RecordedAnswer:
        """The answer to this ask, which may be long: called in a thread then. Raises `NotRecordedError`."""
        ...


class AnswersInOrder:
    """The answers of one upstream in one recording, one after the other, whatever it is asked."""

    def __init__(self, recording: Recording, upstream: str) -> None:
        asked = [each for each in recording.exchanges if each.upstream == upstream]
        self._answers = iter([RecordedAnswer("", each.arrivals, was_silent(recording, each)) for each in asked])

    def next_answer(self, ask: Any) -> RecordedAnswer:  # noqa: ARG002 — as it says
        """The next answer."""
        answer = next(self._answers, None)
        if answer is None:
            raise NotRecordedError("The recording has no further answer of this upstream.")
        return answer


class AnswersByAsk:
    """The answers in several recordings, by their asks. Of several answers to one ask, the last one is repeated.

    If no ask with this model fits, one with another model does: the name may be another one here.
    """

    def __init__(self, recordings: Iterable[tuple[str, Recording]], upstream: str) -> None:
        self._answers: defaultdict[bytes, list[RecordedAnswer]] = defaultdict(list)
        self._asks: dict[bytes, tuple[str, Any]] = {}
        self._one_at_a_time = Lock()
        for name, recording in recordings:
            for exchange in recording.exchanges:
                if exchange.upstream == upstream:
                    answer = RecordedAnswer(name, exchange.arrivals, was_silent(recording, exchange))
                    ask = plain_ask(exchange.ask)
                    key = _key(ask)
                    self._answers[key].append(answer)
                    self._answers[_key(_of_any_model(ask))].append(answer)
                    self._asks.setdefault(key, (name, ask))

    @property
    def asks(self) -> int:
        """How many different asks were recorded."""
        return len(self._asks)

    def next_answer(self, ask: Any) -> RecordedAnswer:
        """The next answer to this ask."""
        kept = plain_ask(ask)
        with self._one_at_a_time:
            for key in (_key(kept), _key(_of_any_model(kept))):
                if answers := self._answers.get(key):
                    return answers.pop(0) if len(answers) > 1 else answers[0]
        raise NotRecordedError(self._nearest(kept))

    def _nearest(self, ask: Any) -> str:
        """Where the ask differs from the recorded one that is equal for longest."""
        best = ""
        longest = -1
        asked = _key(ask)
        for key, (name, recorded) in list(self._asks.items())[:_NEAREST]:
            equal = _equal_bytes(key, asked)
            if equal > longest and (found := first_difference(_of_any_model(recorded), _of_any_model(ask))):
                longest = equal
                before, now = _quoted(found.recorded), _quoted(found.now)
                best = f" The nearest is in {name}: {found.where} is {before} there, and {now} here."
        return f"No recording has this request.{best}"


def was_silent(recording: Recording, exchange: Exchange) -> bool:
    """Whether this upstream sent nothing until its time limit."""
    if not exchange.arrivals or not exchange.arrivals[-1].closed:
        return False
    upstreams = recording.about.settings.get("upstreams")
    table = upstreams.get(exchange.upstream) if isinstance(upstreams, dict) else None
    limit: float = _LIMIT
    if isinstance(table, dict):
        limits = [table.get("timeout", _LIMIT), table.get("first_payload_timeout")]
        limit = min(value for value in (*limits, _LONGEST) if isinstance(value, int | float))
    times = [0.0, *(arrival.at for arrival in exchange.arrivals)]
    return times[-1] - times[-2] >= limit * _NEARLY * 1000


def recordings_of(folder: Path) -> list[tuple[str, Recording]]:
    """The recordings in this folder, with their names. Raises `NoRecordingError` if one cannot be read."""
    try:
        folders = folders_in(folder)
    except OSError as error:
        raise NoRecordingError(f"{folder} cannot be read: {error.strerror}") from None
    found: list[tuple[str, Recording]] = []
    left = MOST_BYTES
    for each in folders:
        left -= sum(file.lstat().st_size for file in each.iterdir())
        if left < 0:
            raise NoRecordingError(f"{folder} has more than {MOST_BYTES} bytes of recordings")
        try:
            found.append((each.name, read(each)))
        except NoRecordingError as error:
            raise NoRecordingError(f"{each}: {error}") from None
    if not found:
        raise NoRecordingError(f"{folder} has no recording")
    return found


def _of_any_model(ask: Any) -> Any:
    return {name: value for name, value in ask.items() if name != "model"} if isinstance(ask, dict) else ask


def _key(ask: Any) -> bytes:
    return json_bytes(_sorted(ask))


def _sorted(value: Any) -> Any:
    match value:
        case dict():
            return {key: _sorted(value[key]) for key in sorted(value)}
        case list():
            return [_sorted(member) for member in value]
        case _:
            return value


def _equal_bytes(one: bytes, other: bytes) -> int:
    """How many bytes are equal from the beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _quoted(value: Any) -> str:
    text = json_bytes(value).decode("utf-8", "replace")
    return text if len(text) <= _VALUE else f"{text[: _VALUE - 1]}…"
