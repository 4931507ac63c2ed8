"""What is found behind `--upstream`, and what is said of it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from app.cli.upstream_flag import look
from app.settings.load import GIVEN, load
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
from tests.wire.servers import Hang, Status

KEY = "sk-a-key-that-must-stay-secret"
MISSING, WANTS_KEY = Status(404), Status(401, {"error": {"message": f"not {KEY}"}})
QWEN = {"qwen3:8b": shown("qwen3", 40_960, "tools"), "embedder": {"capabilities": ["embedding"], "model_info": {}}}
STUDIO = {"id": "m", "type": "vlm", "max_context_length": 131_072, "loaded_context_length": 40_960}
ONLY_RESPONSES = {"/v1/models": listing("m"), "/v1/responses": REFUSES_EMPTY}
ONLY_MESSAGES = {"/v1/models": listing("m"), "/v1/messages": REFUSES_EMPTY}
SHORT = (
    "qwen has a context of 16,384 tokens, and coding agents need about 32,000. Start vLLM with --max-model-len 32768."
)
BY_CHAT = "URL/v1 is asked by chat completions"
NO_KEY = "URL/v1 needs an API key, and none is set. Give it with --upstream-key env:NAME, or with api_key in its table."


NOT_READY = "! The upstream at URL/v1 answered 503. Look at the log of that server."
TOO_SHORT = (
    "! qwen3:8b has a context of 8,192 tokens, and coding agents need about 32,000. "
    "Start Ollama with OLLAMA_CONTEXT_LENGTH=32768."
)
NOTHING = (
    "! The upstream at URL/v1 failed: It has neither /chat/completions nor /responses nor /v1/messages. "
    "Look at the port and the path: another program may listen there."
)
LOADED = ollama(QWEN, loaded={"qwen3:8b": 8_192})
LLAMA = llama_cpp("m", 65_536, trained=131_072, vision=True)
PATH_WANTS_KEY = {**chats(models=listing("m")), "/v1/chat/completions": WANTS_KEY}
ODD_FACTS = Status(200, {"models": [7], "capabilities": [], "model_info": 7})
ODD = {**ollama(QWEN), "/api/ps": ODD_FACTS, "/api/show": ODD_FACTS}
# fmt: off
SERVERS = {
    "chat": (chats(models=listing("m")), MISSING, "chat", None, [None], [f"{BY_CHAT}."]),
    "vllm": (vllm("qwen", 16_384), MISSING, "chat", "vllm", [16_384], [f"{BY_CHAT} (vllm).", f"! {SHORT}"]),
    "ollama": (ollama(QWEN), MISSING, "chat", "ollama", [40_960], [f"{BY_CHAT} (ollama)."]),
    "loaded": (LOADED, MISSING, "chat", "ollama", [8_192], [f"{BY_CHAT} (ollama).", TOO_SHORT]),
    "odd": (ODD, MISSING, "chat", "ollama", [None], [f"{BY_CHAT} (ollama)."]),
    "lm studio": (lm_studio(STUDIO), UNEXPECTED, "chat", "lm_studio", [40_960], [f"{BY_CHAT} (lm_studio)."]),
    "llama.cpp": (LLAMA, MISSING, "chat", "llama_cpp", [65_536], [f"{BY_CHAT} (llama_cpp)."]),
    "responses": (ONLY_RESPONSES, MISSING, "responses", None, [None], ["URL/v1 is asked by the Responses API."]),
    "messages": (ONLY_MESSAGES, MISSING, "messages", None, [None], ["URL/v1 is asked by the Messages API."]),
    "key": ({}, WANTS_KEY, "chat", None, [], [f"! {NO_KEY}"]),
    "key of the path": (PATH_WANTS_KEY, MISSING, "chat", None, [], [f"! {NO_KEY}"]),
    "not ready": ({}, Status(503), "chat", None, [], [NOT_READY]),
    "another program": ({}, MISSING, "chat", None, [], [NOTHING]),
}
# fmt: on


@pytest.mark.parametrize(("pages", "other", "via", "provider", "windows", "said"), SERVERS.values(), ids=SERVERS.keys())
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
        ({"provider": "vllm"}, "chat", f"{BY_CHAT} (vllm)."),
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


def test_what_was_seen_is_kept_where_more_takes_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with SurveyedServer({**ollama(QWEN), "/api/show": Hang()}) as server:
        looked = look(None, {"upstream": server.root}, within=2)
        assert looked.found is not None
        assert (looked.found.error, [model.name for model in looked.found.models]) == (None, [*QWEN][:1])
        assert looked.settings.upstreams[GIVEN].base_url == server.url


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


def test_a_server_of_this_machine_is_looked_at_and_no_provider_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GROQ_API_KEY", "k")
    for flags, is_warned in (
        ({"provider": "ollama"}, True),
        ({"provider": "ollama", "via": "litellm"}, False),
        ({"provider": "groq"}, False),
    ):
        looked = look(None, flags, within=0.001)
        assert ([warned for _, warned in looked.remarks], looked.flags) == ([True] * is_warned, flags)
