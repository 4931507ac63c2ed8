"""Who is told why an upstream failed: the log always, and the caller if only this machine's own user can call."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from tests.http.logged import line_of_turn
from tests.wire.configuration import Key, Model, Server, Settings, Table, Upstream
from tests.wire.program import Program, own_program, serving
from tests.wire.script import breaks, says, text_turn
from tests.wire.servers import ChatUpstream, Cut, Status
from tests.wire.sockets import opened

DEAD = "http://127.0.0.1:1/v1"
SECRET = "sk-SECRETsecret12345678"
ASK = {"model": "m", "input": "Hi"}
CAUSE = f"The upstream at {DEAD} refused the connection."
ALICE = Key(name="alice", value="a-key-of-alice")


def configured(
    *addresses: str, server: Table | None = None, keys: list[Table] | None = None, breaker_failures: int = 0
) -> str:
    """A model that is asked at these addresses, one after the other."""
    upstreams = {
        f"u{number}": Upstream(via="chat", base_url=address, api_key=SECRET, breaker_failures=breaker_failures)
        for number, address in enumerate(addresses)
    }
    models = {"m": Model(upstreams=list(upstreams))}
    return Settings(server=server or Server(), keys=keys, upstreams=upstreams, models=models)


def error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "some_error", "code": None, "param": None}}


def answered(url: str, **headers: str) -> httpx.Response:
    return httpx.post(f"{url}/v1/responses", json=ASK, headers=headers, timeout=20)


def message_of(answer: httpx.Response) -> str:
    return str(answer.json()["error"]["message"])


def logged(program: Program, answer: httpx.Response) -> str:
    """What the log says, once this turn is in it."""
    line_of_turn(program, answer.headers["x-request-id"])
    return program.log


def test_the_only_user_of_a_server_is_told_address_and_cause() -> None:
    with own_program(configured(DEAD)) as program:
        answer = answered(program.url)
        assert message_of(answer).startswith(CAUSE)
        assert "refused the connection" in logged(program, answer)


@pytest.mark.parametrize(
    ("text", "headers"),
    [
        (configured(DEAD, keys=[ALICE]), {"authorization": "Bearer a-key-of-alice"}),
        (configured(DEAD, server=Server(host="0.0.0.0", insecure_no_auth=True)), {}),  # noqa: S104 — for a moment
        (configured(DEAD, server=Server(allowed_hosts=["proxy.example"])), {}),
        (configured(DEAD, server=Server(cors_origins=["https://page.example"])), {}),
        (configured(DEAD), {"x-forwarded-for": "203.0.113.5"}),
        (configured(DEAD), {"forwarded": "for=203.0.113.5"}),
        (configured(DEAD), {"via": "1.1 proxy"}),
        (configured(DEAD), {"x-real-ip": "203.0.113.5"}),
    ],
    ids=["key", "open to others", "hosts", "pages", "x-forwarded-for", "forwarded", "via", "x-real-ip"],
)
def test_others_see_neither_address_nor_cause(text: str, headers: dict[str, str]) -> None:
    with serving(text) as url:
        assert message_of(answered(url, **headers)) == "The upstream could not be reached."


def test_callers_with_keys_of_their_own_see_neither() -> None:
    with ChatUpstream([Status(401, error(f"Bad key {SECRET}"))]) as upstream:
        there = Upstream(via="chat", base_url=upstream.url, auth="passthrough")
        settings = Settings(upstreams={"there": there}, models={"m": Model(upstream="there")})
        with own_program(settings) as program:
            answer = answered(program.url, authorization=f"Bearer {SECRET}")
            said = logged(program, answer)
    assert message_of(answer) == "The upstream of this model does not accept your key."
    assert "Bad key" in said
    assert SECRET not in said


@contextmanager
def refusing(*script: Any) -> Iterator[tuple[str, Program]]:
    """The address of an upstream that answers so, and the program in front of it."""
    with ChatUpstream(list(script)) as upstream, own_program(configured(upstream.url)) as program:
        yield upstream.url, program


def test_a_context_that_is_too_short_is_told_with_the_upstreams_numbers() -> None:
    numbers = "This model's maximum context length is 8192 tokens. However, you requested 20311 tokens."
    with refusing(Status(400, error(numbers))) as (there, program):
        answer = answered(program.url)
        assert numbers in logged(program, answer)
    ours = "The input is longer than this model's context window. Send less of it."
    assert message_of(answer) == f"{ours} The upstream at {there} answered 400: {numbers}"


def test_no_secret_is_told_to_anyone() -> None:
    leak = f"Bad key {SECRET}, at https://user:hunter2@10.0.0.7/v1?key={SECRET}: Bearer {SECRET}"
    with refusing(Status(401, error(leak))) as (there, program):
        answer = answered(program.url)
        said = logged(program, answer)
    assert f"The upstream at {there} answered 401." in message_of(answer)
    assert "Bad key" in said
    for text in (answer.text, said):
        assert not any(secret in text for secret in (SECRET, "hunter2", "10.0.0.7"))


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_that_breaks_off_is_logged(*, stream: bool) -> None:
    cause = "failed with status 500: out of memory"
    with refusing(says("Hi"), breaks("out of memory", 500)) as (_, program):
        answer = httpx.post(f"{program.url}/v1/responses", json={**ASK, "stream": stream}, timeout=20)
        assert cause in logged(program, answer)
    assert f"The upstream {cause}" in answer.text


def test_an_answer_without_an_end_is_logged() -> None:
    with refusing(says("Hi"), Cut()) as (_, program):
        assert "broke off the connection" in logged(program, answered(program.url))


def test_a_fallback_is_logged_although_the_client_gets_an_answer() -> None:
    with ChatUpstream(text_turn("Hi")) as upstream, own_program(configured(DEAD, upstream.url)) as program:
        answer = answered(program.url)
        assert answer.json()["status"] == "completed"
        assert "refused the connection" in logged(program, answer)


def test_an_open_breaker_is_told_with_the_cause_of_the_outage() -> None:
    with serving(configured(DEAD, breaker_failures=1), fresh=True) as url:
        assert message_of(answered(url)).startswith(CAUSE)
        second = message_of(answered(url))
        assert CAUSE in second
        assert not second.startswith(CAUSE)


async def test_over_a_websocket_it_is_told_too() -> None:
    with serving(configured(DEAD)) as url:
        async with opened(url) as client:
            *_, last = await client.ask(**ASK)
    assert last["error"]["message"].startswith(CAUSE)


def test_a_count_that_the_upstream_refuses_is_told_as_well() -> None:
    there = Upstream(via="responses", base_url=DEAD)
    with serving(Settings(upstreams={"there": there}, models={"m": Model(upstream="there")})) as url:
        answer = httpx.post(f"{url}/v1/responses/input_tokens", json=ASK, timeout=20)
    assert message_of(answer).startswith(CAUSE)
