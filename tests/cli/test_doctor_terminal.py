"""`am-proxy doctor` as a person sees it."""

import re
from pathlib import Path

import pytest

from tests.support.doctor_failures import CALLS, SAYS
from tests.support.running import run
from tests.support.surveyed_server import SurveyedServer, ollama, shown
from tests.support.terminal import am_proxy, terminal
from tests.wire.servers import Ask, Latch, Status, Step

TINY = {"tinyllama": shown("llama", 2048), "qwen3:8b": shown("qwen3", 65_536, "tools")}
NO_TOOLS = Status(400, {"error": {"message": "registry.ollama.ai/library/tinyllama:latest does not support tools"}})


def script(ask: Ask) -> list[Step]:
    return [NO_TOOLS] if "tools" in ask.body else list(SAYS)


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("environ", [{}, {"NO_COLOR": "1"}], ids=["colours", "plain"])
def test_lines_fit_the_terminal_and_have_their_colours(columns: int, environ: dict[str, str], tmp_path: Path) -> None:
    with (
        SurveyedServer(ollama(TINY), script) as server,
        terminal(
            am_proxy("doctor", "--upstream", server.url), folder=tmp_path, columns=columns, environ=environ
        ) as seen,
    ):
        assert seen.wait() == 0
    assert max(map(len, seen.lines)) <= columns
    words = {word for line in seen.lines for word in line.split()}
    assert {"registry.ollama.ai/library/tinyllama:latest", "OLLAMA_CONTEXT_LENGTH=32768,", "qwen3:8b."} <= words
    advice = next(line for line in seen.lines if "→" in line)
    assert advice.startswith(f"{'':<20}→ ")
    verdict = "works, but calls no tools and has a small context: needs attention"
    assert seen.lines[-1] == verdict
    marks = {"✓": "green", "!": "brown", verdict: "brown"}  # pyte calls yellow so
    for text, colour in marks.items():
        assert seen.colours(text) == {"default" if environ else colour}
    assert (b"\x1b[3" in seen.raw) != bool(environ)


def test_a_slow_step_shows_what_it_waits_for_and_leaves_nothing_behind(tmp_path: Path) -> None:
    gate = Latch()

    def slow(ask: Ask) -> list[Step]:
        return list(CALLS) if "tools" in ask.body else [gate, *SAYS]

    with (
        SurveyedServer(ollama({"qwen3:8b": TINY["qwen3:8b"]}), slow) as server,
        terminal(am_proxy("doctor", "--upstream", server.url), folder=tmp_path, columns=80) as seen,
    ):
        seen.wait_for("… answers         waiting for qwen3:8b, ")
        gate.open()
        assert seen.wait() == 0
    assert "…" not in seen.text
    assert seen.lines[-1] == "all checks passed"
    assert re.search(r"^  ✓ answers {9}qwen3:8b in \d{4,} ms$", seen.text, re.MULTILINE)


def test_a_pipe_gets_plain_lines(tmp_path: Path) -> None:
    with SurveyedServer(ollama(TINY), script) as server:
        ended = run("doctor", "--upstream", server.url, folder=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert not {"\x1b", "\r", "…"} & set(ended.stdout)
    assert "registry.ollama.ai/library/tinyllama:latest does not support tools\n" in ended.stdout


def test_ctrl_c_ends_it_without_a_traceback(tmp_path: Path) -> None:
    with (
        SurveyedServer(ollama(TINY), [Latch()]) as server,
        terminal(am_proxy("doctor", "--upstream", server.url), folder=tmp_path) as seen,
    ):
        seen.wait_for("waiting for tinyllama")
        seen.type("\x03")
        assert seen.wait() == 130
    assert "Traceback" not in seen.text
    assert "waiting" not in seen.text
