"""Sealed reasoning over HTTP: who may look into it, and keys that share it."""

from hashlib import sha256
from typing import Any

import httpx

from app.settings import Key, Seal, Secret, Server, Settings
from tests.support.serving import serving

Json = dict[str, Any]

ASKING: Json = {"include": ["reasoning.encrypted_content"], "store": False}
THINK: Json = {"role": "user", "content": "Please think."}
SHARED = Seal(keys=(Secret("s" * 32),))


ALICE, BOB, ALICE_AGAIN = "alice-1", "bob-1", "alice-2"


def keyed(*, shared: bool = False, strict: bool = False) -> Settings:
    """A server of two callers, one of whom has a second key of the same name."""
    keys = [("alice", ALICE), ("bob", BOB), ("alice", ALICE_AGAIN)]
    return Settings(
        server=Server(strict=strict, ui=True),
        seal=SHARED.model_copy(update={"shared": shared}),
        keys=tuple(Key(name=name, digest=sha256(value.encode()).digest()) for name, value in keys),
    )


def by(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def ask(url: str, key: str, items: list[Json], path: str = "/v1/responses", **fields: Any) -> httpx.Response:
    """A request with this key."""
    return httpx.post(f"{url}{path}", json={"model": "demo", "input": items, **fields}, headers=by(key), timeout=30)


def test_what_was_sealed_for_one_key_opens_for_no_other() -> None:
    """Neither as a turn, nor to be looked at. A key that was renewed under its name goes on."""
    history: list[Json] = [{"role": "user", "content": "The word is slate."}, {"role": "assistant", "content": "OK."}]
    with serving(keyed()) as url:
        thoughts = ask(url, ALICE, [THINK], **ASKING).json()["output"]
        window = ask(url, ALICE, history, "/v1/responses/compact").json()["output"][-1:]
        warned = {
            key: [ask(url, key, [THINK, *items, THINK]).headers.get("x-am-warnings") for items in (thoughts, window)]
            for key in (ALICE, ALICE_AGAIN, BOB)
        }
        looked_at = {key: ask(url, key, [*window, THINK], "/inspector/ask").text for key in (ALICE, BOB)}
    assert warned[ALICE] == warned[ALICE_AGAIN] == [None, None]
    assert [(warning or "").partition(" ")[0] for warning in warned[BOB]] == [
        '["input[1].encrypted_content',
        '["input[1]',
    ]
    shown = {key: "was replaced by this summary" in text for key, text in looked_at.items()}
    assert shown == {ALICE: True, BOB: False}


def test_keys_that_share_seals_go_on_with_each_others_conversations() -> None:
    """Strict: a warning would be a 400."""
    with serving(keyed(shared=True, strict=True)) as url:
        output = ask(url, ALICE, [THINK], **ASKING).json()["output"]
        assert ask(url, BOB, [THINK, *output, THINK]).status_code == 200
