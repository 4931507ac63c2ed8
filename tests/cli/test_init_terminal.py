"""`am-proxy init` as a person sees it, with servers on this machine and the doctor at the end."""

from pathlib import Path

import pytest

from tests.support.doctor_failures import CALLS, SAYS
from tests.support.running import run
from tests.support.surveyed_server import SurveyedServer, ollama, shown
from tests.support.terminal import am_proxy, terminal
from tests.wire.servers import Ask, Step

MODELS = {"qwen3:8b": shown("qwen3", 40_960, "tools"), "gpt-oss:20b": shown("gptoss", 131_072, "tools")}


def script(ask: Ask) -> list[Step]:
    return list(CALLS if "tools" in ask.body else SAYS)


@pytest.mark.parametrize("columns", [80, 120])
def test_from_nothing_to_a_tested_configuration(columns: int, tmp_path: Path) -> None:
    with SurveyedServer(ollama(MODELS), script) as server:
        environ = {"OLLAMA_HOST": f"127.0.0.1:{server.port}"}
        with terminal(am_proxy("init"), folder=tmp_path, columns=columns, environ=environ) as shown_:
            shown_.answer("Number, name or address [1]:", "olama\n")
            assert f"  1  Ollama at {server.url}: qwen3:8b, gpt-oss:20b" in shown_.text
            shown_.answer("(did you mean ollama?)", "1\n")
            shown_.answer("Should other machines be able to connect? [y/N]", "\n")
            assert shown_.wait() == 0
    text = shown_.text
    steps = ["am-proxy.toml is written.", "✓ answers", "all checks passed", "am-proxy serve", "am-proxy launch codex"]
    assert [step for step in steps if step not in text] == []
    assert shown_.colours("all checks passed") == {"green"}
    assert max(map(len, shown_.lines)) <= columns
    assert not [line for line in shown_.lines if line.endswith(("a n", "na"))]
    assert run("check", folder=tmp_path).returncode == 0


@pytest.mark.parametrize(("keys", "code"), [("\x03", 130), ("\x04", 1)])
def test_who_leaves_gets_no_file_and_no_traceback(keys: str, code: int, tmp_path: Path) -> None:
    with terminal(am_proxy("init"), folder=tmp_path) as shown_:
        shown_.answer("Number, name or address", keys)
        assert shown_.wait() == code
    assert shown_.lines[-1] == "am-proxy: nothing was written"
    assert "Traceback" not in shown_.text
    assert list(tmp_path.iterdir()) == []


def test_a_script_gets_a_configuration_without_questions(tmp_path: Path) -> None:
    with SurveyedServer(ollama(MODELS), script) as server:
        ended = run("init", "--upstream", f"127.0.0.1:{server.port}", "--yes", folder=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "all checks passed" in ended.stdout
    assert "\x1b" not in ended.stdout
    assert "\r" not in ended.stdout
