"""What README.md tells a reader to do is done here, against the real command."""

import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.cli.parser import parse
from app.settings import load
from app.upstreams.demo import ABOUT
from tests.support.python_programs import PythonPrograms, python_programs
from tests.support.running import ROOT, Running, running

TEXT = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
URL = "http://127.0.0.1:8080/v1"


def blocks(language: str) -> list[str]:
    """The fenced blocks in one language."""
    return [text for name, text in BLOCKS if name == language]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """`make serve`, but for the port."""
    with running(folder=tmp_path_factory.mktemp("folder")) as started:
        yield started


def shell(command: str) -> str:
    """What a command says, if it succeeds."""
    ended = subprocess.run(["bash", "-ec", command], capture_output=True, text=True, timeout=60, check=False)  # noqa: S607 — the reader's shell
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture(scope="module")
def python() -> Iterator[PythonPrograms]:
    with python_programs() as programs:
        yield programs


@pytest.mark.needs("curl")
def test_the_curl_command_answers(server: Running) -> None:
    (command,) = blocks("sh")
    assert URL in command
    assert '"status":"completed"' in shell(command.replace(URL, server.url)).replace(" ", "")


def test_each_python_program_of_the_page_is_run_here() -> None:
    assert len(blocks("python")) == 3


def test_the_python_program_prints_an_answer_and_streams_a_story(
    server: Running, python: PythonPrograms, tmp_path: Path
) -> None:
    program, *_ = blocks("python")
    assert URL in program
    result = python.run(program.replace(URL, server.url), tmp_path)
    assert result.startswith("I am demo, a scripted model")
    assert "There was once a small server" in result


def test_the_python_program_goes_on_over_a_websocket(server: Running, python: PythonPrograms, tmp_path: Path) -> None:
    _, program, _ = blocks("python")
    assert URL in program
    assert python.run(program.replace(URL, server.url), tmp_path) == "You told me: My name is Alice."


def test_the_python_program_counts_sums_up_and_goes_on(server: Running, python: PythonPrograms, tmp_path: Path) -> None:
    _, _, program = blocks("python")
    counted, content = python.run(program.replace(URL, server.url), tmp_path).splitlines()
    assert int(counted) > 0
    assert content == "You told me: My name is Alice."


@pytest.mark.needs("curl")
def test_what_the_banner_offers_to_copy_works(server: Running, python: PythonPrograms, tmp_path: Path) -> None:
    lines = [line.strip() for line in server.banner.splitlines()]
    start = lines.index("Try it with curl:") + 1
    assert "completed" in shell("\n".join(lines[start : lines.index("", start)]))
    snippet = lines[lines.index("or with an OpenAI SDK:") + 1 :]
    assert python.run("\n".join(snippet), tmp_path).startswith("I am demo, a scripted model")


def test_the_configuration_shown_is_a_right_one(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(blocks("toml")[0])
    settings = load({}, {"ALICE_KEY": "a", "DEEPSEEK_API_KEY": "d"}, tmp_path)
    assert (list(settings.upstreams), list(settings.models)) == (["deepseek", "local"], ["deepseek-flash", "*"])


def test_every_make_command_exists_and_its_flags_are_flags() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = [shlex.split(line, comments=True) for text in blocks("") for line in text.splitlines()]
    made = [words for words in commands if words[:1] == ["make"]]
    assert {words[1] for words in made} >= {"serve", "test", "lint", "bench"}
    assert {words[1] for words in made} - targets == set()
    for words in made:
        arguments = dict(word.split("=", 1) for word in words[2:])
        parse(["serve", *shlex.split(arguments.get("ARGS", ""))])


def test_every_environment_variable_named_is_a_setting(tmp_path: Path) -> None:
    named = set(re.findall(r"\bAM_[A-Z_]+\b", TEXT))
    assert named >= {"AM_HOST", "AM_KEY", "AM_UPSTREAM"}
    environ = (
        dict.fromkeys(named - {"AM_CONFIG"}, "1")
        | {"AM_SEAL_KEY": "s" * 32}
        | {"AM_UPSTREAM": "http://x", "AM_UPSTREAM_VIA": "chat", "AM_PROVIDER": "vllm"}
    )
    settings = load({}, environ, tmp_path)
    assert (settings.notes, len(settings.origins) >= len(environ)) == ((), True)


def test_the_words_that_steer_the_demo_are_those_the_demo_names() -> None:
    listed = ABOUT.rpartition("steer me: ")[2].partition(", or the name")[0].split(", ")
    sentence = next(line for line in TEXT.splitlines() if line.startswith("What `demo` does"))
    assert re.findall(r"`(\w+)`", sentence)[1:] == listed
