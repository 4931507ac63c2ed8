from typing import Any

import pytest

from app.witnesses.redaction import redacted

PICTURE = "data:image/png;base64," + "A" * 1000
CASES: dict[str, tuple[Any, Any]] = {
    "words stay": ({"content": "hello " * 500}, {"content": "hello " * 500}),
    "a picture": ([{"image_url": PICTURE}], [{"image_url": "data:image/png;base64,… (1022 characters)"}]),
    "a small picture": ({"image_url": "data:image/png;base64,AAAA"}, {"image_url": "data:image/png;base64,AAAA"}),
    "sealed reasoning": ({"encrypted_content": "AM1.abc"}, {"encrypted_content": "… (7 characters, sealed)"}),
    "nothing sealed": ({"encrypted_content": None}, {"encrypted_content": None}),
    "a drawing": ({"result": "A" * 300}, {"result": "… (300 characters of base64)"}),
    "a result in words": ({"result": "It is sunny. " * 40}, {"result": "It is sunny. " * 40}),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_left_out_is_told_in_words(name: str) -> None:
    given, shown = CASES[name]
    assert redacted(given) == shown
