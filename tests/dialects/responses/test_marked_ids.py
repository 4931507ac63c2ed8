"""Ids with this server's mark, and without it again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.dialects.responses.marks import marked, original


@pytest.mark.parametrize(
    ("foreign", "ours"),
    [
        ("resp_68ab", "resp_AM-68ab"),
        ("msg_a_b", "msg_AM-a_b"),
        ("msg_AM-x", "msg_AM-AM-x"),
        ("68ab", "AM-68ab"),
        ("AM-68ab", "AM-AM-68ab"),
        ("_x", "_AM-x"),
        ("", "AM-"),
    ],
)
def test_an_id_is_marked_behind_its_prefix(foreign: str, ours: str) -> None:
    assert marked(foreign) == ours


@given(st.text(alphabet="AM-_x") | st.text())
def test_the_original_is_found_again_without_any_memory(foreign: str) -> None:
    assert original(marked(foreign)) == foreign


@given(st.lists(st.text(alphabet="AM-_x"), unique=True))
def test_no_two_ids_get_the_same_mark(ids: list[str]) -> None:
    assert len(set(map(marked, ids))) == len(ids)


@pytest.mark.parametrize("foreign", ["msg_68ab", "68ab", "", "msg_xAM-1"])
def test_an_id_without_a_mark_is_left_as_it_is(foreign: str) -> None:
    assert original(foreign) == foreign
