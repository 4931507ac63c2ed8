"""What a server offers a coding agent: the model that is chosen, and the sentences about what is missing."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from app.cli.agents import AGENTS
from app.cli.launched_models import FoundModels, MissingError, ModelChoice, look
from app.settings import load
from tests.support.launching import MODELS
from tests.support.surveyed_server import (
    UNEXPECTED,
    SurveyedServer,
    chats,
    listing,
    llama_cpp,
    lm_studio,
    loading,
    ollama,
    shown,
    vllm,
)
from tests.wire.servers import Status

CODEX: Final = AGENTS["codex"]
MANY: Final = chats(models=listing(*(f"model-{number}" for number in range(31))))
LAMA: Final = llama_cpp("qwen", 8192, trained=131_072, vision=False)
STUDIO: Final = lm_studio({"id": "qwen", "type": "llm", "max_context_length": 131_072, "loaded_context_length": 4096})
REFUSING: Final = {"/v1/models": Status(401, {"error": {"message": "no"}})}


async def found_at(server: SurveyedServer, folder: Path, file: str = "") -> FoundModels:
    """What is found with this file, or with `--upstream` alone."""
    (folder / "config.toml").write_text(file)
    return await look(load({} if file else {"upstream": server.url}, {}, folder))


@pytest.mark.parametrize(
    ("pages", "wanted", "choice"),
    [
        (ollama(MODELS), None, ModelChoice("coder:8b", 40_960)),
        (ollama(MODELS), "seer:30b", ModelChoice("seer:30b", 131_072)),
        (vllm("qwen", 131_072), None, ModelChoice("qwen", 131_072)),
        (chats(models=listing("one", "two")), None, ModelChoice("one", None)),
        (chats(models=listing()), "any", ModelChoice("any", None)),
        (MANY, "model-7", ModelChoice("model-7", None)),
    ],
    ids=["the first that suits", "the named one", "the only one", "nothing is known", "nothing is listed", "of many"],
)
async def test_a_model_is_chosen(
    tmp_path: Path, pages: Mapping[str, Any], wanted: str | None, choice: ModelChoice
) -> None:
    with SurveyedServer(pages) as server:
        assert (await found_at(server, tmp_path)).choose(CODEX, wanted) == choice


@pytest.mark.parametrize(
    ("pages", "wanted", "message"),
    [
        (
            ollama(MODELS),
            "coder:7b",
            'there is no model "coder:7b" (did you mean coder:8b?): words:4b, small:1b, coder:8b, seer:30b',
        ),
        (
            ollama(MODELS),
            "words:4b",
            (
                "the model words:4b calls no tools, and Codex needs them; choose another with --model: "
                "small:1b, coder:8b, seer:30b"
            ),
        ),
        (
            ollama({"words:4b": shown("gemma", 131_072)}),
            None,
            "the model words:4b calls no tools, and Codex needs them; none of its models does",
        ),
        (
            vllm("qwen", 16_384),
            None,
            (
                "the context of qwen is 16,384 tokens, and Codex needs about 32,000: start vLLM with "
                "--max-model-len 32768; --model qwen tries it all the same."
            ),
        ),
        (
            LAMA,
            None,
            (
                "the context of qwen is 8,192 tokens, and Codex needs about 32,000: start llama-server with "
                "--ctx-size 32768; --model qwen tries it all the same."
            ),
        ),
        (
            STUDIO,
            None,
            (
                "the context of qwen is 4,096 tokens, and Codex needs about 32,000: load the model with a context of "
                "32768 in LM Studio; --model qwen tries it all the same."
            ),
        ),
        (chats(models=listing()), None, "--upstream URL lists no models: name one with --model"),
        (
            MANY,
            None,
            (
                "there are 31 models: choose one with --model: model-0, model-1, model-2, model-3, model-4, model-5 "
                "and 25 more"
            ),
        ),
        (
            REFUSING,
            None,
            "--upstream URL: It needs an API key. Give it with --upstream-key env:NAME.",
        ),
        (
            REFUSING,
            "any",
            "--upstream URL: It needs an API key. Give it with --upstream-key env:NAME.",
        ),
    ],
    ids=[
        "unknown model",
        "no tools",
        "none has tools",
        "short context",
        "short context of llama.cpp",
        "short context of LM Studio",
        "no models",
        "too many to choose from",
        "a key is needed",
        "a key is needed for a named model",
    ],
)
async def test_what_is_missing_is_said(
    tmp_path: Path, pages: Mapping[str, Any], wanted: str | None, message: str
) -> None:
    with SurveyedServer(pages, other=UNEXPECTED if pages is STUDIO else Status(404)) as server:
        found = await found_at(server, tmp_path)
        with pytest.raises(MissingError) as caught:
            found.choose(CODEX, wanted)
        assert str(caught.value) == message.replace("URL", server.url)


async def test_a_short_context_is_the_decision_of_who_names_the_model(tmp_path: Path) -> None:
    with SurveyedServer(ollama(MODELS)) as server:
        choice = (await found_at(server, tmp_path)).choose(CODEX, "small:1b")
    assert choice == ModelChoice(
        "small:1b",
        8_192,
        "the context of small:1b is 8,192 tokens, and Codex needs about 32,000: "
        "start Ollama with OLLAMA_CONTEXT_LENGTH=32768.",
    )


@pytest.mark.parametrize(
    ("window", "known"),
    [(65_536, 40_960), (32_768, 32_768), (4096, 4096)],
    ids=["more than the model can have", "enough", "too little"],
)
async def test_an_ollama_says_how_much_context_a_model_gets_when_it_is_loaded(
    tmp_path: Path, window: int, known: int
) -> None:
    short = (
        "the context of coder:8b is 4,096 tokens, and Codex needs about 32,000: "
        "start Ollama with OLLAMA_CONTEXT_LENGTH=32768"
    )
    with SurveyedServer(loading(ollama(MODELS), window)) as server:
        found = await found_at(server, tmp_path)
        chosen = found.choose(CODEX, None)
        assert chosen == ModelChoice("coder:8b", 40_960)
        named, choice = await found.loaded(CODEX, chosen, named=True, say=print)
        assert choice == ModelChoice("coder:8b", known, f"{short}." if window == 4096 else "")
        assert named.settings.models["coder:8b"].context_window == known
        if window == 4096:
            with pytest.raises(MissingError) as caught:
                await found.loaded(CODEX, chosen, named=False, say=print)
            assert str(caught.value) == f"{short}; --model coder:8b tries it all the same."
        else:
            assert (await found.loaded(CODEX, chosen, named=False, say=print))[1].context_window == known
    assert [ask.body["model"] for ask in server.asks if ask.path == "/api/generate"] == ["coder:8b"] * 2


async def test_another_server_is_not_asked_to_load_anything(tmp_path: Path) -> None:
    with SurveyedServer(vllm("qwen", 131_072)) as server:
        found = await found_at(server, tmp_path)
        choice = found.choose(CODEX, None)
        assert await found.loaded(CODEX, choice, named=False, say=print) == (found, choice)
    assert "/api/generate" not in server.paths


async def test_what_servers_say_about_models_completes_the_configuration(tmp_path: Path) -> None:
    """What is configured comes first. Nothing is said to a model of another upstream."""
    models = {
        "seer:30b": shown("qwen3", 131_072, "tools", "vision", "thinking"),
        "coder:8b": shown("qwen3", 40_960, "tools"),
    }
    with SurveyedServer(ollama(models)) as server, SurveyedServer(vllm("seer:30b", 65_536)) as other:
        file = f"""
