"""Stable names of ids: the same id has one name, others have other names, and a name can be sent as the id."""

import pytest

from tests.wire.exchange_names import TIME, StableNames

RESPONSE, OTHER = "resp_AM-1795099221650-ufrdc4d2", "resp_AM-1795099221651-aaaaaaa1"
SEALED = "AM2." + "aB-_" * 20


def test_each_id_has_a_name_by_its_kind_in_the_order_in_which_they_are_seen() -> None:
    names = StableNames({"http://site.example": "http://127.0.0.1:40000"})
    seen = {"id": RESPONSE, "text": f"{OTHER} continues {RESPONSE}", "item": "msg_AM-abcdefghij12", "sealed": SEALED}
    assert names.named(seen) == {
        "id": "resp_AM-1",
        "text": "resp_AM-2 continues resp_AM-1",
        "item": "msg_AM-1",
        "sealed": "AM2.1",
    }
    assert names.named([OTHER, "http://127.0.0.1:40000/x"]) == ["resp_AM-2", "http://site.example/x"]
    sent = {"previous_response_id": "resp_AM-2", "input": ["AM2.1", "http://site.example/y", "resp_AM-unheard-of"]}
    assert names.real(sent) == {
        "previous_response_id": OTHER,
        "input": [SEALED, "http://127.0.0.1:40000/y", "resp_AM-unheard-of"],
    }


@pytest.mark.parametrize(
    "value",
    [
        "msg_AM-msg1",
        "resp_AM-68ab",
        "call_1",
        "AM2.short",
        "AM2.1xyz",
        "resp_AM-12",
        {"created_at": None},
        1_795_099_221,
    ],
    ids=str,
)
def test_what_does_not_vary_is_left_as_it_is(value: object) -> None:
    names = StableNames({})
    assert names.named(value) == value
    assert names.real(value) == value


def test_times_are_one_time() -> None:
    given = {"created_at": 1_795_099_221, "response": [{"completed_at": 1_795_099_222}]}
    assert StableNames({}).named(given) == {"created_at": TIME, "response": [{"completed_at": TIME}]}
