"""One string out of arguments that are still arriving, cut anywhere."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.bridges.json_string_tap import JsonStringTap


def tapped(*pieces: str) -> str:
    """All that a tap gives for these pieces."""
    tap = JsonStringTap("input")
    return "".join([tap.feed(piece) for piece in pieces]) + tap.rest()


CASES = [
    pytest.param('{"input":"hi"}', "hi", id="the plain case"),
    pytest.param(' \n{ "input"\t:\r"hi" } ', "hi", id="white space everywhere"),
    pytest.param('{"input":""}', "", id="an empty string"),
    pytest.param(r'{"input":"a\nb\t\"c\"\\\/\b\f\r"}', 'a\nb\t"c"\\/\b\f\r', id="every short escape"),
    pytest.param(r'{"input":"\u00e9\u2028"}', "é\u2028", id="escaped characters"),
    pytest.param(r'{"input":"\ud83d\ude00!"}', "\U0001f600!", id="a surrogate pair"),
    pytest.param(r'{"input":"\ud83dx"}', "\ufffdx", id="half a pair"),
    pytest.param(r'{"input":"\ud83d\u0041"}', "\ufffdA", id="half a pair before another escape"),
    pytest.param(r'{"input":"\ude00"}', "\ufffd", id="the second half alone"),
    pytest.param(r'{"inp\u0075t":"hi"}', "hi", id="an escape in the key"),
    pytest.param(r'{"a\"b":1,"input":"hi"}', "hi", id="a quote in another key"),
    pytest.param(
        r'{"a":"}\"","b":[{"input":"no"},["]"]],"c":-1.5e3,"d":null,"input":"hi","e":2}', "hi", id="other keys"
    ),
    pytest.param('{"input":"a","input":"b"}', "a", id="the key twice"),
    pytest.param("*** Begin Patch\n+a\n", "*** Begin Patch\n+a\n", id="no JSON at all"),
    pytest.param("", "", id="nothing"),
    pytest.param("  ", "  ", id="white space alone"),
    pytest.param("{}", "{}", id="an object without the key"),
    pytest.param('{"patch":"x"}', '{"patch":"x"}', id="another key instead"),
    pytest.param('{"input":5}', '{"input":5}', id="a number under the key"),
    pytest.param('{"input":{"input":"x"}}', '{"input":{"input":"x"}}', id="an object under the key"),
    pytest.param('["input","x"]', '["input","x"]', id="an array"),
    pytest.param('"input"', '"input"', id="a string"),
    pytest.param('{"a" "input":"x"}', '{"a" "input":"x"}', id="a colon missing"),
    pytest.param('{"a":1 "input":"x"}', '{"a":1 "input":"x"}', id="a comma missing"),
    pytest.param('{"a\\u12":1,"b":2}', '{"a\\u12":1,"b":2}', id="a key that JSON refuses"),
    pytest.param("{input:'x'}", "{input:'x'}", id="a key without quotes"),
    pytest.param('{"input":"say "hi", then"}', 'say "hi', id="a quote nobody escaped, before a comma"),
    pytest.param('{"input":"say "hi" now"}', 'say "hi" now', id="quotes nobody escaped"),
    pytest.param('{"input":"a\nb"}', "a\nb", id="a line break nobody escaped"),
    pytest.param(r'{"input":"\d\u12x"}', r"\d\u12x", id="escapes that JSON does not know"),
    pytest.param('{"input":"cut', "cut", id="cut in the string"),
    pytest.param('{"input":"cut\\', "cut\\", id="cut in an escape"),
    pytest.param(r'{"input":"cut\u00', r"cut\u00", id="cut in a longer escape"),
    pytest.param(r'{"input":"cut\ud83d\u', "cut\ufffd\\u", id="cut between two halves"),
    pytest.param('{"input":"cut" ', "cut", id="cut behind the string"),
    pytest.param('{"input', '{"input', id="cut in the key"),
    pytest.param('{"a":"b', '{"a":"b', id="cut in another string"),
    pytest.param('{"a":"b\\', '{"a":"b\\', id="cut in another string's escape"),
    pytest.param('{"a":[1,{', '{"a":[1,{', id="cut in another value"),
    pytest.param('{"input":"hi"} trailing', "hi", id="text behind the object"),
]


@pytest.mark.parametrize(("written", "given_out"), CASES)
def test_the_string_or_everything_is_given_however_the_text_is_cut(written: str, given_out: str) -> None:
    """Whole, in single characters, and in two pieces cut at every place."""
    assert tapped(written) == given_out
    assert tapped(*written) == given_out
    assert {tapped(written[:cut], written[cut:]) for cut in range(len(written) + 1)} == {given_out}


def test_what_is_known_is_given_at_once() -> None:
    """A client sees the input grow; only what is still open to doubt waits."""
    tap = JsonStringTap("input")
    pieces = ['{"inp', 'ut":"a', "b\\", "nc\\ud8", "3d\\ude", "00", '"', "}"]
    assert [tap.feed(piece) for piece in pieces] == ["", "a", "b", "\nc", "", "\U0001f600", "", ""]
    assert tap.rest() == ""


def test_a_long_string_costs_no_more_than_its_length() -> None:
    """A patch of a megabyte with an escape on every line is read in one go and in small pieces."""
    text = "+ line\n" * 150_000
    written = json.dumps({"input": text})
    assert tapped(written) == text
    assert tapped(*[written[at : at + 100] for at in range(0, len(written), 100)]) == text


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
texts = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('\\"\n{}[],\U0001f600'), max_size=30)


@st.composite
def cut_somewhere(draw: st.DrawFn, text: str) -> list[str]:
    """The same text in pieces."""
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=6)))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@given(
    data=st.data(),
    text=texts,
    others=st.dictionaries(st.text(max_size=4), json_values, max_size=3),
    ascii_only=st.booleans(),
    last=st.booleans(),
)
def test_of_an_object_it_gives_exactly_the_string(
    data: st.DataObject, text: str, others: dict[str, Any], *, ascii_only: bool, last: bool
) -> None:
    """Wherever the string stands, however it is written, wherever it is cut."""
    others.pop("input", None)
    fields = {**others, "input": text} if last else {"input": text, **others}
    written = json.dumps(fields, ensure_ascii=ascii_only, indent=data.draw(st.sampled_from([None, 1])))
    assert tapped(*data.draw(cut_somewhere(written))) == text


@given(st.data(), st.text(st.sampled_from('{}[]":,\\ u0d8ainputx\n'), max_size=30))
@example(data=None, written='{"input":"a\\')
def test_where_it_is_cut_changes_nothing_whatever_is_written(data: st.DataObject | None, written: str) -> None:
    """Broken JSON included: in pieces it means what it means whole."""
    pieces = [*written] if data is None else data.draw(cut_somewhere(written))
    assert tapped(*pieces) == tapped(written)


@given(st.data(), json_values.map(json.dumps) | st.text(st.characters(exclude_categories=["Cs"])))
def test_anything_else_is_given_as_it_was_written(data: st.DataObject, written: str) -> None:
    """Nothing is lost and nothing is made up."""
    if '"input"' not in written and "\\" not in written:
        assert tapped(*data.draw(cut_somewhere(written))) == written