[upstreams.here]
via = "chat"
base_url = "{server.url}"

[upstreams.there]
via = "chat"
base_url = "{other.url}"

[models.fine]
upstream = "here"
name = "coder:8b"
can = {{ vision = true, tools = false }}

[models.short]
upstream = "here"
name = "coder:8b"
context_window = 9000

[models."seer:30b"]
upstream = "there"

[models."*"]
upstream = "here"
reasoning_efforts = ["low"]
"""
        found = await found_at(server, tmp_path, file)
    windows = {name: model.context_window for name, model in found.settings.models.items()}
    assert windows == {"fine": 40_960, "short": 9000, "seer:30b": 65_536, "*": None, "coder:8b": 40_960}
    can = {name: (model.can.vision, model.can.reasoning) for name, model in found.settings.models.items()}
    assert (can["fine"], can["coder:8b"], can["seer:30b"]) == ((True, False), (False, False), (None, None))
    assert found.settings.models["coder:8b"].reasoning_efforts == ("low",)
    assert (found.unable, found.listed) == (frozenset({"fine"}), frozenset({"coder:8b"}))
    assert found.choose(CODEX, None) == ModelChoice("seer:30b", 65_536)


async def test_a_provider_without_a_list_needs_the_name_of_a_model(tmp_path: Path) -> None:
    found = await look(load({"provider": "bedrock"}, {}, tmp_path))
    assert found.choose(CODEX, "claude") == ModelChoice("claude", None)
    with pytest.raises(MissingError, match=r"^--provider bedrock lists no models: name one with --model$"):
        found.choose(CODEX, None)


@pytest.mark.parametrize("count", [4, 5])
async def test_of_many_models_of_a_provider_none_is_chosen_for_its_place_in_a_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """They have very different prices."""
    provider: Callable[[str], str] = lambda _: "openrouter"  # noqa: E731 — one line is enough
    monkeypatch.setattr("app.cli.launched_models.server_at", provider)
    with SurveyedServer(chats(models=listing(*"abcde"[:count]))) as server:
        found = await found_at(server, tmp_path)
        if count == 4:
            assert found.choose(CODEX, None).name == "a"
        else:
            with pytest.raises(MissingError, match=r"^there are 5 models: choose one with --model: a, b, c, d, e$"):
                found.choose(CODEX, None)
