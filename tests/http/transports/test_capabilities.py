"""What a model or its provider cannot take: refused by its exact path, or left out and said in the header."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import pytest

from tests.wire.configuration import Can, Model, Server, Settings, Table, Upstream
from tests.wire.program import serving
from tests.wire.script import opens, stops, text_turn, thinks
from tests.wire.servers import AnthropicUpstream, ChatUpstream
from tests.wire.servers.anthropic import begins, ends, text

IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
LOOK = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look:"}, IMAGE]}]


class Servers(NamedTuple):
    """One server for all tests, because litellm takes seconds to start, and the models' servers behind it."""

    url: str
    chat: ChatUpstream
    claude: AnthropicUpstream


def settings(chat: ChatUpstream, claude: AnthropicUpstream, **server: Any) -> str:
    def litellm(provider: str, url: str, **more: Any) -> Table:
        return Upstream(via="litellm", provider=provider, base_url=url, api_key="sk-of-the-upstream", **more)

    return Settings(
        server=Server(**server),
        upstreams={
            "chat": Upstream(via="chat", base_url=chat.url),
            "deepseek": litellm("deepseek", chat.url),
            "claude": litellm("anthropic", claude.url),
            "hinted": litellm("anthropic", claude.url, hints=["prompt_cache_key", "service_tier"]),
        },
        models={
            "chat": Model(upstream="chat"),
            "blind": Model(upstream="chat", can=Can(vision=False)),
            "lazy": Model(upstream="chat", reasoning_efforts=["low", "medium"]),
            "silent": Model(upstream="chat", reasoning="on_request"),
            "deepseek": Model(upstream="deepseek", name="deepseek-chat"),
            "deepseek that sees": Model(upstream="deepseek", name="deepseek-chat", can=Can(vision=True)),
            "claude": Model(upstream="claude", name="claude-sonnet-4-5"),
            "hinted": Model(upstream="hinted", name="claude-sonnet-4-5"),
        },
    )


@pytest.fixture(scope="module")
def started() -> Iterator[Servers]:
    with (
        ChatUpstream() as chat,
        AnthropicUpstream([*begins(), *text(0, "Hi"), *ends()]) as claude,
        serving(settings(chat, claude)) as url,
    ):
        yield Servers(url, chat, claude)


@pytest.fixture
def servers(started: Servers) -> Servers:
    """They were not asked anything yet."""
    started.chat.asks.clear()
    started.chat.scripts = (text_turn("Hi"),)
    started.claude.asks.clear()
    return started


def asked(url: str, model: str, **fields: Any) -> httpx.Response:
    return httpx.post(f"{url}/v1/responses", json={"model": model, "input": "Hi", **fields}, timeout=30)


def refused(answer: httpx.Response) -> tuple[int, str, str]:
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["param"]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("model", "param"),
    [
        ("blind", "input[0].content[1]"),
        ("deepseek", "input[0].content[1]"),  # litellm would not show it the image
        ("deepseek that sees", "input"),  # whatever the configuration says
    ],
)
def test_an_image_for_a_model_that_would_not_see_it_is_refused(
    servers: Servers, model: str, param: str, *, stream: bool
) -> None:
    assert refused(asked(servers.url, model, input=LOOK, stream=stream)) == (400, "unsupported_value", param)
    assert servers.chat.asks == []


def test_a_lenient_server_leaves_it_out_and_says_so_to_model_and_caller(servers: Servers) -> None:
    with serving(settings(servers.chat, servers.claude, lenient=True)) as url:
        answer = asked(url, "blind", input=LOOK)
    assert json.loads(answer.headers["x-am-warnings"]) == [
        "'input[0].content[1]' is 'input_image', and this model cannot see images. It was left out."
    ]
    assert servers.chat.asks[0].body["messages"] == [
        {"role": "user", "content": "Look:\n[An image was left out here: this model cannot see images.]"}
    ]


