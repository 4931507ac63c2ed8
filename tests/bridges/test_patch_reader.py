"""A patch out of the arguments of `apply_patch`: wrapped, decorated or correct, cut anywhere."""

import json
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.bridges.json_string_tap import JsonStringTap
from app.bridges.patch_reader import ENDING_LIMIT, OPENING_LIMIT, PatchReader

LINES = "*** Update File: a.txt\n@@\n-Hello\n+`Hello` *** End Patch ***\n"
PATCH = f"*** Begin Patch\n{LINES}*** End Patch\n"


def read(*pieces: str, reader: type[JsonStringTap | PatchReader] = PatchReader) -> str:
    """All that a reader gives for these pieces."""
    reading = reader("input")
    return "".join([reading.feed(piece) for piece in pieces]) + reading.rest()


def under(key: str, text: str) -> str:
    return json.dumps({key: text})


DECORATED = f"*** Begin Patch ***\n{LINES}*** End Patch ***\n"
WRAPPED = [
    pytest.param(DECORATED, PATCH, id="asterisks behind both lines"),
    pytest.param(f"*** Begin Patch***  \n{LINES}*** End Patch\n", PATCH, id="asterisks behind the first line"),
    pytest.param(PATCH.strip() + " ****", PATCH.strip(), id="asterisks behind the last line, without a line break"),
    pytest.param(PATCH + " ***", PATCH + " ***", id="asterisks on a line of their own"),
    pytest.param(f"```\n{PATCH}```", PATCH, id="a fence"),
    pytest.param(f"\n```diff\n\n{PATCH}\n\n``` \n", PATCH, id="a fence with a language and white space"),
    pytest.param(f"````patch\r\n{PATCH}````\r\n", PATCH, id="a longer fence, with the line breaks of Windows"),
    pytest.param(f"```\n{DECORATED}```\n", PATCH, id="a fence and asterisks"),
    pytest.param(f"```\n{PATCH}", PATCH, id="a fence that is never closed"),
    pytest.param(DECORATED.replace("\n", "\r\n"), PATCH.replace("\n", "\r\n"), id="the line breaks of Windows"),
    pytest.param("*** Begin Patch *\n*** End Patch *", "*** Begin Patch\n*** End Patch", id="no lines"),
]


@pytest.mark.parametrize(("written", "patch"), WRAPPED)
def test_a_patch_is_read_without_what_is_around_it(written: str, patch: str) -> None:
    """Without JSON, under each key, and as an object in the arguments."""
    forms = (
        written,
        under("input", written),
        under("patch", written),
        under("content", written),
        json.dumps({"explanation": "a", "patch": written, "path": "b"}),
        under("input", under("patch", written)),
        under("input", under("input", written)),
    )
    for form in forms:
        assert read(form) == read(*form) == patch, form


AS_WRITTEN = [
    pytest.param("", id="nothing"),
    pytest.param(" \n", id="white space"),
    pytest.param("```", id="a fence alone"),
    pytest.param("```\nls\n```", id="something else in a fence"),
    pytest.param(f"The patch:\n{DECORATED}", id="words before it"),
    pytest.param("*** Begin Patch", id="the first line alone"),
    pytest.param("*** Begin Patch: a.txt\n+a\n*** End Patch ***\n", id="other words behind the first line"),
    pytest.param("*** Begin Path ***\n*** End Patch ***\n", id="another first line"),
    pytest.param(" \n" + PATCH, id="white space before it"),
    pytest.param(PATCH + "\n \n", id="white space behind it"),
    pytest.param(PATCH.replace("\n", " \n"), id="blanks behind every line"),
    pytest.param(f"{PATCH}```", id="a fence that was never opened"),
    pytest.param(f"{PATCH}That was it.", id="words behind it"),
    pytest.param(f"{PATCH.strip()} *** now\n", id="words behind the asterisks"),
    pytest.param(PATCH + PATCH, id="two patches"),
    pytest.param("*** Begin Patch\n" + "\n*** End Patch" * 4 + "\n+a", id="many endings"),
    pytest.param(PATCH.strip() + " " * ENDING_LIMIT + "***", id="asterisks far behind the last line"),
    pytest.param("*** Begin Patch" + " " * OPENING_LIMIT + "***\n*** End Patch ***", id="asterisks far away"),
    pytest.param('{"a":1}', id="another object"),
    pytest.param('{"patch":"ls"}', id="no patch under the key"),
    pytest.param('{"patch":["*** Begin Patch ***\\n"]}', id="a list under the key"),
    pytest.param('{"patch":"*** Begin Patch', id="cut in the first line"),
]


