"""How many turns run at once, and what a key may: told before the body is read, and given back in every ending."""

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from hashlib import sha256

import httpx
import pytest

from app.protocol.problems import Problem, ProblemError
from app.settings import Key, Model, Secret, Server, Settings, Upstream
from app.turns.limits import LEAVING, Limits
from app.turns.rate_limit import MOST_GUESTS, RateLimit
from tests.support.script import opens, says, talk
from tests.support.servers import ChatUpstream, Gate, Hang, Script, Status
from tests.support.serving import serving

ASK = {"model": "m", "input": "Hi"}
ALICE = Key("alice", b"a")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def refused(limits: Limits, caller: Key) -> Problem:
    with pytest.raises(ProblemError) as caught:
        limits.admit(caller)
    return caught.value.problem


def test_a_minutes_requests_may_come_at_once_and_come_back_one_by_one() -> None:
    clock = Clock()
    limits = Limits(100, clock)
    key = Key("alice", b"a", requests_per_minute=3)
    told = [limits.headers(key)["x-ratelimit-remaining-requests"]]
    for _ in range(3):
        limits.admit(key).give_back()
        told.append(limits.headers(key)["x-ratelimit-remaining-requests"])
    assert told == ["3", "2", "1", "0"]
    problem = refused(limits, key)
    assert (problem.code, problem.retry_after, problem.shape.status) == ("rate_limit_exceeded", 20, 429)
    assert limits.headers(key) == {
        "x-ratelimit-limit-requests": "3",
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "1m0s",
    }
    clock.now += 20
    limits.admit(key).give_back()
    assert refused(limits, key).retry_after == 20
    clock.now += 10_000
    assert limits.headers(key)["x-ratelimit-remaining-requests"] == "3"


@pytest.mark.parametrize(
    ("per_minute", "passed", "reset"),
    [(600, 0.05, "50ms"), (60, 0.0, "1s"), (20, 0.0, "3s"), (1, 0.0, "1m0s"), (1, 52.34, "7.66s")],
)
def test_the_time_until_all_is_back_is_spelled_as_openai_spells_it(per_minute: int, passed: float, reset: str) -> None:
    clock = Clock()
    key = Key("a", b"a", requests_per_minute=per_minute)
    rate_limit = RateLimit(clock)
    rate_limit.take(key)
    clock.now += passed
    assert rate_limit.headers(key)["x-ratelimit-reset-requests"] == reset


def test_one_key_does_not_use_up_what_another_has() -> None:
    limits = Limits(100)
    first, second = (Key(name, b"k", requests_per_minute=1, concurrency=1) for name in ("a", "b"))
    limits.admit(first)
    limits.admit(second)
    assert refused(limits, first).code == "rate_limit_exceeded"


def test_turns_at_once_count_until_they_are_given_back_once() -> None:
    limits = Limits(100)
    key = Key("alice", b"a", concurrency=2)
    slots = [limits.admit(key) for _ in range(2)]
    assert refused(limits, key).retry_after == 1
    for _ in range(3):
        slots[0].give_back()
    limits.admit(key)
    assert refused(limits, key).code == "rate_limit_exceeded"
    assert limits.headers(key) == {}


def test_a_turn_that_is_refused_for_want_of_room_costs_its_key_nothing() -> None:
    limits = Limits(1)
    key = Key("alice", b"a", requests_per_minute=2)
    slot = limits.admit(key)
    assert refused(limits, key).code == "overloaded"
    slot.give_back()
    limits.admit(key)


def test_at_the_end_every_turn_is_told_and_none_begins() -> None:
    limits = Limits(10)
    told: list[Problem] = []
    early, late, over = (limits.admit(ALICE) for _ in range(3))
    early.on_end(told.append)
    over.on_end(told.append)
    over.give_back()
    limits.leave()
    assert (limits.ready, told) == (False, [])
    limits.admit(ALICE)
    limits.end()
    assert told == [LEAVING]
    late.on_end(told.append)
    assert told == [LEAVING, LEAVING]
    assert refused(limits, ALICE) == LEAVING


