"""`am-proxy init`: what is asked, what is written, and what it costs to answer wrongly."""

import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from app.__main__ import main
from app.cli import init as module
from app.cli.init import Given, init
from app.settings import load
from app.upstreams.model_list import ListedModel
from tests.support.asked_user import HERE, KEYS, Answers, found, written
from tests.support.surveyed_server import SurveyedServer, chats, listing, vllm
from tests.wire.servers import Status

LOCALHOST = {"host": "127.0.0.1", "port": 8080}
ANY = {"*": {"upstream": "server"}}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in, on a machine where nothing runs, with a doctor who is not asked."""
    monkeypatch.chdir(tmp_path)
    found(monkeypatch)
    monkeypatch.setattr(module, "doctor", lambda _: 0)
    return tmp_path


OLLAMA = {"ollama": {"via": "chat", "provider": "ollama"}}
QWEN_TABLE = {
    "upstream": "ollama",
    "context_window": 40_960,
    "reasoning_efforts": ["none", "low", "medium", "high"],
    "can": {"vision": False},
}
FROM_OLLAMA = {"qwen3:8b": QWEN_TABLE, "*": {"upstream": "ollama"}}
LLAMA = {"llama_cpp": {"via": "chat", "provider": "llama_cpp", "base_url": "http://127.0.0.1:9/v1"}}
LM_STUDIO = {"lm_studio": {"via": "chat", "provider": "lm_studio", "base_url": "http://127.0.0.1:1235/v1"}}


@pytest.mark.parametrize(
    ("answers", "upstreams", "models"),
    [
        (["", ""], OLLAMA, FROM_OLLAMA),
        (["1", "n"], OLLAMA, FROM_OLLAMA),
        (["Ollama", "N"], OLLAMA, FROM_OLLAMA),
        (["2", ""], LM_STUDIO, {"*": {"upstream": "lm_studio"}}),
        (["LM Studio", ""], LM_STUDIO, {"*": {"upstream": "lm_studio"}}),
        (["lmstudio", ""], LM_STUDIO, {"*": {"upstream": "lm_studio"}}),
        (["vllm", ""], {"vllm": {"via": "chat", "provider": "vllm"}}, {"*": {"upstream": "vllm"}}),
        (["5", ""], {"demo": {"via": "demo"}}, {"demo": {"upstream": "demo"}}),
        (["demo", ""], {"demo": {"via": "demo"}}, {"demo": {"upstream": "demo"}}),
        (
            ["4", "localhost:9", "n", "http://127.0.0.1:9/v1/chat/completions", "y", ""],
            {"server": {"via": "chat", "base_url": "http://127.0.0.1:9/v1"}},
            ANY,
        ),
        (
            ["llama.cpp", "gpu", "127.0.0.1:9", "y", ""],
            {"llama_cpp": {"via": "chat", "provider": "llama_cpp", "base_url": "http://127.0.0.1:9/v1"}},
            {"*": {"upstream": "llama_cpp"}},
        ),
    ],
)
def test_what_is_written_is_what_was_answered(
    answers: list[str], upstreams: object, models: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    found(monkeypatch, *HERE)
    ask = Answers(*answers)
    assert init(Path("am-proxy.toml"), ask=ask, environ=KEYS) == 0
    assert written() == {"server": LOCALHOST, "upstreams": upstreams, "models": models}
    assert len(ask.questions) == len(answers)


@pytest.fixture
def providers_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The network is not asked for the models of providers."""

    async def listed(*_: object, **__: object) -> tuple[ListedModel, ...]:
        return (ListedModel("big", 131_072),)

    monkeypatch.setattr("app.cli.upstream_choice.list_models", listed)


BIG = {"upstream": "groq", "context_window": 131_072}