@pytest.mark.parametrize("written", AS_WRITTEN)
def test_anything_else_stays_as_it_is(written: str) -> None:
    """As it is for every other custom tool."""
    for form in (written, under("input", written)):
        assert read(form) == read(*form) == read(form, reader=JsonStringTap) == written


def test_of_two_keys_the_right_one_counts_unless_the_first_holds_a_patch() -> None:
    assert read(json.dumps({"content": "about this", "input": PATCH})) == PATCH
    assert read(json.dumps({"patch": PATCH, "input": ""})) == PATCH
    assert read(json.dumps({"input": PATCH, "patch": ""})) == PATCH


def test_what_is_certain_is_returned_at_once() -> None:
    """Only the first line waits, and what follows the last one."""
    reader = PatchReader("input")
    pieces = [
        '{"pat',
        'ch":"```\\n*** Begin',
        " Patch *",
        "**\\n",
        "*** Add Fi",
        "le: a\\n+b\\n*** End Pat",
        "ch",
        " *",
        "**",
    ]
    certain = ["", "", "", "*** Begin Patch\n", "*** Add Fi", "le: a\n+b\n*** End Pat", "ch", "", ""]
    assert [reader.feed(piece) for piece in pieces] == certain
    assert [reader.feed(piece) for piece in ("\\n`", "``", '"}')] == ["", "", ""]
    assert reader.rest() == "\n"


def test_what_waits_for_a_patch_that_does_not_come_is_bounded() -> None:
    reader = PatchReader("input")
    begun = '{"input":"'
    spaces = " " * (OPENING_LIMIT - len(begun))
    assert reader.feed(begun + spaces[1:]) == ""
    assert reader.feed(" ") == spaces
    assert reader.feed("*** Begin") == "*** Begin"


def test_a_patch_of_many_endings_costs_no_more_than_its_length() -> None:
    written = "*** Begin Patch ***\n" + "*** End Patch ***\n" * 40_000
    result = "*** Begin Patch\n" + "*** End Patch ***\n" * 39_999 + "*** End Patch\n"
    assert read(written) == result
    assert read(*[written[at : at + 100] for at in range(0, len(written), 100)]) == result


def cut_at(text: str, cuts: Sequence[int]) -> list[str]:
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    return [text[start:end] for start, end in pairwise(places)]


cuts = st.lists(st.integers(0, 400), max_size=8)
words = st.sampled_from(
    ["*** Begin Patch", "*** End Patch", " ***", "\n", "\r\n", " ", "```", "`", "diff", "+a", '"', "\\", "é", "{", "*"]
)
texts = st.lists(words, max_size=14).map("".join)
lines = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12).map(lambda line: f"+{line}\n"))
keys = st.sampled_from([None, "input", "patch", "content"])


@given(texts, cuts, keys)
def test_where_it_is_cut_changes_nothing_whatever_is_written(text: str, at: list[int], key: str | None) -> None:
    """Patches, half of one, two in one, and what is none."""
    written = under(key, text) if key else text
    assert read(*cut_at(written, at)) == read(*written) == read(written)


@given(lines, cuts, st.sampled_from(["", "\n"]))
def test_a_correct_patch_arrives_to_the_character(text: list[str], at: list[int], broken: str) -> None:
    """Whatever its lines contain."""
    patch = f"*** Begin Patch\n*** Add File: a\n{''.join(text)}*** End Patch{broken}"
    assert read(*cut_at(under("input", patch), at)) == patch
    assert read(*cut_at(under("patch", patch), at)) == patch


@given(lines, cuts, st.sampled_from(["", " ***"]), st.sampled_from(["", "```\n", "```diff\n"]), keys)
def test_a_wrapped_patch_arrives_as_the_patch(
    text: list[str], at: list[int], decoration: str, fence: str, key: str | None
) -> None:
    middle = f"\n*** Add File: a\n{''.join(text)}"
    written = f"{fence}*** Begin Patch{decoration}{middle}*** End Patch{decoration}\n{fence and '```'}"
    pieces = cut_at(under(key, written) if key else written, at)
    assert read(*pieces) == f"*** Begin Patch{middle}*** End Patch\n"
