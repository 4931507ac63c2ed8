"""What one copy asks the store and what the store answers, as the arguments and the reply of `admit.lua`."""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, Literal, NamedTuple, TypedDict, get_args

Verdict = Literal["admitted", "rate", "concurrency", "full", "guests_full", "share"]
_VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
"""The store's numbers for them are their positions."""
_EACH: Final = 3
"""Numbers in the reply for each turn."""


class BadReplyError(Exception):
    """The store's reply has another form than the script returns."""


class QuestionFields(TypedDict):
    """The fields of a `Question`, without the owner."""

    requests_per_minute: int
    concurrency: int
    is_guest: bool
    shares: bool
    used: float


class Question(NamedTuple):
    """Whether one more turn of this owner may begin."""

    owner: str
    """The hash of `Key.owner`: names and keys of callers do not leave this process."""
    requests_per_minute: int
    """0: no limit."""
    concurrency: int
    """0: no limit."""
    is_guest: bool
    shares: bool
    """Whether the owner may use only a fair share of all turns."""
    used: float
    """How much of its rate this process knows to be used, and the store may have forgotten."""


class Decision(NamedTuple):
    """The store's answer for one turn."""

    verdict: Verdict
    wait: float
    """Seconds until the rate allows the next turn."""
    used: float
    """How much of its rate the owner has used in all copies."""


class StoreBatch(NamedTuple):
    """One call of the script."""

    counts: Mapping[str, int]
    """Owner -> the turns that this copy runs for it; those that have changed."""
    questions: Sequence[Question]
    breakers: Mapping[str, float | None]
    """Upstream -> seconds since its breaker was opened, None if it was closed; those that have changed."""


class BatchReply(NamedTuple):
    """What the script returned."""

    is_new: bool
    """Whether the store did not know this copy, and so none of its counts."""
    decisions: list[Decision]
    """One for each question."""
    open_for: dict[str, float]
    """Upstream -> seconds since its breaker was opened."""


def hashed(name: str) -> str:
    """The hash under which the store knows an owner or an upstream."""
    return blake2b(name.encode("utf-8", "surrogateescape"), digest_size=16, person=b"am-proxy limits").hexdigest()


def keys_of(prefix: str, batch: StoreBatch) -> list[str]:
    """The keys that the script uses. All have one hash tag, so that a cluster keeps them on one server."""
    tag = f"{{{prefix}}}:"
    keys = [tag + name for name in ("copies", "turns", "guests", "breakers")]
    keys += [f"{tag}count:{owner}" for owner in batch.counts]
    for question in batch.questions:
        keys += (f"{tag}rate:{question.owner}", f"{tag}count:{question.owner}")
    return keys


def arguments_of(batch: StoreBatch, copy: str, lease: float, most: int, running: Iterable[int]) -> list[str]:
    """The arguments of the script. `running`: the turns that this copy runs, and those of guests among them."""
    numbers = (int(lease * 1000), most, *running, len(batch.counts), len(batch.questions), len(batch.breakers))
    arguments = [copy, *map(str, numbers), *map(str, batch.counts.values())]
    for question in batch.questions:
        arguments += (str(question.requests_per_minute), str(question.concurrency))
        arguments += (str(int(question.is_guest)), str(int(question.shares)), f"{question.used:.6f}")
    for upstream, open_for in batch.breakers.items():
        arguments += (upstream, "-1" if open_for is None else str(int(open_for * 1000)))
    return arguments


def read_reply(value: Any, questions: int) -> BatchReply:
    """The reply to a batch with so many questions. Raises `BadReplyError` for anything else than one."""
    match value:
        case [0 | 1 as is_new, [*numbers], [*open_for]] if len(numbers) == questions * _EACH and len(open_for) % 2 == 0:
            return BatchReply(is_new == 1, _decisions(numbers), _open_for(open_for))
        case _:
            raise BadReplyError


def _decisions(numbers: list[Any]) -> list[Decision]:
    if not all(type(number) is int and number >= 0 for number in numbers):
        raise BadReplyError
    if not all(number < len(_VERDICTS) for number in numbers[::_EACH]):
        raise BadReplyError
    return [
        Decision(_VERDICTS[verdict], wait / 1000, used / 1000)
        for verdict, wait, used in zip(numbers[::_EACH], numbers[1::_EACH], numbers[2::_EACH], strict=True)
    ]


def _open_for(values: list[Any]) -> dict[str, float]:
    names, passed = values[::2], values[1::2]
    if not all(isinstance(name, bytes) for name in names) or not all(type(each) is int for each in passed):
        raise BadReplyError
    return {name.decode("ascii", "replace"): each / 1000 for name, each in zip(names, passed, strict=True)}
