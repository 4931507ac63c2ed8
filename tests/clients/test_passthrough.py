"""`auth = "passthrough"`: a caller's key goes to the one upstream it is for, and nowhere else. Ours go nowhere."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

import httpx
import pytest

from tests.wire.configuration import Key, Model, Settings, Upstream
from tests.wire.program import serving
from tests.wire.script import says, stops
from tests.wire.servers import Ask, ChatUpstream, Status, Step
from tests.wire.servers.responses import ResponsesUpstream, answer, message
from tests.wire.servers.server import ScriptedUpstream

OURS = "let-alice-in"
SERVERS_OWN = "sk-the-servers-own-key"
ALICE, BEN, CLEO = ({"authorization": f"Bearer {key}"} for key in (OURS, "sk-bens-own-key", "sk-cleos-own-key"))
KEYS = [Key(name="alice", value=OURS)]
LANES = ("chat", "responses")


def answer_by_key(ask: Ask) -> list[Step]:
    """The real server says no to keys it does not know, and remembers whom it does not like by a cookie."""
    if ask.body["model"] == "sticky":
        return [Status(429, {"error": {"message": "later"}}, {"set-cookie": "who=somebody; Path=/"})]
    if "wrong" in ask.headers.get("authorization", ""):
        return [Status(401, {"error": {"message": f"Incorrect API key provided: {ask.headers['authorization']}"}})]
    return [says("Hi"), stops("stop")]


def relay(ask: Ask) -> list[Step]:
    """The same in the language of Responses."""
    found = answer_by_key(ask)
    return found if isinstance(found[0], Status) else list(answer(message("msg_1", "Hi")))


class Two(NamedTuple):
    """A server before two upstreams: one that is given its callers' keys, one that has its own."""

    client: httpx.Client
    theirs: ScriptedUpstream
    ours: ChatUpstream
    has_keys: bool

    def ask(self, model: str, headers: dict[str, str], *, stream: bool = False) -> httpx.Response:
        """One turn."""
        return self.client.post(
            "/v1/responses", json={"model": model, "input": "Hi", "stream": stream}, headers=headers
        )

    def keys(self) -> list[str]:
        """What the first was given."""
        return [ask.headers["authorization"] for ask in self.theirs.asks]


WITH_KEYS = [(lane, True) for lane in LANES]
with_keys = pytest.mark.parametrize("two", WITH_KEYS, indirect=True, ids=LANES)


@pytest.fixture(params=[*WITH_KEYS, ("chat", False)], ids=[*LANES, "chat, without keys of ours"])
def two(request: pytest.FixtureRequest) -> Iterator[Two]:
    lane, keys = request.param
    with ExitStack() as stack:
        theirs: ScriptedUpstream = ResponsesUpstream(relay) if lane == "responses" else ChatUpstream(answer_by_key)
        stack.enter_context(theirs)
        ours = stack.enter_context(ChatUpstream(answer_by_key))
        settings = Settings(
            keys=KEYS if keys else [],
            upstreams={
                # by name: libraries keep no cookies of addresses in figures
                "theirs": Upstream(via=lane, base_url=theirs.url.replace("127.0.0.1", "localhost"), auth="passthrough"),
                "ours": Upstream(via="chat", base_url=ours.url, api_key=SERVERS_OWN),
            },
            models={"ours": Model(upstream="ours"), "theirs": Model(upstream="theirs"), "*": Model(upstream="theirs")},
        )
        url = stack.enter_context(serving(settings))
        yield Two(stack.enter_context(httpx.Client(base_url=url, timeout=50)), theirs, ours, keys)


def code(answer: httpx.Response) -> tuple[int, str]:
    """Status and code of a refusal."""
    return answer.status_code, answer.json()["error"]["code"]


def test_each_callers_key_goes_out_for_that_caller_alone(two: Two) -> None:
    for stream in (False, True):
        for headers in (BEN, CLEO, BEN):
            reported = two.ask("theirs", headers, stream=stream)
            assert reported.status_code == 200
            assert "own-key" not in reported.text + str(reported.headers)
    assert two.keys() == [who["authorization"] for who in (BEN, CLEO, BEN, BEN, CLEO, BEN)]
    assert two.ours.asks == []


def test_no_cookie_goes_out_neither_the_upstreams_own_nor_a_callers(two: Two) -> None:
    assert [two.ask("sticky", {**who, "cookie": "a=b"}).status_code for who in (BEN, CLEO, BEN)] == [429] * 3
    assert not [ask for ask in two.theirs.asks if "cookie" in ask.headers]


def test_callers_at_the_same_time_are_not_mixed_up(two: Two) -> None:
    async def all_at_once() -> list[httpx.Response]:
        async with httpx.AsyncClient(base_url=two.client.base_url, timeout=50) as client:
            return await asyncio.gather(
                *(
                    client.post("/v1/responses", json={"model": f"m{n}", "input": "Hi"}, headers=bearer(n))
                    for n in range(16)
                )
            )

    def bearer(number: int) -> dict[str, str]:
        return {"authorization": f"Bearer sk-key-of-{number}"}

    assert {answer.status_code for answer in asyncio.run(all_at_once())} == {200}
    assert {ask.body["model"]: ask.headers["authorization"] for ask in two.theirs.asks} == {
        f"m{n}": f"Bearer sk-key-of-{n}" for n in range(16)
    }


