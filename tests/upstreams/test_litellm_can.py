"""What is known of models behind litellm, held against what litellm really does.

When litellm changes what it loses, a test here fails: then the tables change with it.
"""

from dataclasses import replace
from typing import Any

import pytest

from app.providers.capabilities import ANYTHING, Capabilities
from app.providers.lookup import PROVIDERS, provider_of
from app.upstreams.litellm_can import capabilities, lost_parts
from app.upstreams.litellm_chat import LitellmChat
from tests.support.providers import changed
from tests.support.servers import Ask, ScriptedUpstream, Status
from tests.support.upstream_asks import KEY, TOOLS, answers, asks

Json = dict[str, Any]

IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PDF = "JVBERi0xLjQgaGVsbG8gaGVsbG8gaGVsbG8="
WAV = "UklGRiQAAABXQVZFZm10IGhlbGxv"
PARTS: dict[str, tuple[Json, str]] = {
    "image_url": ({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{IMAGE}"}}, IMAGE),
    "file": (
        {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"}},
        PDF,
    ),
    "input_audio": ({"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}}, WAV),
}
MODELS = {
    "anthropic": "claude-sonnet-4-5",
    "bedrock": "us.amazon.nova-pro-v1:0",
    "gemini": "gemini-2.5-flash",
    "deepseek": "deepseek-chat",
    "mistral": "mistral-large-latest",
    "xai": "grok-4",
}
WHOLE = ["groq", "openrouter", "gemini", "xai", "moonshot", "dashscope", "together_ai", "cerebras", "perplexity"]
"""Providers for which every part arrives."""


class Ear(ScriptedUpstream):
    """Any provider's server: it hears the ask, and refuses it."""

    def faults(self, ask: Ask) -> list[str]:  # noqa: ARG002 — it has no opinion
        """Nothing is wrong with any ask."""
        return []


async def heard(provider: str, **settings: Any) -> Json:
    """The body that a provider's server gets."""
    with Ear([Status(400, {"error": {"message": "Enough."}})]) as ear:
        ask = asks(**settings) | {"model": MODELS.get(provider, "m")}
        _, problem = await answers(LitellmChat(provider, api_key=KEY, base_url=ear.url), ask)
        assert ear.asks, problem
        return ear.asks[-1].body


LOSING = [provider.name for provider in PROVIDERS if provider.translation.lost_parts]


@pytest.mark.parametrize("provider", [*LOSING, *WHOLE])
async def test_the_parts_that_litellm_loses_are_those_that_are_known(provider: str) -> None:
    known = provider_of(provider)
    keeps = replace(known.translation_of(MODELS.get(provider, "m")), lost_parts=frozenset())
    lost = set()
    for kind, (part, data) in PARTS.items():
        content = [{"type": "text", "text": "What is this?"}, part]
        with changed(provider, translation=keeps, claude=None):
            sent = str(await heard(provider, messages=[{"role": "user", "content": content}]))
        if data not in sent:
            lost.add(kind)
    assert lost == known.translation.lost_parts


@pytest.mark.parametrize(
    ("provider", "strict", "parallel"),
    [
        ("anthropic", False, True),
        ("gemini", False, False),
        ("xai", False, True),
        ("fireworks_ai", False, True),
        ("bedrock", False, False),
        ("deepseek", True, True),
        ("groq", True, True),
        ("mistral", True, True),
        ("openrouter", True, True),
        ("cerebras", True, False),
    ],
)
async def test_what_litellm_loses_of_tools_is_known(provider: str, *, strict: bool, parallel: bool) -> None:
    body = str(await heard(provider, tools=TOOLS, parallel_tool_calls=False))
    can = await LitellmChat(provider).capabilities(MODELS.get(provider, "m"))
    assert ("'strict': True" in body, "parallel" in body) == (strict, parallel)
    assert (can.strict_tools is not False, can.parallel_calls is not False) == (strict, parallel)


SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "answer",
        "schema": {"type": "object", "properties": {"the_mark": {"type": "string"}}, "additionalProperties": False},
    },
}


@pytest.mark.parametrize("beside_tools", [False, True], ids=["alone", "beside tools"])
@pytest.mark.parametrize(
    ("provider", "mark"),
    [
        ("anthropic", "output_format"),
        ("gemini", "response_json_schema"),
        ("mistral", "json_schema"),
        ("openrouter", "json_schema"),
        ("fireworks_ai", "json_schema"),
        ("cohere_chat", None),
        ("zai", None),
    ],
)
async def test_a_schema_arrives_where_it_is_said_to(provider: str, mark: str | None, *, beside_tools: bool) -> None:
    """Where it would not, the model is told of it in words."""
    can = await LitellmChat(provider).capabilities(MODELS.get(provider, "m"))
    formats = can.formats(beside_tools=beside_tools)
    body = str(await heard(provider, response_format=SCHEMA, **({"tools": TOOLS} if beside_tools else {})))
    arrived = "the_mark" in body
    assert arrived == (formats is None or "json_schema" in formats)
    assert not arrived or str(mark) in body


@pytest.mark.parametrize(
    ("provider", "mark"),
    [("anthropic", None), ("cohere_chat", None), ("gemini", "application/json"), ("groq", "json_object")],
)
async def test_json_arrives_where_it_is_said_to(provider: str, mark: str | None) -> None:
    can = await LitellmChat(provider).capabilities(MODELS.get(provider, "m"))
    body = str(await heard(provider, response_format={"type": "json_object"}))
    assert (str(mark) in body) == ("json_object" in (can.structured_output or ()))


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


@pytest.mark.parametrize(("provider", "base_url"), [(None, "http://h"), ("hosted_vllm", None), ("openai", "http://h")])
async def test_of_a_plain_chat_server_nothing_is_known(provider: str | None, base_url: str | None) -> None:
    assert await LitellmChat(provider, base_url=base_url).capabilities("gpt-4o") == ANYTHING


async def test_a_provider_that_litellm_does_not_know_is_known_nothing_of() -> None:
    assert await LitellmChat("nobody").capabilities("m") == ANYTHING


def test_without_any_knowledge_what_litellm_loses_is_known_all_the_same() -> None:
    assert capabilities("deepseek", "m", {}, None) == Capabilities(
        vision=False, files=False, audio=False, structured_output=("json_object",)
    )


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
        with Ear([Status(400, {"error": {"message": "Enough."}})]) as ear:
            chat = LitellmChat(provider, api_key=KEY, base_url=ear.url)
            _, problem = await answers(chat, asks(reasoning_effort=effort, max_tokens=50_000) | {"model": model})
            assert ear.asks, (effort, problem)


@pytest.mark.parametrize(
    "model", ["gemini-2.5-flash", "gemini-2.5-pro", "gemini-3-flash-preview", "gemini-3-pro-preview"]
)
async def test_no_two_efforts_of_a_gemini_come_to_the_same(model: str) -> None:
    """Otherwise one of them was lowered or raised without a word."""
    known = (await LitellmChat("gemini").capabilities(model)).efforts or ()
    with Ear([Status(400, {"error": {"message": "Enough."}})]) as ear:
        chat = LitellmChat("gemini", api_key=KEY, base_url=ear.url)
        for effort in known:
            await answers(chat, asks(reasoning_effort=effort) | {"model": model})
        told = [ask.body["generationConfig"]["thinkingConfig"] for ask in ear.asks]
    assert len(told) == len(known)
    alike = [{key: value for key, value in one.items() if key != "includeThoughts"} for one in told]
    assert [one for seat, one in enumerate(alike) if one in alike[:seat]] == []


@pytest.mark.parametrize("model", ["gemini-2.5-pro", "gemini-3-pro-preview", "claude-sonnet-4-5"])
def test_both_names_of_vertex_mean_the_same(model: str) -> None:
    info = {"supports_response_schema": False, "supports_function_calling": True}
    known = ["tools", "reasoning_effort", "response_format", "parallel_tool_calls"]
    assert capabilities("vertex_ai_beta", model, info, known) == capabilities("vertex_ai", model, info, known)
    assert provider_of("vertex_ai_beta") is provider_of("vertex_ai")


@pytest.mark.parametrize(
    "provider", ["anthropic", "bedrock", "fireworks_ai", "gemini", "groq", "mistral", "openrouter"]
)
async def test_references_in_schemas_are_replaced_where_it_is_said(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    found = []
    for block in ("$defs", "definitions"):
        schema = {"type": "object", block: {"d": {"type": "string"}}, "properties": {"p": {"$ref": f"#/{block}/d"}}}
        tool = {"type": "function", "function": {"name": "f", "parameters": schema}}
        found.append("$ref" not in str(await heard(provider, tools=[tool])))
    said = capabilities(provider, MODELS.get(provider, "m"), {}, None).replaces_references
    assert found == [said == "all", said is not None]
