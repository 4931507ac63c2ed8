"""What is known of models behind litellm: its own map, and the efforts that they know."""

import pytest

from app.providers.capabilities import Capabilities
from app.upstreams.litellm_can import lost_parts
from app.upstreams.litellm_chat import LitellmChat
from tests.support.any_server import AnyServer
from tests.support.upstream_asks import KEY, answers, asks
from tests.wire.servers import Status

CLAUDE = {"minimal": 1024, "low": 1024, "medium": 2048, "high": 4096, "xhigh": 8192}


LEVELS = ("low", "medium", "high")


@pytest.mark.parametrize(
    ("provider", "model", "expected"),
    [
        (
            "anthropic",
            "claude-sonnet-4-5",
            Capabilities(
                vision=True, files=True, audio=False, tools=True, strict_tools=False, efforts=("none", *CLAUDE),
                thinking_tokens=CLAUDE, structured_output=("json_schema",), verbosity=False,
                replaces_references="old",
            ),
        ),
        (
            "anthropic",
            "claude-opus-4-6",
            Capabilities(
                vision=True, files=True, audio=False, tools=True, strict_tools=False,
                efforts=("none", "minimal", *LEVELS, "max"), structured_output=("json_schema",), verbosity=False,
                replaces_references="old",
            ),
        ),
        (
            "gemini",
            "gemini-2.5-pro",
            Capabilities(
                vision=True, files=True, audio=True, tools=True, parallel_calls=False, strict_tools=False,
                efforts=("minimal", *LEVELS), structured_output=("json_schema", "json_object"), verbosity=False,
                replaces_references="all",
            ),
        ),
        (
            "deepseek",
            "deepseek-chat",
            Capabilities(
                vision=False, files=False, audio=False, tools=True, parallel_calls=True,
                structured_output=("json_object",), verbosity=False,
            ),
        ),
        (
            "openai",
            "gpt-5",
            Capabilities(
                vision=True, files=True, tools=True, parallel_calls=True, efforts=("minimal", *LEVELS),
            ),
        ),
        (
            "azure",
            "gpt-5",
            Capabilities(
                vision=True, files=True, tools=True, parallel_calls=True, efforts=("minimal", *LEVELS),
            ),
        ),
        (
            "openai",
            "gpt-4o",
            Capabilities(vision=True, files=True, tools=True, parallel_calls=True, reasoning=False, verbosity=False),
        ),
        (
            "groq",
            "openai/gpt-oss-120b",
            Capabilities(
                tools=True, parallel_calls=True, efforts=LEVELS, structured_output=("json_schema", "json_object"),
                structured_beside_tools=(), verbosity=False,
            ),
        ),
        (
            "openrouter",
            "of-tomorrow",
            Capabilities(efforts=("none", "minimal", *LEVELS, "xhigh"), verbosity=False),
        ),
    ],
)  # fmt: skip
async def test_what_litellms_map_says_is_known(provider: str, model: str, expected: Capabilities) -> None:
    assert await LitellmChat(provider).capabilities(model) == expected


async def test_a_no_of_the_map_takes_no_model_its_tools() -> None:
    """It says so of a model that has learned to call them since."""
    reasoner = await LitellmChat("deepseek").capabilities("deepseek-reasoner")
    assert (reasoner.tools, reasoner.parallel_calls) == (None, False)
    assert (await LitellmChat("perplexity").capabilities("sonar")).tools is False


@pytest.mark.parametrize(
    ("provider", "model", "lost"),
    [
        ("vertex_ai", "claude-sonnet-4-5", {"input_audio"}),
        ("vertex_ai", "gemini-2.5-pro", set()),
        ("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", {"input_audio"}),
    ],
)
def test_claude_loses_the_same_wherever_it_runs(provider: str, model: str, lost: set[str]) -> None:
    assert lost_parts(provider, model) == lost


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("anthropic", "claude-sonnet-4-5"),
        ("anthropic", "claude-opus-4-6"),
        ("anthropic", "claude-opus-4-7"),
        ("gemini", "gemini-2.5-flash"),
        ("gemini", "gemini-3-pro-preview"),
        ("groq", "openai/gpt-oss-120b"),
        ("openrouter", "openai/gpt-5"),
    ],
)
async def test_every_effort_that_a_model_is_said_to_know_gets_through_litellm(provider: str, model: str) -> None:
    """Litellm refuses some itself, before it asks anybody."""
    known = (await LitellmChat(provider).capabilities(model)).efforts
    assert known
    for effort in known:
        with AnyServer([Status(400, {"error": {"message": "Enough."}})]) as ear:
            chat = LitellmChat(provider, api_key=KEY, base_url=ear.url)
            _, problem = await answers(chat, asks(reasoning_effort=effort, max_tokens=50_000) | {"model": model})
            assert ear.asks, (effort, problem)


@pytest.mark.parametrize(
    "model", ["gemini-2.5-flash", "gemini-2.5-pro", "gemini-3-flash-preview", "gemini-3-pro-preview"]
)
async def test_no_two_efforts_of_a_gemini_come_to_the_same(model: str) -> None:
    """Otherwise one of them was lowered or raised without a word."""
    known = (await LitellmChat("gemini").capabilities(model)).efforts or ()
    with AnyServer([Status(400, {"error": {"message": "Enough."}})]) as ear:
        chat = LitellmChat("gemini", api_key=KEY, base_url=ear.url)
        for effort in known:
            await answers(chat, asks(reasoning_effort=effort) | {"model": model})
        result = [ask.body["generationConfig"]["thinkingConfig"] for ask in ear.asks]
    assert len(result) == len(known)
    alike = [{key: value for key, value in one.items() if key != "includeThoughts"} for one in result]
    assert [one for index, one in enumerate(alike) if one in alike[:index]] == []