def guest(number: int, **limits: int) -> Key:
    """A caller whose own key is for an upstream."""
    return Key("guest", b"", is_guest=True, own=Secret(f"sk-{number}"), **limits)  # type: ignore[arg-type]


def test_guests_have_their_limits_each_for_itself() -> None:
    limits = Limits(100)
    for number in range(3):
        limits.admit(guest(number, concurrency=1, requests_per_minute=5))
    assert refused(limits, guest(0, concurrency=1)).code == "rate_limit_exceeded"
    left = [limits.headers(guest(n, requests_per_minute=5))["x-ratelimit-remaining-requests"] for n in (0, 9)]
    assert left == ["4", "5"]


def test_a_key_called_guest_shares_nothing_with_guests() -> None:
    limits = Limits(100)
    limits.admit(guest(1, concurrency=1))
    key = Key("guest", b"k", concurrency=1)
    limits.admit(key)
    assert refused(limits, key).code == "rate_limit_exceeded"


def test_all_guests_together_leave_half_of_the_turns_to_keys() -> None:
    limits = Limits(4)
    slots = [limits.admit(guest(number)) for number in range(2)]
    problem = refused(limits, guest(2))
    assert (problem.code, problem.retry_after) == ("overloaded", 2)
    limits.admit(ALICE)
    slots[0].give_back()
    slots[0].give_back()
    limits.admit(guest(2))
    assert refused(limits, guest(3)).code == "overloaded"


def test_guests_without_end_are_not_remembered_without_end() -> None:
    limits = Limits(100)
    running = limits.admit(guest(-1, concurrency=1, requests_per_minute=1))
    for number in range(MOST_GUESTS + 50):
        limits.admit(guest(number, requests_per_minute=1)).give_back()
    assert len(limits._rate_limits._guests) <= MOST_GUESTS
    assert refused(limits, guest(-1, concurrency=1)).code == "rate_limit_exceeded"
    running.give_back()
    for number in range(50):
        limits.admit(guest(100_000 + number)).give_back()  # without a rate there is nothing to remember
    assert not [owner for owner in limits._rate_limits._guests if owner == guest(100_001).owner]


def test_other_limits_hold_for_what_was_used_before() -> None:
    clock = Clock()
    limits = Limits(100, clock)
    slot = limits.admit(Key("alice", b"a", requests_per_minute=5, concurrency=2))
    limits.follow(10, shared=False)
    key = Key("alice", b"renewed", requests_per_minute=2, concurrency=1)
    assert refused(limits, key).message == "This key may run 1 requests at once, and does."
    slot.give_back()
    assert limits.headers(key)["x-ratelimit-remaining-requests"] == "1"
    limits.admit(key)


def limited(upstream: ChatUpstream, *, key: str = "", **limits: int) -> Settings:
    return Settings(
        server=Server(**({} if key else limits)),  # type: ignore[arg-type]
        upstreams={"u": Upstream(via="chat", base_url=upstream.url)},
        models={"m": Model(upstream="u")},
        keys=(Key("alice", sha256(key.encode()).digest(), **limits),) if key else (),  # type: ignore[arg-type]
    )


@pytest.fixture
def busy() -> Iterator[tuple[httpx.Client, ChatUpstream]]:
    """A server that runs one turn at a time, and runs one."""
    with (
        ChatUpstream([opens(), says("one"), Hang()], talk("two")) as upstream,
        serving(limited(upstream, max_turns=1)) as url,
        httpx.Client(base_url=url, timeout=5) as client,
    ):
        yield client, upstream


def test_one_turn_too_many_is_a_503_and_health_is_never_behind_it(busy: tuple[httpx.Client, ChatUpstream]) -> None:
    client, upstream = busy
    with client.stream("POST", "/v1/responses", json={**ASK, "stream": True}) as running:
        pieces = running.iter_raw()  # to be held: without it httpx hangs up
        next(pieces)
        full = client.post("/v1/responses", json=ASK)
        assert (full.status_code, full.headers["retry-after"]) == (503, "2")
        assert full.json()["error"] == {
            "message": "This server runs 1 turns at once, and no more.",
            "type": "server_error",
            "param": "",
            "code": "overloaded",
        }
        assert [client.get(path).status_code for path in ("/health/live", "/health/ready", "/v1/models")] == [200] * 3
        assert not upstream.asks[0].gone.is_set()
    assert upstream.asks[0].wait_gone()
    answer = full
    for _ in range(100):
        if answer.status_code == 503:
            answer = client.post("/v1/responses", json=ASK)
    assert answer.json()["output"][0]["content"][0]["text"] == "two"


