"""What is known of models behind litellm, held against what litellm really does.

When litellm changes what it loses, a test here fails: then the tables change with it.
"""

from dataclasses import replace
from typing import Any

import pytest

from app.providers.capabilities import ANYTHING, Capabilities
from app.providers.lookup import PROVIDERS, provider_of
from app.upstreams.litellm_can import capabilities
from app.upstreams.litellm_chat import LitellmChat
from tests.support.any_server import AnyServer
from tests.support.providers import changed
from tests.support.upstream_asks import KEY, TOOLS, answers, asks
from tests.wire.servers import Status

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


async def asked_body(provider: str, **settings: Any) -> Json:
    """The body that a provider's server gets."""
    with AnyServer([Status(400, {"error": {"message": "Enough."}})]) as ear:
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
            sent = str(await asked_body(provider, messages=[{"role": "user", "content": content}]))
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
    body = str(await asked_body(provider, tools=TOOLS, parallel_tool_calls=False))
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
    body = str(await asked_body(provider, response_format=SCHEMA, **({"tools": TOOLS} if beside_tools else {})))
    arrived = "the_mark" in body
    assert arrived == (formats is None or "json_schema" in formats)
    assert not arrived or str(mark) in body


@pytest.mark.parametrize(
    ("provider", "mark"),
    [("anthropic", None), ("cohere_chat", None), ("gemini", "application/json"), ("groq", "json_object")],
)
async def test_json_arrives_where_it_is_said_to(provider: str, mark: str | None) -> None:
    can = await LitellmChat(provider).capabilities(MODELS.get(provider, "m"))
    body = str(await asked_body(provider, response_format={"type": "json_object"}))
    assert (str(mark) in body) == ("json_object" in (can.structured_output or ()))


@pytest.mark.parametrize(("provider", "base_url"), [(None, "http://h"), ("hosted_vllm", None), ("openai", "http://h")])
async def test_of_a_plain_chat_server_nothing_is_known(provider: str | None, base_url: str | None) -> None:
    assert await LitellmChat(provider, base_url=base_url).capabilities("gpt-4o") == ANYTHING


async def test_a_provider_that_litellm_does_not_know_is_known_nothing_of() -> None:
    assert await LitellmChat("nobody").capabilities("m") == ANYTHING


def test_without_any_knowledge_what_litellm_loses_is_known_all_the_same() -> None:
    assert capabilities("deepseek", "m", {}, None) == Capabilities(
        vision=False, files=False, audio=False, structured_output=("json_object",)
    )


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
        found.append("$ref" not in str(await asked_body(provider, tools=[tool])))
    content = capabilities(provider, MODELS.get(provider, "m"), {}, None).replaces_references
    assert found == [content == "all", content is not None]
