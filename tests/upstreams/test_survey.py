"""What a survey finds behind the addresses of servers of every kind."""

from typing import Any

import pytest

from app.options import Via
from app.upstreams import survey as room
from app.upstreams.survey import ListedModel, Survey, list_models, survey
from tests.support.surveyed_server import (
    REFUSES_EMPTY,
    UNEXPECTED,
    SurveyedServer,
    chats,
    listing,
    llama_cpp,
    lm_studio,
    ollama,
    shown,
    vllm,
)
from tests.wire.servers import Status

QWEN = shown(
    "qwen3", 40_960, "tools", "thinking", parameters='stop   "<|im_end|>"\nnum_ctx                        16384'
)
GEMMA = shown("gemma3", 131_072, "vision")
EMBEDS = {**shown("bert", 512), "capabilities": ["embedding"]}


async def test_an_ollama_says_what_each_model_can_do() -> None:
    pages = ollama(
        {"qwen3:8b": QWEN, "gemma3": GEMMA, "bge-m3": EMBEDS, "llama3": shown("llama", 8192)}, loaded={"gemma3": 4096}
    )
    with SurveyedServer(pages) as server:
        found = await survey(server.url, None)
        assert found == Survey(
            server.url,
            "ollama",
            (
                ListedModel("qwen3:8b", 16_384, takes_images=False, calls_tools=True, thinks=True),
                ListedModel("gemma3", 4096, takes_images=True, calls_tools=False, thinks=False),
                ListedModel("llama3", 8192, takes_images=False, calls_tools=False, thinks=False),
            ),
            "chat",
            "",
        )


async def test_an_ollama_of_many_models_is_asked_about_some() -> None:
    names = [f"model:{number}" for number in range(100)]
    with SurveyedServer(ollama(dict.fromkeys(names, QWEN))) as server:
        found = await survey(server.url, None, within=10)
        assert server.paths.count("/api/show") == room.MOST_SHOWN
    assert [model.name for model in found.models] == names
    assert [model.context_window for model in found.models] == [16_384] * room.MOST_SHOWN + [None] * (
        100 - room.MOST_SHOWN
    )


async def test_a_vllm_says_its_window_in_its_list() -> None:
    with SurveyedServer(vllm("Qwen/Qwen3-32B", 32_768)) as server:
        found = await survey(server.url, "a-key")
        assert {ask.headers["authorization"] for ask in server.asks} == {"Bearer a-key"}
        assert sorted(server.paths) == ["/v1/chat/completions", "/v1/models", "/v1/responses"]
    assert found == Survey(server.url, "vllm", (ListedModel("Qwen/Qwen3-32B", 32_768),), "chat", "")


@pytest.mark.parametrize("vision", [False, True])
async def test_a_llama_cpp_says_the_window_it_was_started_with(vision: bool) -> None:  # noqa: FBT001 — a parameter
    with SurveyedServer(llama_cpp("qwen3", 16_384, trained=40_960, vision=vision)) as server:
        found = await survey(server.url, None)
    model = ListedModel("qwen3", 16_384, takes_images=vision, calls_tools=True)
    assert found == Survey(server.url, "llama.cpp", (model,), "chat", "")


async def test_an_lm_studio_says_what_is_loaded() -> None:
    pages = lm_studio(
        {
            "id": "qwen3",
            "type": "llm",
            "state": "loaded",
            "max_context_length": 40_960,
            "loaded_context_length": 8192,
            "capabilities": ["tool_use"],
        },
        {"id": "gemma-3", "type": "vlm", "state": "not-loaded", "max_context_length": 131_072},
        {"id": "nomic", "type": "embeddings", "state": "not-loaded", "max_context_length": 2048},
    )
    with SurveyedServer(pages, other=UNEXPECTED) as server:
        found = await survey(server.url, None)
    models = (
        ListedModel("qwen3", 8192, takes_images=False, calls_tools=True),
        ListedModel("gemma-3", 131_072, takes_images=True),
    )
    assert found == Survey(server.url, "lmstudio", models, "chat", "")


async def test_a_server_of_responses_alone_is_asked_by_responses() -> None:
    pages = {"/v1/models": listing("one"), "/v1/responses": REFUSES_EMPTY}
    with SurveyedServer(pages) as server:
        found = await survey(server.url, None)
    assert found == Survey(server.url, "", (ListedModel("one"),), "responses", "", frozenset({"chat"}))


async def test_a_plain_chat_server_is_asked_by_chat_completions() -> None:
    with SurveyedServer(chats(models=listing("text-embedding-3", "one", "rerank-1"))) as server:
        found = await survey(server.url, None)
    assert found == Survey(server.url, "", (ListedModel("one"),), "chat", "", frozenset({"responses"}))


async def test_a_chat_server_without_a_list_is_known_by_its_path() -> None:
    with SurveyedServer(chats()) as server:
        found = await survey(server.url, None)
    assert found == Survey(server.url, "", (), "chat", "", frozenset({"responses"}))


async def test_no_request_of_a_survey_can_run_a_model() -> None:
    with SurveyedServer(ollama({"qwen3:8b": QWEN})) as server:
        await survey(server.url, None)
        asked = {ask.path: ask.raw for ask in server.asks if ask.raw}
        assert asked == {"/api/show": b'{"model": "qwen3:8b"}'}


