"""How the turns of a server are shared where there are several owners: no owner takes all of them."""

import socket
import time
from contextlib import ExitStack
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from app.protocol.problems import ProblemError
from app.settings import Key, Model, Secret, Server, Settings, Upstream
from app.turns.limits import Limits
from app.turns.quota import Quota
from tests.support.serving import serving
from tests.wire.script import opens, says, text_turn
from tests.wire.servers import Ask, ChatUpstream, Hang

ALICE, BOB, CLEO = (Key(name, sha256(name.encode()).digest()) for name in ("alice", "bob", "cleo"))
ANYONE = Key("anyone", b"")


def guest(number: int) -> Key:
    """A caller whose own key is for an upstream."""
    return Key("guest", b"", is_guest=True, own=Secret(f"sk-{number}"))


def most_at_once(limits: Limits, caller: Key) -> int:
    """How many turns this caller gets, who asks for as many as there are."""
    for number in range(1000):
        try:
            limits.admit(caller)
        except ProblemError:
            return number
    raise AssertionError


def test_an_owner_runs_at_most_as_many_turns_as_are_free() -> None:
    """Whoever comes later finds one; whoever leaves lets the others have more."""
    limits = Limits(16, shared=True)
    slots = [limits.admit(ALICE) for _ in range(8)]
    with pytest.raises(ProblemError) as caught:
        limits.admit(ALICE)
    problem = caught.value.problem
    assert (problem.code, problem.retry_after) == ("rate_limit_exceeded", 2)
    assert [most_at_once(limits, caller) for caller in (BOB, guest(1), guest(2), CLEO)] == [4, 2, 1, 1]
    for slot in slots:
        slot.give_back()
    assert most_at_once(limits, BOB) == 2
    assert most_at_once(Limits(1, shared=True), ALICE) == 1


def test_a_guest_runs_at_most_as_many_turns_as_are_left_to_guests() -> None:
    limits = Limits(16, shared=True)
    assert [most_at_once(limits, caller) for caller in (guest(1), guest(2), ALICE)] == [4, 2, 5]


KB = 1024
BOUNDS = Server(max_body_bytes=64 * KB, body_caller_bytes=0, body_total_bytes=1024 * KB, first_payload_wait=0)


def test_long_requests_of_one_caller_that_wait_for_their_upstream_leave_room_to_others() -> None:
    """Four times as many bytes may wait as may be read. Once it answers, a request counts no longer."""

    def script(ask: Ask) -> list[Any]:
        text = str(ask.body)
        return [opens(), says("Hi"), Hang()] if "begin" in text else [Hang()] if "hang" in text else [*text_turn("Hi")]

    with ChatUpstream(script) as upstream, ExitStack() as stack:
        settings = Settings(
            server=BOUNDS,
            keys=(ALICE, BOB),
            upstreams={"u": Upstream(via="chat", base_url=upstream.url)},
            models={"m": Model(upstream="u")},
        )
        client = httpx.Client(base_url=stack.enter_context(serving(settings)), timeout=20)

        def status(name: str, text: str, *, words: int = 60 * KB) -> int:
            body = {"model": "m", "input": text.ljust(words), "stream": True}
            headers = {"authorization": f"Bearer {name}"}
            answer = stack.enter_context(client.stream("POST", "/v1/responses", json=body, headers=headers))
            if text == "begin":
                next(line for line in answer.iter_lines() if "output_text.delta" in line)
            elif text == "Hi":
                answer.read()
            return answer.status_code

        assert [status("alice", "Hi") for _ in range(6)] == [200] * 6
        assert [status("alice", "begin") for _ in range(6)] == [200] * 6
        assert [status("alice", "hang") for _ in range(6)] == [200] * 4 + [429] * 2
        assert [status("bob", "Hi"), status("alice", "Hi", words=2)] == [200, 200]


def test_what_a_request_holds_is_given_back_with_its_slot() -> None:
    """However the turn ends, and once."""
    quota = Quota(10, 10)
    limits = Limits(16)
    for _ in range(3):
        slot = limits.admit(ALICE)
        slot.hold(quota, 10)
        other = limits.admit(ALICE)
        with pytest.raises(ProblemError):
            other.hold(quota, 1)
        other.give_back()
        slot.answered()
        slot.give_back()
        slot.give_back()
    slot = limits.admit(ALICE)
    slot.hold(quota, 10)
    slot.give_back()
    assert quota.take(ALICE, 10)


def test_a_key_with_a_concurrency_of_its_own_has_that_many() -> None:
    limits = Limits(16, shared=True)
    assert most_at_once(limits, Key("alice", b"a", concurrency=12)) == 12


@pytest.mark.parametrize(("caller", "shared"), [(ALICE, False), (ANYONE, True)], ids=["the only key", "without a key"])
def test_the_only_owner_may_run_all_turns(caller: Key, *, shared: bool) -> None:
    assert most_at_once(Limits(16, shared=shared), caller) == 16


def test_bodies_that_do_not_come_take_no_turns_of_other_keys() -> None:
    """As long as there is one key only, it may run them all."""
    head = (
        b"POST /v1/responses HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
        b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
    )
    statuses: list[list[int]] = []
    for keys in ((ALICE, BOB), (BOB,)):
        with serving(Settings(server=Server(max_turns=8), keys=keys)) as url, ExitStack() as stack:
            where = urlsplit(url)
            for _ in range(8):
                client = stack.enter_context(socket.create_connection((where.hostname or "", where.port or 80)))
                client.sendall(head % keys[0].name.encode())
            time.sleep(0.1)
            statuses.append(
                [
                    httpx.post(
                        f"{url}/v1/responses",
                        json={"model": "demo", "input": "Hi"},
                        headers={"authorization": f"Bearer {key.name}"},
                    ).status_code
                    for key in keys
                ]
            )
    assert statuses == [[429, 200], [503]]