@pytest.mark.usefixtures("providers_answer")
@pytest.mark.parametrize(
    ("answers", "upstreams", "models"),
    [
        (
            ["1", "grok", "groq", "", ""],
            {"groq": {"via": "chat", "provider": "groq", "api_key": "env:GROQ_API_KEY"}},
            {"big": BIG, "*": {"upstream": "groq"}},
        ),
        (
            ["Groq", "MY_KEY", ""],
            {"groq": {"via": "chat", "provider": "groq", "api_key": "env:MY_KEY"}},
            {"big": BIG, "*": {"upstream": "groq"}},
        ),
        (
            ["openai", "$OPENAI_API_KEY", ""],
            {
                "openai": {
                    "via": "responses",
                    "provider": "openai",
                    "api_key": "env:OPENAI_API_KEY",
                }
            },
            {"big": BIG | {"upstream": "openai"}, "*": {"upstream": "openai"}},
        ),
        (
            ["gemini", "env:MY_KEY", "gemini-2.5-pro", ""],
            {"gemini": {"via": "litellm", "provider": "gemini", "api_key": "env:MY_KEY"}},
            {"gemini-2.5-pro": {"upstream": "gemini"}},
        ),
        (
            ["gemini", "env:MY_KEY", "", ""],
            {"gemini": {"via": "litellm", "provider": "gemini", "api_key": "env:MY_KEY"}},
            {"*": {"upstream": "gemini"}},
        ),
        (
            ["Claude", "", ""],
            {"anthropic": {"via": "messages", "provider": "anthropic", "api_key": "env:ANTHROPIC_API_KEY"}},
            {"*": {"upstream": "anthropic"}},
        ),
        (["bedrock", "", ""], {"bedrock": {"via": "litellm", "provider": "bedrock"}}, {"*": {"upstream": "bedrock"}}),
    ],
)
def test_providers_are_known_by_their_names(answers: list[str], upstreams: object, models: object) -> None:
    ask = Answers(*answers)
    assert init(Path("am-proxy.toml"), ask=ask, environ=KEYS) == 0
    assert written() == {"server": LOCALHOST, "upstreams": upstreams, "models": models}


def test_a_port_is_a_server_of_this_machine() -> None:
    with SurveyedServer(vllm("Qwen/Qwen3", 32_768)) as server:
        assert init(Path("am-proxy.toml"), ask=Answers(str(server.port), ""), environ={}) == 0
        upstream = {"via": "chat", "provider": "vllm", "base_url": server.url}
    assert written()["upstreams"] == {"vllm": upstream}
    assert written()["models"]["Qwen/Qwen3"] == {"upstream": "vllm", "context_window": 32_768}