HOSTED: list[tuple[dict[str, Any], ListedModel]] = [
    (
        {
            "id": "openai/gpt-5",
            "context_length": 400_000,
            "architecture": {"input_modalities": ["text", "image"]},
            "supported_parameters": ["tools", "tool_choice"],
        },
        ListedModel("openai/gpt-5", 400_000, takes_images=True, calls_tools=True),
    ),
    ({"id": "llama-3.3-70b", "context_window": 131_072}, ListedModel("llama-3.3-70b", 131_072)),
    (
        {
            "id": "mistral-large-latest",
            "max_context_length": 131_072,
            "capabilities": {"completion_chat": True, "function_calling": True, "vision": False},
        },
        ListedModel("mistral-large-latest", 131_072, takes_images=False, calls_tools=True),
    ),
    ({"id": "gpt-5", "owned_by": "openai"}, ListedModel("gpt-5")),
    ({"id": "deep", "metadata": {"context_length": 65_536}}, ListedModel("deep", 65_536)),
    ({"id": "claude", "max_input_tokens": 200_000, "type": "model"}, ListedModel("claude", 200_000)),
    ({"id": "odd", "context_length": "many", "capabilities": 3, "architecture": [], "type": []}, ListedModel("odd")),
    ({"id": "negative", "context_length": -1, "max_model_len": True}, ListedModel("negative")),
]


@pytest.mark.parametrize(("entry", "model"), HOSTED)
async def test_lists_of_hosted_servers_are_read(entry: dict[str, Any], model: ListedModel) -> None:
    with SurveyedServer(chats(models=listing(entry))) as server:
        assert await list_models(server.url, None, within=5) == (model,)
        assert server.paths == ["/v1/models"]


async def test_a_list_that_is_a_bare_array_is_read() -> None:
    with SurveyedServer(
        chats(models=Status(200, b'[{"id": "one"}, 3, {"id": ""}, {"id": "a\\u0007b"}, {"no": "name"}]'))
    ) as server:
        assert await list_models(server.url, None, within=5) == (ListedModel("one"),)


async def test_models_that_are_all_for_something_else_are_listed_all_the_same() -> None:
    with SurveyedServer(chats(models=listing("embed-1", "embed-2"))) as server:
        assert await list_models(server.url, None, within=5) == (ListedModel("embed-1"), ListedModel("embed-2"))


@pytest.mark.parametrize(
    ("given", "pages", "found"),
    [
        ("", ollama({"qwen3:8b": QWEN}), "/v1"),
        ("/api", ollama({"qwen3:8b": QWEN}), "/v1"),
        ("/v1", ollama({"qwen3:8b": QWEN}), "/v1"),
        (
            "",
            {f"/{name}": page for name, page in {"models": listing("one"), "chat/completions": REFUSES_EMPTY}.items()},
            "",
        ),
        ("", {"/v1/models": listing("one"), "/chat/completions": REFUSES_EMPTY}, ""),
        ("/openai", {"/openai/v1/models": listing("one"), "/openai/v1/chat/completions": REFUSES_EMPTY}, "/openai/v1"),
        ("", chats(), "/v1"),
        ("", {}, ""),
    ],
)
async def test_an_address_without_its_version_is_found(given: str, pages: dict[str, Any], found: str) -> None:
    with SurveyedServer(pages) as server:
        seen = await survey(server.root + given, None)
    assert seen.base_url == server.root + found
    assert bool(seen.problem) is not bool(pages)


async def test_a_key_that_is_needed_at_the_address_with_its_version_is_a_problem_there() -> None:
    with SurveyedServer({"/v1/models": Status(401)}) as server:
        seen = await survey(server.root, None)
    assert (seen.base_url, seen.problem) == (server.url, "It needs an API key.")


@pytest.mark.parametrize(
    ("url", "server", "provider", "via"),
    [
        ("https://api.openai.com/v1", "openai", "openai", "responses"),
        ("https://api.groq.com/openai/v1", "groq", "groq", "chat"),
        ("https://openrouter.ai/api/v1", "openrouter", "openrouter", "chat"),
        ("https://api.example.com/v1", "", None, "chat"),
        ("http://[", "", None, "chat"),
    ],
)
def test_a_known_provider_is_asked_by_the_api_that_loses_less(
    url: str, server: str, provider: str | None, via: Via
) -> None:
    """Without a network: by the address alone, and while nothing is known about its paths."""
    assert room.suits(None, None, url) == via
    assert room.suits(chat=True, responses=True, base_url=url) == via
    assert room.suits(chat=True, responses=False, base_url=url) == "chat"
    assert room.suits(chat=False, responses=True, base_url=url) == "responses"
    assert room.server_at(url) == server
    assert Survey(url, server, (), via, "").provider == provider


@pytest.mark.parametrize(
    ("server", "provider"),
    [
        ("ollama", "ollama"),
        ("llama.cpp", "llama_cpp"),
        ("lmstudio", "lm_studio"),
        ("vllm", "vllm"),
        ("sglang", "sglang"),
        ("unknown", None),
    ],
)
def test_a_server_that_is_known_has_its_provider(server: str, provider: str | None) -> None:
    assert Survey("", server, (), "chat", "").provider == provider
