"""Sealed reasoning over HTTP: replicas, restarts, and what the settings make of it."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from app.settings import Seal, Secret, Server, Settings
from tests.serving import serving

Json = dict[str, Any]

ASKING = {"include": ["reasoning.encrypted_content"], "store": False}
THINK: Json = {"role": "user", "content": "Please think."}
SHARED = Seal(keys=(Secret("s" * 32),))


def post(url: str, items: list[Json], **fields: Any) -> httpx.Response:
    """One turn of the demo."""
    return httpx.post(f"{url}/v1/responses", json={"model": "demo", "input": items, **fields})


def thoughts(response: httpx.Response) -> list[Json]:
    """The reasoning items of an answer."""
    return [item for item in response.json()["output"] if item["type"] == "reasoning"]


@pytest.fixture(scope="module")
def replicas() -> Iterator[dict[str, str]]:
    """Two that share a key, one in the middle of a rotation, one with a key of its own, and that one again, strict."""
    rotated = Seal(keys=(Secret("n" * 32), Secret("s" * 32)))
    settings = {
        "one": Settings(seal=SHARED),
        "other": Settings(seal=SHARED, server=Server(strict=True)),
        "rotated": Settings(seal=rotated, server=Server(strict=True)),
        "stranger": Settings(),
        "strict stranger": Settings(server=Server(strict=True)),
    }
    with ExitStack() as stack:
        yield {name: stack.enter_context(serving(told)) for name, told in settings.items()}


def test_replicas_that_share_a_key_go_on_with_each_others_conversations(replicas: dict[str, str]) -> None:
    """Two of them would refuse any warning."""
    output = post(replicas["one"], [THINK], **ASKING).json()["output"]
    for name in ("one", "other", "rotated"):
        answer = post(replicas[name], [THINK, *output, THINK], **ASKING)
        assert (answer.status_code, answer.headers.get("x-am-warnings")) == (200, None)


def test_a_stranger_goes_on_as_well_and_says_what_it_ignored(replicas: dict[str, str]) -> None:
    output = post(replicas["one"], [THINK], **ASKING).json()["output"]
    answer = post(replicas["stranger"], [THINK, *output, THINK])
    assert answer.status_code == 200
    [warning] = json.loads(answer.headers["x-am-warnings"])
    assert warning.startswith("input[1].encrypted_content was ignored: ")
    assert post(replicas["strict stranger"], [THINK, *output, THINK]).status_code == 400


@pytest.mark.parametrize(
    ("seal", "fields", "sealed"),
    [
        (Seal(), ASKING, True),
        (Seal(), {}, False),
        (Seal(when="always"), {}, True),
        (Seal(when="never"), ASKING, False),
    ],
)
def test_the_setting_says_for_whom_is_sealed(seal: Seal, fields: Json, *, sealed: bool) -> None:
    with serving(Settings(seal=seal)) as url:
        [thought] = thoughts(post(url, [THINK], **fields))
    assert thought.get("encrypted_content", "").startswith("AM1.") == sealed
    assert ("encrypted_content" in thought) == sealed
    assert thought["summary"][0]["text"] not in thought.get("encrypted_content", "")


def test_a_seal_that_is_too_old_is_ignored(replicas: dict[str, str]) -> None:
    output = post(replicas["one"], [THINK], **ASKING).json()["output"]
    brief = SHARED.model_copy(update={"max_age_days": 1e-9})
    with serving(Settings(seal=brief)) as url:
        answer = post(url, [THINK, *output, THINK])
    assert answer.status_code == 200
    assert "encrypted_content was ignored" in answer.headers["x-am-warnings"]
