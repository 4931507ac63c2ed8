"""`am-proxy doctor` against servers of every kind, on real sockets."""

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from app.cli.doctor import examine
from app.cli.upstream_flag import look
from tests.support.surveyed_server import (
    CALLS,
    SAYS,
    Page,
    SurveyedServer,
    chats,
    listing,
    llama_cpp,
    loading,
    ollama,
    shown,
    vllm,
)
from tests.support.terminal import terminal
from tests.wire.script import counts, says
from tests.wire.servers import Ask, Script, Status, Step

KEY = "sk-a-key-that-must-stay-secret"
MODEL = chats(models=listing({"id": "m", "max_model_len": 65_536}))
QWEN = {"qwen3:8b": shown("qwen3", 65_536, "tools")}
WELL = [
    "✓ models   1: m",
    "✓ answers  m in N ms",
    "✓ streams  2 pieces",
    "✓ tools    called one after N ms",
    "✓ context  65,536 tokens",
    "works",
]


def serving(pages: Mapping[str, Page], words: Script = SAYS, tools: Script = CALLS) -> SurveyedServer:
    """A server that answers a plain question so, and one with tools so."""

    def script(ask: Ask) -> list[Step]:
        chosen = tools if "tools" in ask.body else words
        return list(chosen(ask) if callable(chosen) else chosen)

    return SurveyedServer(pages, script)


def steps(printed: str) -> list[str]:
    """What was printed about one upstream, without its title."""
    assert KEY not in printed
    return [re.sub(r"\b[0-9]+ ms", "N ms", line.strip()) for line in printed.splitlines()[1:] if line]


def refusing(status: int, message: str = "") -> Status:
    """An error as OpenAI words it."""
    return Status(status, {"error": {"message": message, "type": "invalid_request_error"}})


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


NEEDS = "has a context of {} tokens, and coding agents need about 32,000."
FLAG = "--enable-auto-tool-choice and the --tool-call-parser of this model."
# fmt: off
CASES = {
    "well": (MODEL, SAYS, CALLS, 0, WELL),
    "key": (MODEL, [refusing(401, f"wrong key {KEY}")], CALLS, 1, [
        "✗ answers  URL/v1 needs an API key, and none is set. "
        "Give it with --upstream-key env:NAME, or with api_key in its table."]),
    "quota": (MODEL, [refusing(402)], CALLS, 1, [
        "The account behind the key has no credit left: top it up, or use another key."]),
    "limit": (MODEL, [refusing(429)], CALLS, 1, [
        "It works, but its rate limit is used up: wait, or ask its owner for more."]),
    "failing": (MODEL, [refusing(500, "out of memory")], CALLS, 1, [
        "✗ answers  The upstream at URL/v1 answered 500: out of memory."]),
    "cut": (MODEL, [says("Hel"), says("lo")], CALLS, 1, [
        "✗ answers  The model's server ended its answer without saying why: it was cut off."]),
    "one piece": (MODEL, [says("Hello", finish="stop"), counts(1, 1)], CALLS, 0, [
        "! streams  the answer came in one piece: a proxy on the way may hold it back"]),
    "words": (MODEL, SAYS, SAYS, 0, ["! tools    it answered in words, and called none", "works, with warnings"]),
    "parser": (vllm("m", 65_536), SAYS, [refusing(400, "no tools")], 0, [
        "! tools    The upstream refused the request: no tools", f"Agents need tools. Start vLLM with {FLAG}"]),
    "ollama": (loading(ollama(QWEN), 4096), SAYS, CALLS, 0, [
        f"! context  qwen3:8b {NEEDS.format('4,096')} Start Ollama with OLLAMA_CONTEXT_LENGTH=32768."]),
    "llama.cpp": (llama_cpp("m", 8192, trained=65_536, vision=False), SAYS, CALLS, 0, [
        f"! context  m {NEEDS.format('8,192')} Start llama-server with --ctx-size 32768."]),
}
# fmt: on


@pytest.mark.parametrize(("pages", "words", "tools", "code", "said"), CASES.values(), ids=CASES.keys())
def test_each_question_is_answered_or_explained(
    capsys: pytest.CaptureFixture[str],
    pages: Mapping[str, Page],
    words: Script,
    tools: Script,
    code: int,
    said: Sequence[str],
) -> None:
    with serving(pages, words, tools) as server:
        ended = examine(look(None, {"upstream": server.root}))
        printed = steps(capsys.readouterr().out)
        assert (ended, printed[-1] == "does not work") == (code, code == 1), printed
        missing = [words for words in said if words.replace("URL", server.root) not in "\n".join(printed)]
        assert missing == [], printed


def test_each_upstream_of_a_file_is_asked_by_the_name_that_its_model_has_there(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THE_KEY", KEY)
    with serving(MODEL) as server, serving(chats(models=listing("other"))) as second:
        (folder / "am-proxy.toml").write_text(f"""
            [upstreams.one]
            base_url = "{server.url}"
            api_key = "env:THE_KEY"
            [upstreams.two]
            base_url = "{second.url}"
            [models.coder]
            upstreams = ["one", "two"]
            names = {{ one = "m" }}
            context_window = 100_000
        """)
        assert examine(look(None, {})) == 0
        one, two = capsys.readouterr().out.strip().split("\n\n")
        assert steps(one) == [
            *WELL[:4],
            "! context  65,536 tokens, but context_window says 100,000",
            "works, with warnings",
        ]
        assert steps(two)[1] == '! models   models.coder: it lists no "coder"'
        assert {ask.headers.get("authorization") for ask in server.asks} == {f"Bearer {KEY}"}
        assert {ask.headers.get("authorization") for ask in second.asks} == {None}
        assert [ask.body["model"] for asked in (server, second) for ask in asked.asks if ask.raw] == ["m"] * 2 + [
            "coder"
        ] * 2


class _Lenient(SurveyedServer):
    def faults(self, ask: Ask) -> list[str]:
        """None: litellm leaves `stream_options` out."""
        return []


def test_upstreams_of_litellm_are_asked_one_after_the_other(folder: Path) -> None:
    with _Lenient(MODEL, SAYS) as server:
        tables = [
            f'[upstreams.{name}]\nvia = "litellm"\nprovider = "{name}"\nbase_url = "{server.url}"\napi_key = "sk-x"\n'
            for name in ("cerebras", "hyperbolic")
        ]
        (folder / "am-proxy.toml").write_text("".join(tables) + '[models."*"]\nupstreams = ["cerebras", "hyperbolic"]')
        with terminal([sys.executable, "-m", "app", "doctor"], folder=folder) as screen:
            assert screen.wait() == 0, screen.text
            assert screen.text.count("✓ answers") == 2


def test_it_fits_a_terminal_of_eighty_columns(folder: Path) -> None:
    with serving(loading(ollama(QWEN), 4096)) as server:
        command = [sys.executable, "-m", "app", "doctor", "--upstream", server.root]
        with terminal(command, folder=folder, rows=60) as screen:
            assert screen.wait() == 0
            assert screen.colours("✓") == {"green"}
            assert screen.lines[-3:] == [
                "  ! context  qwen3:8b has a context of 4,096 tokens, and coding agents need",
                "             about 32,000. Start Ollama with OLLAMA_CONTEXT_LENGTH=32768.",
                "  works, with warnings",
            ]
