"""What fingerprints cost: time in proportion to the prompt, a small part of its size, and no time to be compared."""

from typing import Any, Final

import pytest

from app.dialects.chat.chat_prefix import prefix_of
from app.prompt_cache.fingerprint import Fingerprint, fingerprint
from app.prompt_cache.first_change import MOST_COMPARED, continued, first_change
from app.prompt_cache.prefix import Prefix
from tests.support.scan import assert_linear, seconds_of

MOST_ITEMS: Final = 16_384
"""Items of a request, by default."""
SHARE: Final = 1 / 10
"""The most bytes of a fingerprint for each byte of a prompt."""


def prompt(messages: int, each: int) -> Prefix:
    """A prompt of this many messages with this many characters."""
    sent = [{"role": "user" if at % 2 else "assistant", "content": f"{at} " + "x" * each} for at in range(messages)]
    return prefix_of({"messages": sent, "tools": [{"type": "function", "function": {"name": "f"}}]})


def printed(prefix: Prefix) -> Fingerprint:
    return fingerprint(prefix, upstream="up", model="m")


@pytest.mark.parametrize(
    ("messages", "each", "share"), [(1, 32_000_000, 1 / 400), (8_000, 4_000, SHARE), (100, 900, SHARE)]
)
def test_a_fingerprint_is_much_shorter_than_its_prompt(messages: int, each: int, share: float) -> None:
    record = printed(prompt(messages, each))
    assert record.length > messages * each
    assert record.size < share * record.length


def test_even_for_the_shortest_messages_it_is_no_longer_than_the_prompt() -> None:
    record = printed(prompt(MOST_ITEMS, 0))
    assert record.size < record.length


def test_the_time_is_in_proportion_to_the_prompt() -> None:
    assert_linear("few long messages", lambda n: [prompt(4, n)], lambda made: printed(made[0]), 500_000)
    assert_linear("many messages", lambda n: [prompt(n, 100)], lambda made: printed(made[0]), 2_000)


def test_the_turn_before_is_found_at_once_among_many_long_ones() -> None:
    """Of thousands that are kept only the latest are compared, and each without a look at all of its parts."""
    known = printed(prompt(MOST_ITEMS, 10))
    longer = prompt(MOST_ITEMS + 2, 10)
    now = printed(longer)
    candidates: list[tuple[Any, Fingerprint]] = [(number, known) for number in range(10_000)]
    assert continued(now, candidates) == (9_999, known)
    assert seconds_of(lambda: continued(now, candidates)) < 0.02
    assert seconds_of(lambda: first_change(known, now, longer)) < 0.02
    unlike = printed(prompt(MOST_ITEMS, 11))
    assert continued(unlike, candidates) is None
    assert seconds_of(lambda: continued(unlike, candidates)) < 1
    assert len(candidates) > MOST_COMPARED
