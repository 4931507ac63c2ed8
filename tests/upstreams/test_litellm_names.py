"""Names, keys and settings behind litellm: no name is interpreted, and no key leaves but the configured one."""

import pytest

from app.protocol.problems import Problem
from app.upstreams.litellm_ask import key_for
from app.upstreams.litellm_chat import LitellmChat
from tests.support.litellm_asks import Json, sent
from tests.support.upstream_asks import KEY, TOOLS, answers, asks, server

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
