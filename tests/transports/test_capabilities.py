"""What a model cannot take, over HTTP: refused by its exact path, or said in the header."""

import json
from typing import Any

import httpx
import pytest

from app.options import Can
from app.settings import Model, Secret, Server, Settings, Upstream
from tests.support.script import opens, stops, text_turn, thinks
from tests.support.servers import AnthropicUpstream, ChatUpstream
from tests.support.servers import anthropic as claude
from tests.support.serving import serving

pytestmark = pytest.mark.xdist_group("litellm")

IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}
LOOK = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look:"}, IMAGE]}]


def settings(
    url: str, *, provider: str | None = None, name: str = "m", lenient: bool = False, **model: Any
) -> Settings:
    via: Any = {"via": "litellm", "provider": provider} if provider else {"via": "chat"}
    return Settings(
        server=Server(lenient=lenient),
        upstreams={"there": Upstream(base_url=url, api_key=Secret("sk-of-the-upstream"), **via)},
        models={"m": Model(upstream="there", name=name, **model)},
    )


def asked(url: str, **fields: Any) -> httpx.Response:
    return httpx.post(f"{url}/v1/responses", json={"model": "m", **fields}, timeout=20)


def refused(answer: httpx.Response) -> tuple[int, str, str]:
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["param"]


@pytest.mark.parametrize("stream", [True, False])
def test_an_image_for_a_model_that_litellm_would_not_show_it_is_refused(*, stream: bool) -> None:
    with (
        ChatUpstream() as upstream,
        serving(settings(upstream.url, provider="deepseek", name="deepseek-chat")) as url,
    ):
        answer = asked(url, input=LOOK, stream=stream)
        assert refused(answer) == (400, "unsupported_value", "input[0].content[1]")
        assert upstream.asks == []


def test_a_lenient_server_leaves_it_out_and_says_so_to_model_and_caller() -> None:
    with (
        ChatUpstream(text_turn("I see nothing.")) as upstream,
        serving(settings(upstream.url, provider="deepseek", name="deepseek-chat", lenient=True)) as url,
    ):
        answer = asked(url, input=LOOK)
    assert json.loads(answer.headers["x-am-warnings"]) == [
        "'input[0].content[1]' is 'input_image', and this model cannot see images. It was left out."
    ]
    assert upstream.asks[0].body["messages"] == [
        {"role": "user", "content": "Look:\n[An image was left out here: this model cannot see images.]"}
    ]


def test_a_configuration_knows_better_of_any_lane() -> None:
    with ChatUpstream() as upstream, serving(settings(upstream.url, can=Can(vision=False))) as url:
        assert refused(asked(url, input=LOOK)) == (400, "unsupported_value", "input[0].content[1]")
        assert upstream.asks == []


def test_a_configuration_cannot_make_litellm_pass_on_what_it_drops() -> None:
    with (
        ChatUpstream() as upstream,
        serving(settings(upstream.url, provider="deepseek", name="deepseek-chat", can=Can(vision=True))) as url,
    ):
        assert refused(asked(url, input=LOOK)) == (400, "unsupported_value", "input")
        assert upstream.asks == []


@pytest.mark.parametrize("provider", ["gemini", None])
def test_a_schema_that_litellm_would_make_too_large_is_refused_by_its_path(provider: str | None) -> None:
    """Its definitions refer twice to the next one. A server that is shown the references takes them as they are."""
    pairs = {f"d{level}": {"anyOf": [{"$ref": f"#/$defs/d{level + 1}"}] * 2} for level in range(14)}
    schema = {"type": "object", "$defs": pairs | {"d14": {"type": "string"}}, "anyOf": [{"$ref": "#/$defs/d0"}]}
    tool = {"type": "function", "name": "f", "parameters": schema}
    with (
        ChatUpstream(text_turn("Hi")) as upstream,
        serving(settings(upstream.url, provider=provider, name="gemini-2.5-flash")) as url,
    ):
        answer = asked(url, input="Hi", tools=[tool])
    if provider:
        assert (refused(answer), upstream.asks) == ((400, "invalid_value", "tools[0].parameters"), [])
    else:
        assert upstream.asks[0].body["tools"][0]["function"]["parameters"] == schema


def test_an_effort_is_lowered_to_what_the_configuration_says() -> None:
    with (
        ChatUpstream(text_turn("Hi")) as upstream,
        serving(settings(upstream.url, reasoning_efforts=("low", "medium"))) as url,
    ):
        answer = asked(url, input="Hi", reasoning={"effort": "max"})
    assert upstream.asks[0].body["reasoning_effort"] == "medium"
    assert json.loads(answer.headers["x-am-warnings"]) == [
        "'reasoning.effort' was lowered from 'max' to 'medium': this model does not know it."
    ]
    assert answer.json()["reasoning"] == {"effort": "max", "summary": None}


def test_claude_is_asked_for_the_most_thought_that_fits_into_the_answer() -> None:
    script = [*claude.begins(), *claude.text(0, "Hi"), *claude.ends()]
    with (
        AnthropicUpstream(script) as upstream,
        serving(settings(upstream.url, provider="anthropic", name="claude-sonnet-4-5")) as url,
    ):
        answer = asked(url, input="Hi", reasoning={"effort": "high"}, max_output_tokens=3000)
    assert upstream.asks[0].body["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    [warning] = json.loads(answer.headers["x-am-warnings"])
    assert warning.startswith("'reasoning.effort' was lowered from 'high' to 'medium'")


THOUGHTFUL = [opens(), thinks("Hm."), *text_turn("Hi")[1:]]


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
def test_thoughts_are_returned_on_request(fields: dict[str, Any], types: list[str], *, stream: bool) -> None:
    with ChatUpstream(THOUGHTFUL) as upstream, serving(settings(upstream.url, reasoning="on_request")) as url:
        answer = asked(url, input="Hi", stream=stream, **fields)
    assert ("Hm." in answer.text) == ("reasoning" in types)
    if not stream:
        assert [item["type"] for item in answer.json()["output"]] == types


def test_thoughts_that_are_not_told_are_counted_and_part_no_text() -> None:
    uncounted = [opens(), thinks("Hm. " * 40), *text_turn("Hi")[1:-1], stops()]
    with ChatUpstream(uncounted) as upstream, serving(settings(upstream.url, reasoning="on_request")) as url:
        body = asked(url, input="Hi").json()
    assert [item["type"] for item in body["output"]] == ["message"]
    assert body["usage"]["output_tokens"] >= 40
