"""What is found behind `--upstream`, and what is said of it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from next.cli.upstream_flag import look
from next.settings.load import GIVEN, load
from tests.support.surveyed_server import (
    REFUSES_EMPTY,
    UNEXPECTED,
    Page,
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

KEY = "sk-a-key-that-must-stay-secret"
MISSING, WANTS_KEY = Status(404), Status(401, {"error": {"message": f"not {KEY}"}})
QWEN = {"qwen3:8b": shown("qwen3", 40_960, "tools"), "embedder": {"capabilities": ["embedding"]}}
STUDIO = {"id": "m", "type": "vlm", "max_context_length": 131_072, "loaded_context_length": 40_960}
ONLY_RESPONSES = {"/v1/models": listing("m"), "/v1/responses": REFUSES_EMPTY}
ONLY_MESSAGES = {"/v1/models": listing("m"), "/v1/messages": REFUSES_EMPTY}
SHORT = (
    "qwen has a context of 16,384 tokens, and coding agents need about 32,000. Start vLLM with --max-model-len 32768."
)
BY_CHAT = "URL/v1 is asked by chat completions"
NO_KEY = "URL/v1 needs an API key, and none is set. Give it with --upstream-key env:NAME."


@pytest.mark.parametrize(
    ("pages", "other", "via", "provider", "windows", "said"),
    [
        (chats(models=listing("m")), MISSING, "chat", None, [None], [f"{BY_CHAT}."]),
        ({**vllm("qwen", 16_384)}, MISSING, "chat", "vllm", [16_384], [f"{BY_CHAT} (vllm).", f"! {SHORT}"]),
        (ollama(QWEN), MISSING, "chat", "ollama", [40_960], [f"{BY_CHAT} (ollama)."]),
        (ollama(QWEN, loaded={"qwen3:8b": 65_536}), MISSING, "chat", "ollama", [65_536], [f"{BY_CHAT} (ollama)."]),
        (lm_studio(STUDIO), UNEXPECTED, "chat", "lm_studio", [40_960], [f"{BY_CHAT} (lm_studio)."]),
        (
            llama_cpp("m", 65_536, trained=131_072, vision=True),
            MISSING,
            "chat",
            "llama_cpp",
            [65_536],
            [f"{BY_CHAT} (llama_cpp)."],
        ),
        (ONLY_RESPONSES, MISSING, "responses", None, [None], ["URL/v1 is asked by the Responses API."]),
        (ONLY_MESSAGES, MISSING, "messages", None, [None], ["URL/v1 is asked by the Messages API."]),
        ({}, WANTS_KEY, "chat", None, [], [f"! {NO_KEY}"]),
        ({**chats(models=listing("m")), "/v1/chat/completions": WANTS_KEY}, MISSING, "chat", None, [], [f"! {NO_KEY}"]),
        ({}, Status(503), "chat", None, [], ["! The upstream at URL/v1 answered 503. Look at the log of that server."]),
        (
            {},
            MISSING,
            "chat",
            None,
            [],
            [
                "! The upstream at URL/v1 failed: It has neither /chat/completions nor /responses nor /v1/messages. "
                "Look at the port and the path: another program may listen there."
            ],
        ),
    ],
    ids=[
        "chat", "vllm", "ollama", "loaded", "lm studio", "llama.cpp", "responses", "messages",
        "key", "key of the path", "not ready", "another program",
    ],
)  # fmt: skip
def test_the_server_decides_how_it_is_asked(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pages: Mapping[str, Page],
    other: Status,
    via: str,
    provider: str | None,
    windows: Sequence[int | None],
    said: Sequence[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with SurveyedServer(pages, other=other) as server:
        looked = look(None, {"upstream": server.root})
        found, upstream = looked.found, looked.settings.upstreams[GIVEN]
        assert found is not None
        assert (upstream.via, upstream.provider, upstream.base_url) == (via, provider, found.base_url)
        assert [model.context_window for model in found.models] == windows
        told = [f"{'! ' if is_warning else ''}{text}" for text, is_warning in looked.remarks]
        assert told == [text.replace("URL", server.root) for text in said]
        assert load(None, looked.flags) == looked.settings  # a reload needs no look


@pytest.mark.parametrize(
    ("flags", "via", "said"),
    [
        ({"via": "responses"}, "responses", "! URL/v1 does not have the Responses API. Use --via chat."),
        ({"upstream_key": KEY}, "chat", f"{BY_CHAT}."),
        ({"provider": "vllm"}, "chat", f"{BY_CHAT}."),
    ],
    ids=["via", "key", "provider"],
)
def test_what_is_given_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: dict[str, str], via: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with SurveyedServer(chats(models=listing({"id": "m", "max_model_len": 65_536}))) as server:
        looked = look(None, {"upstream": f"{server.root}/v1/chat/completions", **flags})
        upstream = looked.settings.upstreams[GIVEN]
        assert (upstream.via, upstream.provider) == (via, flags.get("provider"))
        told = [f"{'! ' if is_warning else ''}{text}" for text, is_warning in looked.remarks]
        assert told == [said.replace("URL", server.root)]
        keys = {ask.headers.get("authorization") for ask in server.asks}
        assert keys == {f"Bearer {KEY}" if "upstream_key" in flags else None}


@pytest.mark.parametrize(
    ("url", "via", "provider"),
    [
        ("https://api.openai.com", "responses", "openai"),
        ("https://api.anthropic.com", "messages", "anthropic"),
        ("https://api.deepseek.com/v1", "chat", "deepseek"),
        ("https://api.example.invalid/v1", "chat", None),
    ],
)
def test_a_known_address_is_known_while_it_is_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, via: str, provider: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    looked = look(None, {"upstream": url}, within=0.001)
    upstream = looked.settings.upstreams[GIVEN]
    assert (upstream.via, upstream.provider) == (via, provider)
    assert looked.remarks[0][1]
