"""The measure itself: it must see what is steep and what is fat."""

import pytest

from tests.support.scan import assert_lean, assert_linear, measure


def _numbers(n: int) -> list[int]:
    return list(range(n))


def _total(numbers: list[int]) -> int:
    return sum(numbers)


def test_linear_work_passes() -> None:
    assert_linear("sum", _numbers, _total, 100_000)


def test_squared_work_fails() -> None:
    def pairs(numbers: list[int]) -> int:
        return sum(number in numbers[:index] for index, number in enumerate(numbers))

    with pytest.raises(AssertionError, match="pairs: 4 times the input takes"):
        assert_linear("pairs", _numbers, pairs, 600)


def test_fat_work_fails() -> None:
    assert_lean("bytes", b"x" * 100_000, bytes.upper)
    with pytest.raises(AssertionError, match="objects: 100000 bytes need"):
        assert_lean("objects", b"x" * 100_000, lambda given: [[byte] for byte in given])


def test_both_are_measured() -> None:
    cost = measure(lambda: bytearray(1_000_000))
    assert 1_000_000 <= cost.peak < 1_100_000
    assert cost.seconds < 1
