"""What reaches an upstream through litellm: the name, the key, the settings, and nothing else."""

import copy
from typing import Any

import pytest

from app.protocol.problems import Problem
from app.upstreams.litellm_ask import GENERIC_PROVIDER, address, key_for
from app.upstreams.litellm_chat import LitellmChat
from tests.support.script import talk
from tests.support.servers import anthropic as claude
from tests.support.servers.gemini import answers as candidate
from tests.support.upstream_asks import KEY, TOOLS, answers, asks, server

Json = dict[str, Any]

SCRIPTS: dict[str, list[Any]] = {
    "anthropic": [*claude.begins(), *claude.text(0, "Hi"), *claude.ends()],
    "gemini": [candidate({"text": "Hi"}, finish="STOP")],
}

IMAGE = "data:image/png;base64,iVBORw0KGgo="


async def sent(
    provider: str | None, ask: Json, *, api_key: str | None = KEY, also: str = ""
) -> tuple[Json, dict[str, str]]:
    """The body and the headers that the upstream got."""
    with server(provider, SCRIPTS.get(str(provider), talk("Hi"))) as upstream:
        if also:
            upstream.also = frozenset({also})  # type: ignore[attr-defined]  # of the chat server, the only one asked so
        _, problem = await answers(LitellmChat(provider, api_key=api_key, base_url=upstream.url), ask)
        assert problem is None
        [got] = upstream.asks
    return got.body, got.headers


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


NAMES = [
    "org/model",
    "openai/gpt-oss-120b",
    "hosted_vllm/hosted_vllm/x",
    "anthropic/claude-2",
    "azure/command-r-plus",
    "openrouter/auto",
    "ollama/llama3:8b-q4@latest",
    "replicate/meta/llama-2-70b",
    "clarifai/x",
    "gpt-5.4",
    "gpt-5-pro",
    "o1-pro",
    "command-r",
    "text-completion-openai/x",
    "github_copilot/x",
    "litellm_proxy/x",
    "bedrock/arn:aws:bedrock:x",
    "x?y=1#z%2e",
    "modèle 1",
    "*",
]


@pytest.mark.parametrize("provider", [None, "openai"])
@pytest.mark.parametrize("name", NAMES)
async def test_a_name_is_never_interpreted(provider: str | None, name: str) -> None:
    body, headers = await sent(provider, asks(tools=TOOLS, reasoning_effort="low") | {"model": name})
    assert (body["model"], headers["authorization"]) == (name, f"Bearer {KEY}")


@pytest.mark.parametrize("provider", ["groq", "moonshot", "deepseek", "together_ai"])
@pytest.mark.parametrize("name", ["openai/gpt-oss-120b", "groq/x", "meta-llama/Llama-3-8b", "gpt-5-pro"])
async def test_a_name_is_not_interpreted_beyond_its_provider(provider: str, name: str) -> None:
    body, _ = await sent(provider, asks() | {"model": name})
    assert body["model"] == name


STEERING = [
    "",
    " m",
    "oobabooga/http://127.0.0.1:9",
    "https://example.com/x",
    "../../x",
    "a/../b",
    "a\nb",
    "a\x00b",
    "responses/gpt-5",
    "ft:davinci-002:me",
]


@pytest.mark.parametrize("provider", [None, "openai", "moonshot", "anthropic", "gemini"])
@pytest.mark.parametrize("name", STEERING)
async def test_a_name_that_steers_is_refused(provider: str | None, name: str) -> None:
    with server(provider) as upstream:
        _, problem = await answers(LitellmChat(provider, api_key=KEY, base_url=upstream.url), asks() | {"model": name})
        assert upstream.asks == []
    message = f"There is no model of this name here: {name!r}."
    assert problem == Problem(code="model_not_found", message=message, param="model")


@pytest.mark.parametrize("provider", ["anthropic", "gemini"])
@pytest.mark.parametrize("name", ["replicate/x", "clarifai-1"])
async def test_a_name_that_steers_only_some_providers_is_refused_there(provider: str, name: str) -> None:
    _, problem = await answers(
        LitellmChat(provider, api_key=KEY, base_url="http://127.0.0.1:1"), asks() | {"model": name}
    )
    assert problem is not None
    assert problem.code == "model_not_found"


@pytest.mark.parametrize(
    ("provider", "header", "form"),
    [
        (None, "authorization", "Bearer {}"),
        ("openai", "authorization", "Bearer {}"),
        ("moonshot", "authorization", "Bearer {}"),
        ("deepseek", "authorization", "Bearer {}"),
        ("groq", "authorization", "Bearer {}"),
        ("anthropic", "x-api-key", "{}"),
        ("gemini", "x-goog-api-key", "{}"),
    ],
)
@pytest.mark.parametrize("api_key", [KEY, None], ids=["a key", "no key"])
async def test_no_key_but_the_configured_one_leaves_the_server(
    provider: str | None, header: str, form: str, api_key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI", "MOONSHOT", "DEEPSEEK", "GROQ", "ANTHROPIC", "GEMINI", "GOOGLE", "HOSTED_VLLM"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-of-the-environment")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "sk-of-the-environment")
    body, headers = await sent(provider, asks(provider), api_key=api_key)
    assert headers[header] == form.format(api_key or "no-key")
    assert "of-the-environment" not in f"{body}{headers}"


@pytest.mark.parametrize(
    ("provider", "api_key", "base_url", "expected"),
    [
        (None, None, None, "no-key"),
        ("bedrock", None, None, None),
        ("bedrock", None, "https://example.com", "no-key"),
        ("bedrock", KEY, None, KEY),
        ("openai", None, None, "no-key"),
    ],
)
def test_only_providers_with_credentials_of_their_own_get_no_key(
    provider: str | None, api_key: str | None, base_url: str | None, expected: str | None
) -> None:
    assert key_for(provider, api_key, base_url) == expected


@pytest.mark.parametrize("provider", [None, "moonshot", "anthropic", "gemini"])
async def test_only_known_settings_reach_litellm(provider: str | None) -> None:
    """Any of these would move the request, or the key, somewhere else."""
    steering: Json = {
        "api_base": "http://127.0.0.1:1",
        "base_url": "http://127.0.0.1:1",
        "fallbacks": ["x"],
        "mock_response": "no",
        "extra_headers": {"x-steered": "1"},
        "num_retries": 3,
        "custom_llm_provider": "openai",
        "drop_params": False,
    }
    body, headers = await sent(provider, asks(provider, **steering))
    assert not steering.keys() & body.keys()
    assert "x-steered" not in headers


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
        message="This model cannot be given this image by its URL. Send it as a data URI.",
        param="input",
    )


@pytest.mark.parametrize(
    ("provider", "part", "message"),
    [
        (
            "deepseek",
            {"type": "image_url", "image_url": {"url": IMAGE}},
            "This model cannot be given a part",
        ),
        (
            "anthropic",
            {"type": "input_audio", "input_audio": {"data": "x", "format": "wav"}},
            "This model cannot be given a part",
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
