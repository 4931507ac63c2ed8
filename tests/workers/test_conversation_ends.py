"""Where conversations were left, as each worker tells the others."""

import mmap

import pytest

from app.workers.conversation_ends import NEAR, ConversationEnds, SharedEnd

END = SharedEnd(turn=7, session=3, place=2, name=2**55, is_complete=True, is_empty=False)


@pytest.mark.parametrize(
    ("owner", "worker", "kind", "digest", "found"),
    [
        ("alice", 1, b"answer", b"d" * 16, END),
        ("alice", 0, b"answer", b"d" * 16, None),
        ("bob", 1, b"answer", b"d" * 16, None),
        ("alice", 1, b"input", b"d" * 16, None),
        ("alice", 1, b"answer", b"e" * 16, None),
    ],
    ids=["another worker", "the same worker knows it itself", "another owner", "another kind", "another digest"],
)
def test_an_end_is_found_by_other_workers_of_the_same_owner(
    owner: str, worker: int, kind: bytes, digest: bytes, found: SharedEnd | None
) -> None:
    ends = ConversationEnds(2)
    ends.of(0, "alice").put(b"answer", b"d" * 16, END)
    assert ends.of(worker, owner).find(kind, digest) == found


def test_an_end_that_is_told_again_is_replaced() -> None:
    ends = ConversationEnds(3)
    ends.of(0, "").put(b"input", b"d", END)
    ends.of(1, "").put(b"input", b"d", END._replace(turn=8))
    assert ends.of(2, "").find(b"input", b"d") == END._replace(turn=8)


def test_a_worker_that_forgets_its_turns_is_not_found() -> None:
    ends = ConversationEnds(2)
    ends.of(0, "").put(b"input", b"d", END)
    ends.forget(0)
    assert ends.of(1, "").find(b"input", b"d") is None
    ends.of(0, "").put(b"input", b"d", END)
    assert ends.of(1, "").find(b"input", b"d") == END


def test_the_oldest_end_gives_way() -> None:
    ends = ConversationEnds(2, slots=NEAR)
    kinds = [str(number).encode() for number in range(NEAR + 2)]
    for kind in kinds:
        ends.of(0, "").put(kind, b"d", END)
    assert [ends.of(1, "").find(kind, b"d") is None for kind in kinds] == [True] * 2 + [False] * NEAR


@pytest.mark.parametrize("kind", ["new_turn", "new_session"])
def test_numbers_tell_the_worker_and_are_not_used_again(kind: str) -> None:
    ends = ConversationEnds(2)
    new = getattr(ends, kind)
    numbers = [new(worker) for worker in (0, 0, 1)]
    ends.forget(0)
    assert [*numbers, new(0)] == [1, 3, 2, 5]


def test_an_end_that_is_being_written_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[mmap.mmap] = []
    new = mmap.mmap

    def kept(number: int, size: int) -> mmap.mmap:
        made.append(new(number, size))
        return made[-1]

    monkeypatch.setattr(mmap, "mmap", kept)
    ends = ConversationEnds(2, slots=1)
    ends.of(0, "").put(b"input", b"d", END)
    assert ends.of(1, "").find(b"input", b"d") == END
    made[0][30] ^= 1
    assert ends.of(1, "").find(b"input", b"d") is None