def test_the_servers_own_key_goes_to_its_own_upstream_alone(two: Two) -> None:
    who = ALICE if two.has_keys else BEN
    assert two.ask("ours", who).status_code == 200
    assert [ask.headers["authorization"] for ask in two.ours.asks] == [f"Bearer {SERVERS_OWN}"]
    assert two.theirs.asks == []
    if two.has_keys:
        assert code(two.ask("ours", BEN)) == (401, "invalid_api_key")
        assert len(two.ours.asks) == 1


@with_keys
def test_a_key_of_this_server_is_sent_nowhere(two: Two) -> None:
    for model in ("theirs", "any other"):
        refusal = two.ask(model, ALICE)
        assert code(refusal) == (401, "invalid_api_key")
        assert OURS not in refusal.text
    assert two.theirs.asks == two.ours.asks == []


def test_a_key_that_the_upstream_does_not_take_is_the_callers_mistake_and_not_told_again(two: Two) -> None:
    for stream in (False, True):
        refusal = two.ask("theirs", {"authorization": "Bearer sk-a-wrong-key-0123456789"}, stream=stream)
        assert code(refusal) == (401, "invalid_api_key")
        assert "wrong-key" not in refusal.text


@with_keys
def test_a_guest_sees_only_what_their_key_may_open(two: Two) -> None:
    names = [model["id"] for model in two.client.get("/v1/models", headers=BEN).json()["data"]]
    assert names == ["theirs"]
    assert two.client.get("/v1/models/theirs", headers=BEN).status_code == 200
    assert code(two.client.get("/v1/models/ours", headers=BEN)) == (401, "invalid_api_key")


LISTS: dict[str, list[str]] = {
    "theirs, then ours": ["broken theirs", "ours"],
    "ours, then theirs": ["broken ours", "theirs"],
    "ours alone is well": ["ours", "theirs"],
    "theirs is the last": ["broken theirs", "ours", "theirs"],
}
WHO: dict[str, dict[str, list[list[str] | None]]] = {
    "with keys of ours": {
        # nobody, Alice with a key of ours, Ben with one of his own: who was asked; none where nobody was
        "theirs, then ours": [None, None, ["broken theirs"]],
        "ours, then theirs": [None, ["broken ours"], None],
        "ours alone is well": [None, ["ours"], None],
        "theirs is the last": [None, None, ["broken theirs", "theirs"]],
    },
    "without": {
        "theirs, then ours": [None, ["broken theirs", "ours"], ["broken theirs", "ours"]],
        "ours, then theirs": [["broken ours"], ["broken ours", "theirs"], ["broken ours", "theirs"]],
        "ours alone is well": [["ours"], ["ours"], ["ours"]],
        "theirs is the last": [None, ["broken theirs", "ours"], ["broken theirs", "ours"]],
    },
}


@pytest.mark.parametrize("keys", WHO)
def test_in_a_list_of_upstreams_each_key_goes_where_it_belongs_and_no_further(keys: str) -> None:
    """A guest is never answered at the server's expense, and a key of ours is sent nowhere."""
    names = ("theirs", "ours", "broken theirs", "broken ours")
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(ChatUpstream([Status(500)] if "broken" in name else [says("Hi"), stops("stop")]))
            for name in names
        }
        upstreams = {
            name: Upstream(via="chat", base_url=server.url, auth="passthrough")
            if "theirs" in name
            else Upstream(via="chat", base_url=server.url, api_key=SERVERS_OWN)
            for name, server in servers.items()
        }
        models = {model: Model(upstreams=several) for model, several in LISTS.items()}
        settings = Settings(keys=KEYS if keys == "with keys of ours" else [], upstreams=upstreams, models=models)
        client = stack.enter_context(httpx.Client(base_url=stack.enter_context(serving(settings)), timeout=50))
        callers: list[dict[str, str]] = [{}, ALICE, BEN]
        for model, expected in WHO[keys].items():
            for headers, wanted in zip(callers, expected, strict=True):
                answer = client.post("/v1/responses", json={"model": model, "input": "Hi"}, headers=headers)
                asked = {name: server.asks[:] for name, server in servers.items() if server.asks}
                assert sorted(asked) == sorted(wanted or []), (model, headers, answer.text)
                assert (answer.status_code == 401) == (wanted is None)
                for name, asks in asked.items():
                    own = headers.get("authorization", "")
                    assert [ask.headers["authorization"] for ask in asks] == [
                        own if "theirs" in name else f"Bearer {SERVERS_OWN}"
                    ]
                    servers[name].asks.clear()
