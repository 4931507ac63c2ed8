"""A body that is sent as it is leaves as litellm would send it, and litellm is called once for each model."""

from typing import Any

import pytest

from app.upstreams import litellm_as_is
from app.upstreams.litellm_as_is import known_request
from app.upstreams.litellm_ask import arguments
from app.upstreams.litellm_chat import LitellmChat, load
from app.upstreams.port import TRACE, UpstreamRefused
from tests.support.upstream_asks import KEY, TOOLS, Lenient, answers, asks
from tests.support.upstream_refusals import REFUSALS, error
from tests.wire.script import text_turn
from tests.wire.servers import Hang, Status, Step

ASKS: dict[str, dict[str, Any]] = {
    "the smallest": {},
    "a name with slashes": {"model": "org/m:free"},
    "settings": {"tools": TOOLS, "tool_choice": "auto", "temperature": 0.5, "stop": ["."], "user": "me", "seed": 2**63},
    "litellm's own words": {"metadata": {"a": "b"}, "store": True, "reasoning_effort": "high", "verbosity": "low"},
    "half a character": {"messages": [{"role": "user", "content": "\ud83d é \u2028"}]},
    "many messages": {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}] * 3000},
}
PROVIDERS = [None, "hosted_vllm", "openai"]


@pytest.fixture
def every_call_is_litellms(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a litellm that is not known."""
    monkeypatch.setattr(litellm_as_is, "known_request", lambda *_: None)


async def refusal(step: Step) -> dict[str, Any]:
    """What a caller learns if the server does this."""
    with Lenient([step]) as upstream:
        return await refusal_at(upstream.url, KEY, timeout=0.3 if isinstance(step, Hang) else 30)


async def refusal_at(url: str, key: str, timeout: float = 30) -> dict[str, Any]:  # noqa: ASYNC109 — the upstream's own
    """The same for this address."""
    with pytest.raises(UpstreamRefused) as refused:
        await anext(LitellmChat(api_key=key, base_url=url, timeout=timeout).open(asks()))
    return vars(refused.value)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("held", ASKS.values(), ids=ASKS)
async def test_the_server_gets_what_litellm_would_send(provider: str | None, held: dict[str, Any]) -> None:
    ask = asks(**held)
    with Lenient(text_turn("Hi")) as upstream:
        base_url = upstream.url
        chat = LitellmChat(provider, api_key=KEY, base_url=base_url)
        assert (await answers(chat, ask))[1] is None
        kwargs = arguments(provider, ask, base_url=base_url)
        stream = await load().acompletion(**kwargs, api_key=KEY, timeout=30)
        async for _ in stream:
            pass
        ours, theirs = upstream.asks
    assert (ours.path, ours.body) == (theirs.path, theirs.body)
    assert ours.headers | {"content-length": ""} == theirs.headers | {"content-length": ""}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_installed_litellm_is_known(provider: str | None) -> None:
    kwargs = arguments(provider, asks(), base_url="http://there/v1") | {"timeout": 30}
    request = known_request(load(), kwargs)
    assert request is not None
    assert str(request.url) == "http://there/v1/chat/completions"
    assert request.added == {"model": "m"}
    assert request.headers["authorization"] == "Bearer am-proxy-stands-for-the-key"


async def test_litellm_is_called_once_for_each_model(monkeypatch: pytest.MonkeyPatch) -> None:
    litellm = load()
    made: list[str] = []
    completion = litellm.completion

    def counted(**kwargs: Any) -> Any:
        made.append(kwargs["model"])
        return completion(**kwargs)

    monkeypatch.setattr(litellm, "completion", counted)
    monkeypatch.setattr(litellm, "acompletion", None)
    with Lenient(text_turn("Hi")) as upstream:
        chat = LitellmChat(api_key=KEY, base_url=upstream.url)
        token = TRACE.set({"traceparent": "00-1-2-01"})
        for name, key in (("a", None), ("b", "sk-one"), ("a", "sk-two"), ("a", None)):
            async for _ in chat.open(asks(model=name), key):
                pass
        TRACE.reset(token)
        told = [(ask.body["model"], ask.headers["authorization"], ask.headers["traceparent"]) for ask in upstream.asks]
    assert made == ["hosted_vllm/a", "hosted_vllm/b"]
    keys = (KEY, "sk-one", "sk-two", KEY)
    assert told == [(name, f"Bearer {key}", "00-1-2-01") for name, key in zip("abaa", keys, strict=True)]


async def test_no_more_models_are_remembered_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(litellm_as_is, "MODELS_REMEMBERED", 2)
    with Lenient(text_turn("Hi")) as upstream:
        chat = LitellmChat(api_key=KEY, base_url=upstream.url)
        for name in "abc":
            assert (await answers(chat, asks(model=name)))[1] is None
        assert chat.requests.models() == ["hosted_vllm/c"]


@pytest.mark.parametrize(
    "changed",
    [
        {"reads_plain_lines": lambda _: False},
        {"_KEY": ""},
        {"_SETTINGS": frozenset()},
        {"_result": lambda call: call.close()},
        {"_silent_client": lambda litellm: litellm.no_such_class},
    ],
    ids=["another parser", "the key elsewhere", "other arguments", "it waits for something", "no such client"],
)
async def test_a_litellm_that_is_not_known_is_called_each_time(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any]
) -> None:
    for name, value in changed.items():
        monkeypatch.setattr(litellm_as_is, name, value)
    assert known_request(load(), arguments(None, asks(), base_url="http://there/v1") | {"timeout": 30}) is None
    with Lenient(text_turn("Hi")) as upstream:
        chunks, problem = await answers(LitellmChat(api_key=KEY, base_url=upstream.url), asks())
        assert ("Hi" in str(chunks), problem, len(upstream.asks)) == (True, None, 1)


STEPS = [step for step, _ in REFUSALS] + [
    *(Status(status, error("It says why")) for status in (307, 400, 404, 405, 409, 415, 422, 424, 500, 501, 502, 503)),
    Status(503, b"<html>away</html>", {"content-type": "text/html", "retry-after": "3"}),
    Status(500, b""),
    Status(529, {"detail": [{"loc": ["body", "temperature"], "msg": "too hot"}]}),
    Status(400, {"error": {"message": "no such parameter", "param": "temperature"}}),
]


@pytest.mark.parametrize("step", STEPS, ids=str)
async def test_a_refusal_means_the_same_as_through_litellm(step: Step, request: pytest.FixtureRequest) -> None:
    ours = await refusal(step)
    request.getfixturevalue("every_call_is_litellms")
    assert ours == await refusal(step)


@pytest.mark.parametrize("key", [KEY, "a\nb: c", "schlüssel", "\u2028"])
@pytest.mark.parametrize("host", ["u:p@127.0.0.1:9", "127.0.0.1:9", "nowhere.invalid", "[::1]:9"])
async def test_a_request_that_cannot_be_sent_means_the_same_too(
    key: str, host: str, request: pytest.FixtureRequest
) -> None:
    ours = await refusal_at(f"http://{host}/v1", key)
    request.getfixturevalue("every_call_is_litellms")
    assert ours == await refusal_at(f"http://{host}/v1", key)