def test_a_server_that_wants_a_key_causes_the_question_for_it() -> None:
    def models(ask: Any) -> Status:
        is_known = ask.headers.get("authorization") == "Bearer a-key"
        return listing({"id": "m", "max_model_len": 9000}) if is_known else Status(401)

    with SurveyedServer(chats(models=models)) as server:
        ask = Answers(server.root, "MY_KEY", "")
        assert init(Path("am-proxy.toml"), ask=ask, environ=KEYS) == 0
        upstream = {"via": "chat", "base_url": server.url, "api_key": "env:MY_KEY"}
    assert written()["upstreams"] == {"server": upstream}
    assert written()["models"] == {"m": {"upstream": "server", "context_window": 9000}, **ANY}
    assert [question.partition("?")[0] for question in ask.questions[1:2]] == [
        "Which environment variable holds its key"
    ]


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (["9"], "Please enter 1-5, a name or an address."),
        (["0"], "Please enter 1-5, a name or an address."),
        (["deepsek"], 'There is no provider "deepsek" (did you mean deepseek?). Please enter 1-5, a name'),
        (["xyz"], 'There is no provider "xyz". Please enter 1-5, a name or an address.'),
        (["http://"], "That is no address. Please enter 1-5, a name or an address."),
        (["123456"], "123456 is no port. Please"),
        (["http://me:secret@gpu/v1"], "An address has no user and password in it: use a key. Please"),
        (["3", ""], "Please enter a name, such as deepseek."),
        (["4", ""], "Please enter an address, such as http://127.0.0.1:8000/v1."),
        (["groq", "sk-12345"], "the key itself does not belong in the file. Please enter the name of a variable"),
        (["groq", "NOT_SET"], "NOT_SET is not set yet: set it before you start the server."),
        (["demo", "perhaps"], "Please enter y or n."),
    ],
)
def test_a_wrong_answer_is_told_why_and_nothing_is_written(
    answers: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found(monkeypatch, *HERE)
    assert init(Path("am-proxy.toml"), ask=Answers(*answers), environ=KEYS) == 1
    printed = capsys.readouterr()
    assert said in printed.out
    assert printed.err == "\nam-proxy: nothing was written\n"
    assert list(Path().iterdir()) == []


def test_for_other_machines_a_key_is_made_and_only_its_digest_kept(capsys: pytest.CaptureFixture[str]) -> None:
    assert init(Path("am-proxy.toml"), ask=Answers("demo", "y"), environ={}) == 0
    (key,) = re.findall(r"Client key \(shown once, not stored\):\n  (am-\S+)\n", capsys.readouterr().out)
    settings = load({}, {})
    assert settings.server.host == "0.0.0.0"  # noqa: S104 — it was asked for
    assert [known.digest for known in settings.keys] == [sha256(key.encode()).digest()]
    assert key not in Path("am-proxy.toml").read_text()


@pytest.mark.parametrize(("answer", "code", "is_kept"), [("", 1, True), ("n", 1, True), ("y", 0, False)])
def test_a_file_is_replaced_only_after_a_yes(answer: str, code: int, is_kept: bool) -> None:  # noqa: FBT001
    path = Path("am-proxy.toml")
    path.write_text("mine")
    path.chmod(0o644)
    ask = Answers(answer, "demo", "")
    assert init(path, ask=ask, environ={}) == code
    assert ask.questions[0] == "am-proxy.toml exists already. Replace it? [y/N] "
    assert (path.read_text() == "mine") == is_kept
    assert is_kept or written()["upstreams"] == {"demo": {"via": "demo"}}
    assert [each.name for each in Path().iterdir()] == ["am-proxy.toml"]


def test_without_questions_nothing_is_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    Path("am-proxy.toml").write_text("mine")
    assert main(["init", "--yes"]) == 1
    assert Path("am-proxy.toml").read_text() == "mine"
    assert "exists already" in capsys.readouterr().err


def refuses(_: str) -> str:
    raise AssertionError("nothing is to be asked")


@pytest.mark.usefixtures("providers_answer")
@pytest.mark.parametrize(
    ("given", "upstreams"),
    [
        ({}, OLLAMA),
        ({"provider": "groq"}, {"groq": {"via": "chat", "provider": "groq", "api_key": "env:GROQ_API_KEY"}}),
        (
            {"provider": "groq", "upstream_key": "env:MY_KEY"},
            {"groq": {"via": "chat", "provider": "groq", "api_key": "env:MY_KEY"}},
        ),
        ({"upstream": "localhost:9"}, {"server": {"via": "chat", "base_url": "http://localhost:9/v1"}}),
        (
            {"upstream": "http://127.0.0.1:9/v1", "upstream_key": "env:MY_KEY"},
            {"server": {"via": "chat", "base_url": "http://127.0.0.1:9/v1", "api_key": "env:MY_KEY"}},
        ),
    ],
)
def test_for_scripts_nothing_is_asked(
    given: Mapping[str, str], upstreams: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    found(monkeypatch, *HERE)
    assert init(Path("am-proxy.toml"), Given(yes=True, **given), ask=refuses, environ=KEYS) == 0
    assert written()["upstreams"] == upstreams


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--provider", "deepsek"], '--provider: there is no provider "deepsek" (did you mean deepseek?)'),
        (["--provider", "llama_cpp"], "--provider: the address of llama_cpp is not known: use --upstream"),
        (["--provider", "groq", "--upstream", "localhost:9"], "give either --upstream or --provider"),
        (["--upstream", "nothing"], "--upstream nothing: that is no address"),
        (["--upstream", "localhost:9", "--upstream-key", "sk-1"], "--upstream-key must be env:NAME or file:PATH"),
        (["--upstream-key", "env:MY_KEY"], "--upstream-key means nothing without --upstream or --provider"),
    ],
)
def test_a_wrong_flag_is_told_why(flags: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--yes", *flags]) == 2
    assert capsys.readouterr().err.startswith(f"am-proxy: {said}")
    assert list(Path().iterdir()) == []
