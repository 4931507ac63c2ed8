"""The envelope: what opens it, and that nothing else does."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.main import sealer_of
from app.protocol.problems import ProblemError
from app.protocol.seals import VERSION
from app.sealing import MOST_OPENED, EnvelopeSealer, RequestSealer
from app.settings import Seal, Secret

PATH = "input[0].encrypted_content"
OLD, NEW, OTHER = "o" * 32, "n" * 32, "x" * 32
THOUGHT: dict[str, Any] = {"text": "hm", "fields": {"thinking_blocks": [{"signature": "Eq0B" * 40}]}, "é": [1, None]}
FORMER = "AM1.2_jtLAAAAAAAAAAAAAAAAM6j5mDCThe6oFZDI7ldKpGGTohMKyGX3BPsew49eAwpo4wRzDUhAQD5bk0"
"""What an earlier release sealed under `OLD`: {"text": "hm"}."""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


def counting() -> Callable[[int], bytes]:
    """Chance that never repeats, and is the same in every run."""
    drawn = iter(range(2**32))
    return lambda size: next(drawn).to_bytes(size, "big")


def sealer(
    *keys: str, at: float = 1_700_000_000, max_age: float | None = None, most_opened: int = MOST_OPENED
) -> RequestSealer:
    """A sealer whose clock stands still."""
    sealing = EnvelopeSealer(keys or [OLD], chance=counting(), now=lambda: at, max_age=max_age, most_opened=most_opened)
    return sealing.for_owner("")


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_what_was_sealed_is_what_is_opened(content: dict[str, Any]) -> None:
    envelope = sealer().seal("reasoning", content)
    assert sealer().open("reasoning", envelope, PATH) == content
    assert envelope.startswith(VERSION)
    assert envelope.isascii()


@pytest.mark.parametrize("content", [{}, {"text": "h"}, {"text": "hm"}, {"text": "hmm"}, THOUGHT])
def test_one_flipped_bit_anywhere_is_noticed(content: dict[str, Any]) -> None:
    """In the bytes, and in the characters that spell them: the lengths above leave 0, 2 and 4 spare bits at the end."""
    envelope = sealer().seal("reasoning", content)
    text = envelope.encode()
    flipped = {
        bytes([*text[:at], text[at] ^ (1 << bit), *text[at + 1 :]]).decode("latin-1")
        for at in range(len(text))
        for bit in range(8)
    }
    raw = urlsafe_b64decode(envelope.removeprefix(VERSION) + "==")
    flipped |= {
        VERSION + urlsafe_b64encode(bytes([*raw[:at], raw[at] ^ (1 << bit), *raw[at + 1 :]])).rstrip(b"=").decode()
        for at in range(len(raw))
        for bit in range(8)
    }
    assert len(flipped) > 8 * len(text)
    assert [other for other in flipped if sealer().open("reasoning", other, PATH) is not None] == []


@pytest.mark.parametrize("length", range(0, 160, 7))
def test_an_envelope_that_was_cut_or_prolonged_does_not_open(length: int) -> None:
    envelope = sealer().seal("reasoning", THOUGHT)
    assert sealer().open("reasoning", envelope[:length], PATH) is None
    assert sealer().open("reasoning", envelope + "A" * (length + 1), PATH) is None
    assert sealer().open("reasoning", envelope + "=", PATH) is None


@given(st.text() | st.text("AMam1.-_=") | st.text().map(VERSION.__add__))
def test_no_text_of_somebody_else_opens_or_breaks_anything(text: str) -> None:
    assert sealer().open("reasoning", text, PATH) is None


def test_an_envelope_of_one_kind_does_not_open_as_another() -> None:
    assert sealer().open("compaction", sealer().seal("reasoning", THOUGHT), PATH) is None
    assert sealer().open("compaction", sealer().seal("compaction", THOUGHT), PATH) == THOUGHT


def test_keys_are_rotated_by_putting_the_new_one_first() -> None:
    before, between, after = sealer(OLD), sealer(NEW, OLD), sealer(NEW)
    old, new = before.seal("reasoning", THOUGHT), between.seal("reasoning", THOUGHT)
    assert between.open("reasoning", old, PATH) == THOUGHT
    assert after.open("reasoning", new, PATH) == THOUGHT
    assert after.open("reasoning", old, PATH) is None
    assert before.open("reasoning", new, PATH) is None


def test_replicas_that_share_a_key_open_each_others_envelopes_and_strangers_do_not() -> None:
    shared = Seal(keys=(Secret(OLD),))
    one, other, stranger = sealer_of(shared), sealer_of(shared), sealer_of(Seal())
    assert one
    assert other
    assert stranger
    envelope = one.for_owner("").seal("reasoning", THOUGHT)
    assert other.for_owner("").open("reasoning", envelope, PATH) == THOUGHT
    assert stranger.for_owner("").open("reasoning", envelope, PATH) is None


def test_an_envelope_opens_until_it_is_too_old() -> None:
    """Another replica's clock may run a little ahead."""
    envelope = sealer(at=1000).seal("reasoning", THOUGHT)
    opened = {at: sealer(at=at, max_age=60).open("reasoning", envelope, PATH) for at in (800, 1000, 1060, 1062)}
    assert opened == {800: THOUGHT, 1000: THOUGHT, 1060: THOUGHT, 1062: None}
    assert sealer(at=10**10).open("reasoning", envelope, PATH) == THOUGHT


def test_no_envelope_says_anything_in_clear_or_twice_the_same() -> None:
    one = sealer()
    first, second = one.seal("reasoning", THOUGHT), one.seal("reasoning", THOUGHT)
    assert first != second
    opened = urlsafe_b64decode(first.removeprefix(VERSION) + "==")
    assert b"Eq0B" not in opened
    assert b"text" not in opened


