"""`am-proxy launch` and its agent: signals, the terminal, and how each ends with the other."""

import os
import shlex
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.launching import MODELS, WAITS, Home, wait_for
from tests.support.surveyed_server import SurveyedServer, ollama
from tests.support.terminal import am_proxy, terminal
from tests.wire.script import text_turn


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def server() -> Iterator[SurveyedServer]:
    with SurveyedServer(ollama(MODELS), text_turn("Hello")) as made:
        yield made


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_reach_the_agent_and_its_exit_code_is_returned(
    home: Home, server: SurveyedServer, number: signal.Signals
) -> None:
    home.install(WAITS)
    with subprocess.Popen(
        am_proxy("launch", "codex", "--upstream", server.url),
        cwd=home.work,
        env=home.environ,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that there is no terminal, which would send Ctrl-C to both
    ) as process:
        wait_for(Path(f"{home.seen_file}.waits"))
        process.send_signal(number)
        out, _ = process.communicate(timeout=20)
    assert process.returncode == 40 + number
    assert out == f"the agent is running\nthe agent got {int(number)}\n"


def test_an_agent_that_is_killed_ends_the_command_as_in_a_shell(home: Home, server: SurveyedServer) -> None:
    home.install("os.kill(os.getpid(), 9)")
    assert home.launch("codex", "--upstream", server.url).returncode == 137


def test_the_server_dies_with_the_command_however_that_ends(home: Home, server: SurveyedServer) -> None:
    home.install(WAITS)
    with subprocess.Popen(
        am_proxy("launch", "codex", "--upstream", server.url),
        cwd=home.work,
        env=home.environ,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        wait_for(Path(f"{home.seen_file}.waits"))
        process.kill()
        process.wait()
    port = int(home.seen["settings"]["model_providers"]["am"]["base_url"].split(":")[2].removesuffix("/v1"))
    try:
        assert not listens(port)
    finally:
        os.killpg(process.pid, 9)  # the agent


def test_ctrl_c_on_a_terminal_ends_both_and_the_agent_gets_it_once(home: Home, server: SurveyedServer) -> None:
    home.install(WAITS)
    with terminal(
        am_proxy("launch", "codex", "--upstream", server.url), folder=home.work, environ=home.environ
    ) as seen:
        seen.wait_for("the agent is running")
        wait_for(Path(f"{home.seen_file}.waits"))
        seen.type("\x03")
        assert seen.wait() == 42
    assert seen.text.count("the agent got 2") == 1
    assert seen.lines[0] == "am-proxy: Codex uses coder:8b with 40,960 tokens of context; its menu has 2 more"


def test_the_terminal_is_given_back_as_it_was(home: Home, server: SurveyedServer) -> None:
    """An agent that draws its own screen is killed; the shell behind it has echo, and its own screen."""
    home.install(
        "import tty\ntty.setraw(0)\nsys.stdout.write('\\x1b[?1049h\\x1b[?25l\\x1b[?2004h')\nsys.stdout.flush()\n"
        "os.kill(os.getpid(), 9)"
    )
    launched = shlex.join(am_proxy("launch", "codex", "--upstream", server.url))
    with terminal(["sh", "-c", f"{launched}; stty -a; echo done"], folder=home.work, environ=home.environ) as seen:
        seen.wait_for("done")
    assert " icanon " in seen.text.replace("\n", " ")
    assert (b"\x1b[?1049l" in seen.raw, b"\x1b[?25h" in seen.raw, b"\x1b[?2004l" in seen.raw) == (True, True, True)


@pytest.mark.parametrize("alone", [False, True], ids=["by the terminal", "alone"])
def test_a_suspended_agent_gives_the_terminal_to_the_shell_until_it_continues(
    home: Home, server: SurveyedServer, *, alone: bool
) -> None:
    continues = "signal.signal(signal.SIGCONT, lambda *_: os.write(1, b'the agent continues '))\n"
    home.install(("os.kill(os.getpid(), signal.SIGSTOP)\n" if alone else continues) + WAITS)
    launched = shlex.join(am_proxy("launch", "codex", "--upstream", server.url))
    script = f"set -m; {launched}; echo suspended with $?; fg > /dev/null; echo ended with $?"
    with terminal(["bash", "-c", script], folder=home.work, environ=home.environ) as seen:
        seen.wait_for("the agent is running")
        if not alone:
            wait_for(Path(f"{home.seen_file}.waits"))
            seen.type("\x1a")
        seen.wait_for("suspended with 1")
        if not alone:
            seen.wait_for("the agent continues")  # until then the terminal is the shell's
        wait_for(Path(f"{home.seen_file}.waits"))
        seen.type("\x03")
        seen.wait_for("ended with 42")


def listens(port: int) -> bool:
    """Whether anything takes connections there."""
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0