REFUSED = b"POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


def test_a_full_server_does_not_wait_for_the_body(busy: tuple[httpx.Client, ChatUpstream]) -> None:
    client, _ = busy
    with client.stream("POST", "/v1/responses", json={**ASK, "stream": True}) as running:
        pieces = running.iter_raw()  # to be held: without it httpx hangs up
        next(pieces)
        address = (client.base_url.host, client.base_url.port or 0)
        with socket.create_connection(address, timeout=5) as plain:
            plain.sendall(REFUSED + b"content-length: 30000000\r\n\r\n{")
            assert plain.recv(4096).startswith(b"HTTP/1.1 503 ")


ENDINGS: dict[str, tuple[Script, Mapping[str, object], int]] = {
    "completed": (talk("Hi"), ASK, 200),
    "streamed": (talk("Hi"), {**ASK, "stream": True}, 200),
    "no request": ([], {"model": 3}, 400),
    "no such model": ([], {**ASK, "model": "other"}, 404),
    "refused upstream": ([Status(500)], ASK, 502),
    "refused upstream, streamed": ([Status(500)], {**ASK, "stream": True}, 502),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_however_a_turn_ends_its_place_is_free_again(ending: str) -> None:
    script, body, status = ENDINGS[ending]
    with (
        ChatUpstream(script) as upstream,
        serving(limited(upstream, max_turns=1)) as url,
        httpx.Client(base_url=url, timeout=5) as client,
    ):
        assert [client.post("/v1/responses", json=body).status_code for _ in range(3)] == [status] * 3


def test_a_key_with_a_limit_is_told_of_it_in_every_answer() -> None:
    with (
        ChatUpstream(talk("Hi")) as upstream,
        serving(limited(upstream, key="k", requests_per_minute=2)) as url,
        httpx.Client(base_url=url, timeout=5, headers={"authorization": "Bearer k"}) as client,
    ):
        answers = [
            client.get("/v1/models"),
            client.post("/v1/responses", json={**ASK, "stream": True}),
            client.post("/v1/responses", json={"model": 3}),
            client.post("/v1/responses", json=ASK),
        ]
        stranger = httpx.post(f"{url}/v1/responses", json=ASK)
    assert [
        (
            answer.status_code,
            answer.headers["x-ratelimit-limit-requests"],
            answer.headers["x-ratelimit-remaining-requests"],
        )
        for answer in answers
    ] == [(200, "2", "2"), (200, "2", "1"), (400, "2", "0"), (429, "2", "0")]
    assert 0 < int(answers[-1].headers["retry-after"]) <= 30
    assert answers[-1].json()["error"]["code"] == "rate_limit_exceeded"
    assert not [name for name in stranger.headers if name.startswith("x-ratelimit")]
    assert len(upstream.asks) == 1


def test_a_keys_turns_at_once_are_counted() -> None:
    gate = Gate()
    with (
        ChatUpstream([gate, *talk("Hi")]) as upstream,
        serving(limited(upstream, key="k", concurrency=1)) as url,
        httpx.Client(base_url=url, timeout=5, headers={"authorization": "Bearer k"}) as client,
    ):
        first: list[httpx.Response] = []
        asking = threading.Thread(target=lambda: first.append(client.post("/v1/responses", json=ASK)))
        asking.start()
        while not upstream.asks:
            time.sleep(0.005)
        second = client.post("/v1/responses", json=ASK)
        gate.open()
        asking.join(5)
    assert (second.status_code, second.headers["retry-after"]) == (429, "1")
    assert json.loads(second.text)["error"]["message"] == "This key may run 1 requests at once, and does."
    assert first[0].status_code == 200
