from functools import partial

import pytest

from app.observers.in_order import Backlog, InOrder


async def test_pieces_wait_in_their_order_and_one_owner_leaves_room_for_others() -> None:
    backlog = Backlog(most=400_000, most_of_one=200_000)
    one, other = (InOrder(backlog, {"owner": owner}) for owner in ("key:a", "key:b"))
    written: list[int] = []
    assert [one.write(size, partial(written.append, size)) for size in (100_000, 1, 100_000, 99_000)] == [
        True, True, False, True,
    ]  # fmt: skip
    assert [other.write(150_000, partial(written.append, 2)), written] == [True, []]
    await backlog.close()
    assert ([size for size in written if size != 2], sorted(written)[1]) == ([100_000, 1, 99_000], 2)
    assert one.write(100_000, partial(written.append, 3))
    await backlog.close()
    assert written[-1] == 3


async def test_pieces_without_bytes_wait_for_the_others(caplog: pytest.LogCaptureFixture) -> None:
    backlog = Backlog()
    pieces = InOrder(backlog, {})
    written: list[int] = []
    assert all(pieces.write(size, partial(written.append, size)) for size in (100_000, 0, 0))
    await backlog.close()
    assert (written, caplog.records) == ([100_000, 0, 0], [])


async def test_a_piece_that_cannot_be_written_is_an_observer_that_failed(caplog: pytest.LogCaptureFixture) -> None:
    backlog = Backlog(most=100_000)
    lines = InOrder(backlog, {"request_id": "req-1"})
    assert lines.write(90_000, partial(divmod, 1, 0))
    assert lines.write(10_000, partial(divmod, 1, 0))
    await backlog.close()
    assert [(record.message, record.__dict__["request_id"]) for record in caplog.records] == [
        ("an observer failed", "req-1")
    ]
    assert backlog.take("", 100_000)