def test_a_long_thought_travels_compressed() -> None:
    content = {"text": "Let me think about that step by step. " * 400}
    assert len(sealer().seal("reasoning", content)) < 3000


@pytest.mark.parametrize("text", ["a" * 8_000_000, "no two alike, " * 7, ""])
def test_no_envelope_holds_much_more_than_its_length_says(text: str) -> None:
    """Or a client could make a small request that costs as much as a large one."""
    one = sealer()
    envelope = one.seal("compaction", {"summary": text})
    assert len(text) <= 8 * len(envelope)
    assert one.open("compaction", envelope, PATH) == {"summary": text}


def test_what_the_envelopes_of_one_request_hold_is_bounded_in_all() -> None:
    """The third of them is one too many, whether it is compressed or not; the next reading begins anew."""
    for text in ("a" * 4_000, "".join(map(chr, range(0x4E00, 0x4E00 + 1_200)))):
        one = sealer(most_opened=10_000)
        envelope = one.seal("reasoning", {"text": text})
        assert [one.open("reasoning", envelope, PATH) for _ in range(2)] == [{"text": text}] * 2
        with pytest.raises(ProblemError) as raised:
            one.open("reasoning", envelope, PATH)
        problem = raised.value.problem
        assert (problem.code, problem.param) == ("invalid_value", PATH)
        assert "10000 bytes" in problem.message
        assert one.fresh().open("reasoning", envelope, PATH) == {"text": text}


def test_what_does_not_open_counts_for_nothing() -> None:
    one = sealer(most_opened=10_000)
    foreign = sealer(OTHER).seal("reasoning", {"text": "a" * 9_000})
    assert [one.open("reasoning", foreign, PATH) for _ in range(9)] == [None] * 9
    assert one.open("reasoning", one.seal("reasoning", THOUGHT), PATH) == THOUGHT


def test_many_small_values_count_for_what_they_cost() -> None:
    """An object of two characters takes thirty times as many bytes of memory."""
    one = sealer(most_opened=10_000)
    envelope = one.seal("compaction", {"after": [{}] * 1_000})
    assert len(envelope) > 10_000
    with pytest.raises(ProblemError):
        one.open("compaction", envelope, PATH)


def test_nothing_is_sealed_if_the_settings_say_never() -> None:
    assert sealer_of(Seal(when="never")) is None
    assert sealer_of(Seal(when="always")) is not None


def test_a_sealer_without_a_key_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="no key to seal with"):
        EnvelopeSealer([], chance=counting(), now=lambda: 0)


def for_owner(owner: str, *, shared: bool = False, alone: bool = False) -> RequestSealer:
    """The sealer of this owner."""
    return EnvelopeSealer([OLD], chance=counting(), now=lambda: 1_700_000_000, shared=shared).for_owner(
        owner, alone=alone
    )


@pytest.mark.parametrize(
    ("by", "of", "opens"),
    [
        (for_owner("key:alice"), for_owner("key:alice"), True),
        (for_owner("key:alice"), for_owner("key:bob"), False),
        (for_owner("key:alice"), for_owner(""), False),
        (for_owner(""), for_owner("key:alice"), False),
        (for_owner("key:alice", shared=True), for_owner("key:bob", shared=True), True),
        (for_owner("key:alice"), for_owner("key:alice", shared=True), True),
        (for_owner("key:alice"), for_owner("key:bob", shared=True), False),
        (for_owner("key:alice", shared=True), for_owner("key:alice"), False),
        (for_owner("key:alice", shared=True), for_owner("guest:1", shared=True, alone=True), False),
        (for_owner("guest:1", shared=True, alone=True), for_owner("key:alice", shared=True), False),
        (for_owner("guest:1", shared=True, alone=True), for_owner("guest:2", shared=True, alone=True), False),
        (for_owner("guest:1", shared=True, alone=True), for_owner("guest:1", alone=True), True),
        (for_owner("shared"), for_owner("", shared=True), False),
    ],
    ids=[
        "own", "another's", "keys were taken away", "keys came", "shared", "shared from now on", "shared too late",
        "shared no longer", "a guest", "of a guest", "another guest", "the same guest", "a name that says shared",
    ],
)  # fmt: skip
def test_an_envelope_opens_for_its_owner_and_for_others_only_if_seals_are_shared(
    by: RequestSealer, of: RequestSealer, *, opens: bool
) -> None:
    envelope = by.seal("reasoning", THOUGHT)
    assert of.open("reasoning", envelope, PATH) == (THOUGHT if opens else None)
    assert of.fresh().open("reasoning", envelope, PATH) == (THOUGHT if opens else None)


@pytest.mark.parametrize(
    ("sealer", "opened"),
    [
        (for_owner(""), None),
        (for_owner("key:alice"), None),
        (for_owner("key:alice", shared=True), {"text": "hm"}),
        (for_owner("guest:1", shared=True, alone=True), None),
    ],
    ids=["without keys", "bound", "shared", "a guest"],
)
def test_an_envelope_of_an_earlier_release_opens_where_seals_are_shared(sealer: RequestSealer, opened: Any) -> None:
    """It was bound to nobody."""
    assert sealer.open("reasoning", FORMER, PATH) == opened
    assert sealer.open("reasoning", VERSION + FORMER[4:], PATH) is None


def test_an_envelope_does_not_pass_for_one_of_an_earlier_release() -> None:
    """Which would take off the owner it is bound to."""
    envelope = for_owner("key:alice").seal("reasoning", THOUGHT)
    assert for_owner("key:bob", shared=True).open("reasoning", "AM1." + envelope[4:], PATH) is None
