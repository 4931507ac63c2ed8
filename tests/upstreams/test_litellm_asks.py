"""What reaches an upstream through litellm: the name, the key, the settings, and nothing else."""

import copy

import pytest

from app.protocol.problems import Problem
from app.upstreams.litellm_ask import GENERIC_PROVIDER, address
from app.upstreams.litellm_chat import LitellmChat
from tests.support.litellm_asks import SCRIPTS, Json, sent
from tests.support.upstream_asks import KEY, TOOLS, answers, asks, server

IMAGE = "data:image/png;base64,iVBORw0KGgo="


def pictured(url: str) -> Json:
    return asks(
        messages=[
            {
                "role": "user",
                "content": [{"type": "text", "text": "?"}, {"type": "image_url", "image_url": {"url": url}}],
            }
        ]
    )


EVERYTHING: Json = {
    "tools": TOOLS,
    "tool_choice": {"type": "function", "function": {"name": "weather"}},
    "parallel_tool_calls": False,
    "response_format": {
        "type": "json_schema",
        "json_schema": {
            "name": "x",
            "strict": True,
            "schema": {"type": "object", "properties": {}, "additionalProperties": False},
        },
    },
    "max_tokens": 50,
    "temperature": 0,
    "top_p": 0.5,
    "presence_penalty": 1,
    "frequency_penalty": -1,
    "logprobs": True,
    "top_logprobs": 2,
    "stop": ["END"],
    "seed": 7,
    "user": "u",
    "reasoning_effort": "low",
    "service_tier": "auto",
    "prompt_cache_key": "k",
    "safety_identifier": "s",
    "verbosity": "low",
    "metadata": {"a": "b"},
    "store": False,
}

HISTORY = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": IMAGE}}]},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "b"}, {"type": "text", "text": "c"}],
        "reasoning_content": "hm",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{ "city":"Rome"}'}},
            {"id": "c2", "type": "function", "function": {"name": "weather", "arguments": "{}"}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "warm"},
    {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "cold"}]},
    {"role": "system", "content": "Be very brief."},
    {"role": "user", "content": "d"},
]


@pytest.mark.parametrize("provider", [None, "hosted_vllm", "openai"])
async def test_a_chat_server_gets_the_ask_as_it_is(provider: str | None) -> None:
    """Strict tools, text parts, arguments, reasoning and the rest: byte for byte."""
    ask = asks(messages=HISTORY, **EVERYTHING)
    body, _ = await sent(provider, ask)
    assert body == ask


async def test_what_a_provider_does_not_know_is_left_out_and_named() -> None:
    ask = asks("anthropic", verbosity="low", logprobs=True, temperature=0.5)
    with server("anthropic", SCRIPTS["anthropic"]) as upstream:
        chat = LitellmChat("anthropic", api_key=KEY, base_url=upstream.url)
        assert (await answers(chat, ask))[1] is None
        body = upstream.asks[0].body
    assert not {"verbosity", "logprobs"} & body.keys()
    assert body["temperature"] == 0.5
    assert await chat.dropped(ask) == ["verbosity", "logprobs"]


async def test_nothing_is_left_out_for_a_chat_server() -> None:
    assert await LitellmChat(base_url="http://127.0.0.1:1").dropped(asks(**EVERYTHING)) == []


@pytest.mark.parametrize("provider", [None, "groq", "anthropic", "gemini"])
async def test_the_ask_itself_is_not_touched(provider: str | None) -> None:
    """What litellm is given it edits, and the client is told its own tools again."""
    ask = asks(provider, messages=HISTORY, tools=TOOLS)
    before = copy.deepcopy(ask)
    await sent(provider, ask)
    assert ask == before


@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
@pytest.mark.parametrize("tools", [{"tools": TOOLS}, {}], ids=["tools", "no tools"])
async def test_a_history_of_calls_is_accepted_with_and_without_tools(provider: str, tools: Json) -> None:
    """The server on the other side is as strict as the real one, which wants tools where there are calls."""
    await sent(provider, asks(provider, messages=HISTORY, **tools))


