"""Text that arrives in pieces: halves of characters, and thoughts between tags."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.dialects.chat.think_tags import ThinkTags
from app.dialects.surrogates import SurrogateJoiner, mended, mended_all
from app.emitter.deltas import ReasoningDelta, TextDelta


def utf16_units(text: str) -> list[str]:
    raw = text.encode("utf-16-le")
    return [raw[place : place + 2].decode("utf-16-le", "surrogatepass") for place in range(0, len(raw), 2)]


@given(st.text(), st.data())
def test_a_text_cut_into_any_pieces_of_utf_16_comes_out_whole(text: str, data: st.DataObject) -> None:
    units = utf16_units(text)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(units)), max_size=8)))
    joiner = SurrogateJoiner()
    pieces = ["".join(units[a:b]) for a, b in zip([0, *cuts], [*cuts, len(units)], strict=True)]
    assert "".join(joiner.add(piece) for piece in pieces) + joiner.rest() == text


@given(st.text(st.characters(), max_size=20), st.sampled_from(["\ud83d", "\ude00"]))
def test_whatever_arrives_can_be_written_as_utf_8(text: str, half: str) -> None:
    joiner = SurrogateJoiner()
    result = joiner.add(text + half) + joiner.add(text) + joiner.rest()
    assert result.encode()


def test_a_lone_half_becomes_the_replacement_character_everywhere() -> None:
    assert mended("a\ud83db") == "a\ufffdb"
    assert mended_all({"\ud83d": ["\ude00", 1, None]}) == {"\ufffd": ["\ufffd", 1, None]}


CASES = [
    ("<think>hm</think>\n\nHello", "hm", "\n\nHello"),
    ("\n<think>\nhm\n</think>Hello", "\nhm\n", "Hello"),
    ("Hello <think>no</think>", "", "Hello <think>no</think>"),
    ("<think>cut", "cut", ""),
    ("<thing>", "", "<thing>"),
    ("<think></think>Hi", "", "Hi"),
    ("<think>a</thinking>b</think>c", "a</thinking>b", "c"),
    ("  ", "", "  "),
    ("<thi", "", "<thi"),
    ("<think>a</thi", "a</thi", ""),
]


@pytest.mark.parametrize(("written", "thought", "text"), CASES)
@given(cuts=st.lists(st.integers(0, 40), max_size=6))
def test_thoughts_are_told_from_text_wherever_the_stream_is_cut(
    written: str, thought: str, text: str, cuts: list[int]
) -> None:
    places = sorted({min(cut, len(written)) for cut in cuts})
    tags = ThinkTags()
    deltas = []
    for start, end in zip([0, *places], [*places, len(written)], strict=True):
        deltas += tags.split(TextDelta(written[start:end]))
    deltas += tags.rest()
    answer_text = "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))
    thoughts = "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))
    assert (thoughts, answer_text) == (thought, text)
