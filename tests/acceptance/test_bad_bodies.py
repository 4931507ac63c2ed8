"""Every kind of fault in a request's body, and the path by which it is named."""

from typing import Any

import httpx
import pytest

from tests.support.bad_bodies import BODIES
from tests.support.guarded_server import ALICE, CLIENT, refused


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("fields", "code", "param"), BODIES, ids=[f"{number} {case[2]}" for number, case in enumerate(BODIES)]
)
def test_a_fault_in_the_body_is_named_by_its_path(
    guarded: httpx.Client,
    fields: dict[str, Any],
    code: str,
    param: str,
    stream: bool,  # noqa: FBT001 — one of the two ways to ask
) -> None:
    body = {"model": "demo", "input": "hi", "stream": stream, **fields}
    assert refused(guarded.post("/v1/responses", json=body, headers=ALICE)) == (400, CLIENT, code, param)