async def test_reasoning_is_not_given_back_to_servers_that_refuse_unknown_keys() -> None:
    body, _ = await sent("groq", asks(messages=HISTORY))
    assert "reasoning_content" not in body["messages"][2]
    body, _ = await sent("moonshot", asks(messages=[HISTORY[0], HISTORY[6]]))
    assert body["messages"] == [HISTORY[0], HISTORY[6]]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, (64000, None)),
        ({"reasoning_effort": "none"}, (64000, None)),
        ({"reasoning_effort": "high"}, (64000, 4096)),
        ({"reasoning_effort": "high", "max_tokens": 6000}, (6000, 4096)),
    ],
)
async def test_claude_has_room_for_its_thoughts_and_its_answer(
    settings: Json, expected: tuple[int, int | None]
) -> None:
    body, _ = await sent("anthropic", asks("anthropic", **settings))
    assert (body["max_tokens"], body.get("thinking", {}).get("budget_tokens")) == expected


async def test_a_claude_that_litellm_does_not_know_is_asked_all_the_same() -> None:
    body, _ = await sent("anthropic", asks(reasoning_effort="low") | {"model": "claude-of-tomorrow"})
    assert body["model"] == "claude-of-tomorrow"


@pytest.mark.parametrize(
    ("provider", "url", "accepted"),
    [
        (None, "https://example.com/x.png", True),
        (None, IMAGE, True),
        ("groq", "https://example.com/x.png", True),
        ("anthropic", "https://example.com/x.png", True),
        ("anthropic", "http://example.com/x.png", False),
        ("anthropic", IMAGE, True),
        ("gemini", "https://example.com/x.png", False),
        ("gemini", IMAGE, True),
        ("ollama_chat", "https://example.com/x.png", False),
        ("bedrock", "https://example.com/x.png", False),
        ("vertex_ai", "gs://bucket/x.png", False),
    ],
)
async def test_this_server_never_fetches_an_image(provider: str | None, url: str, *, accepted: bool) -> None:
    """Where litellm would download it, the ask is refused; elsewhere the upstream gets the URL."""
    ask = pictured(url) | {"model": asks(provider)["model"]}
    if accepted:
        body, _ = await sent(provider, ask)
        assert url.removeprefix("data:image/png;base64,") in str(body)
        return
    _, problem = await answers(LitellmChat(provider, api_key=KEY, base_url="http://127.0.0.1:1"), ask)
    assert problem == Problem(
        code="unsupported_value",
        message="This model does not accept this image by URL. Send it as a data URI.",
        param="input",
    )


@pytest.mark.parametrize(
    ("provider", "part", "message"),
    [
        (
            "deepseek",
            {"type": "image_url", "image_url": {"url": IMAGE}},
            "This model does not accept parts",
        ),
        (
            "anthropic",
            {"type": "input_audio", "input_audio": {"data": "x", "format": "wav"}},
            "This model does not accept parts",
        ),
        ("moonshot", {"type": "file", "file": {"file_id": "https://example.com/x.pdf"}}, "Files by id cannot be sent"),
    ],
)
async def test_what_litellm_would_leave_out_or_fetch_is_refused(provider: str, part: Json, message: str) -> None:
    ask = asks(messages=[{"role": "user", "content": [{"type": "text", "text": "?"}, part]}])
    _, problem = await answers(LitellmChat(provider, api_key=KEY, base_url="http://127.0.0.1:1"), ask)
    assert problem is not None
    assert problem.code == "unsupported_value"
    assert problem.message.startswith(message)


@pytest.mark.parametrize(
    ("provider", "given", "expected"),
    [
        (None, None, None),
        (GENERIC_PROVIDER, "http://h:1/v1/", "http://h:1/v1"),
        ("anthropic", "http://h:1/v1", "http://h:1"),
        ("gemini", "http://h:1", "http://h:1/v1beta"),
        ("gemini", "http://h:1/v1beta/", "http://h:1/v1beta"),
    ],
)
def test_an_address_is_given_in_litellms_form(provider: str | None, given: str | None, expected: str | None) -> None:
    assert address(provider, given) == expected