def test_an_effort_is_lowered_to_what_the_configuration_says(servers: Servers) -> None:
    answer = asked(servers.url, "lazy", reasoning={"effort": "max"})
    assert servers.chat.asks[0].body["reasoning_effort"] == "medium"
    assert json.loads(answer.headers["x-am-warnings"]) == [
        "'reasoning.effort' was lowered from 'max' to 'medium': this model does not know it."
    ]
    assert answer.json()["reasoning"] == {"effort": "max", "summary": None}


def test_claude_is_asked_for_the_most_thought_that_fits_into_the_answer(servers: Servers) -> None:
    answer = asked(servers.url, "claude", reasoning={"effort": "high"}, max_output_tokens=3000)
    assert servers.claude.asks[0].body["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    [warning] = json.loads(answer.headers["x-am-warnings"])
    assert warning.startswith("'reasoning.effort' was lowered from 'high' to 'medium'")


@pytest.mark.parametrize(
    ("fields", "types"),
    [
        ({}, ["message"]),
        ({"reasoning": {"effort": "high"}}, ["message"]),
        ({"reasoning": {"summary": "auto"}}, ["reasoning", "message"]),
        ({"include": ["reasoning.encrypted_content"]}, ["reasoning", "message"]),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_thoughts_are_returned_on_request(
    servers: Servers, fields: dict[str, Any], types: list[str], *, stream: bool
) -> None:
    servers.chat.scripts = ([opens(), thinks("Hm."), *text_turn("Hi")[1:]],)
    answer = asked(servers.url, "silent", stream=stream, **fields)
    assert ("Hm." in answer.text) == ("reasoning" in types)
    if not stream:
        assert [item["type"] for item in answer.json()["output"]] == types


def test_thoughts_that_are_not_told_are_counted_and_part_no_text(servers: Servers) -> None:
    servers.chat.scripts = ([opens(), thinks("Hm. " * 40), *text_turn("Hi")[1:-1], stops()],)
    body = asked(servers.url, "silent").json()
    assert [item["type"] for item in body["output"]] == ["message"]
    assert body["usage"]["output_tokens"] >= 40


SET: dict[str, Any] = {
    "temperature": 0.5,
    "presence_penalty": 0.5,
    "text": {"verbosity": "low"},
    "top_logprobs": 2,
}
UNKNOWN = [f"'{name}' has no effect on this model." for name in ("text.verbosity", "presence_penalty", "top_logprobs")]


@pytest.mark.parametrize("stream", [True, False])
def test_what_a_provider_does_not_know_is_told_by_the_names_the_client_used(servers: Servers, *, stream: bool) -> None:
    answer = asked(servers.url, "claude", stream=stream, **SET)
    assert answer.status_code == 200
    assert json.loads(answer.headers["x-am-warnings"]) == UNKNOWN
    assert servers.claude.asks[0].body["temperature"] == 0.5


def test_a_strict_server_does_not_ask_then(servers: Servers) -> None:
    with serving(settings(servers.chat, servers.claude, strict=True)) as url:
        answer = asked(url, "claude", **SET)
    wanted = f"This server is strict. {' '.join(UNKNOWN)}"
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, wanted)
    assert servers.claude.asks == []


def test_a_plain_chat_server_is_told_everything(servers: Servers) -> None:
    answer = asked(servers.url, "chat", **SET)
    assert answer.status_code == 200
    assert "x-am-warnings" not in answer.headers
    assert servers.chat.asks[0].body["verbosity"] == "low"


def test_a_hint_that_litellm_leaves_out_is_no_warning(servers: Servers) -> None:
    hints = {"prompt_cache_key": "k", "service_tier": "flex"}
    answer = asked(servers.url, "hinted", **hints)
    assert json.loads(answer.headers["x-am-warnings"]) == ["'service_tier' has no effect on this model."]
    assert servers.claude.asks[0].body.keys().isdisjoint(hints)
