"""Checks the shell commands of the pages: those that can run here are run, the rest read by their program."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from app.cli.parser import parse
from tests.support.running import ROOT

URL: Final = "http://127.0.0.1:8080"
"""The address of the server in every page."""
PLAIN: Final = frozenset(
    {"cd", "chmod", "cp", "git", "export", "eval", "install", "openssl", "mkdir", "kill", "python3", "systemctl"}
)
"""Commands that are not ours: the shell reads them."""
DRIVEN: Final = frozenset({"curl", "docker", "kubectl"})
"""Commands that are run, or read by their program: their test needs it."""
INSTALLERS: Final = frozenset({"pip", "pipx", "uv", "uvx", "npm", "npx", "brew"})
"""tests/packaging installs the package. Here only what they run is checked."""


def commands(text: str) -> Iterator[list[str]]:
    """The words of each command of a block, without the variables before it and the files that it reads and writes."""
    lines = text.replace("\\\n", " ").splitlines()
    for line in lines:
        lexer = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars="|&;<>")
        lexer.whitespace_split = True
        words: list[str] = []
        for token in [*lexer, ";"]:
            if set(token) <= set("|&;"):
                while words and re.fullmatch(r"[A-Z_]+=.*", words[0], re.DOTALL):
                    del words[0]
                if words:
                    yield words
                words = []
            else:
                words.append(token)


def check_block(text: str, folder: Path, url: str) -> None:
    """Runs a block that only asks our server; of any other block, checks each command by its own rule."""
    found = list(commands(text))
    assert found, "a block of no command"
    if all(words[0] == "curl" for words in found):
        _run_curl(text, folder, url)
        return
    for words in found:
        check_command(words)
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)  # noqa: S607 — the reader's shell


def check_command(words: list[str]) -> None:
    """One command, by the rule for its program. A program without a rule is an error."""
    program, *arguments = Path(words[0]).name, *words[1:]
    if program in PLAIN:
        return
    if program in INSTALLERS:
        if "am-proxy" in arguments:
            check_command(arguments[arguments.index("am-proxy") :])
        return
    assert program in RULES, f"no rule for {program!r}: add one to tests/docs/shell_commands.py"
    RULES[program](arguments)


def _run_curl(text: str, folder: Path, url: str) -> None:
    (folder / ".codex").mkdir(exist_ok=True)
    assert URL in text
    script = f'curl() {{ command curl --fail-with-body --silent --show-error "$@"; }}\n{text.replace(URL, url)}'
    ended = subprocess.run(
        ["bash", "-ec", script],  # noqa: S607 — the reader's shell
        env={"HOME": str(folder), "PATH": "/usr/local/bin:/usr/bin:/bin", "AM_KEY": "any"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    written = [file.read_text() for file in (folder / ".codex").iterdir()]
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "".join([ended.stdout, *written]).strip()


def _am_proxy(arguments: list[str]) -> None:
    try:
        parse([argument for argument in arguments if not argument.startswith(("<", ">"))])
    except SystemExit as end:
        if end.code:  # none for --version
            raise


def _make(arguments: list[str]) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    values = dict(word.split("=", 1) for word in arguments if "=" in word)
    named = [word for word in arguments if "=" not in word]
    assert set(named) <= targets, sorted(set(named) - targets)
    if named == ["serve"]:
        parse(["serve", *shlex.split(values.get("ARGS", ""))])


def _docker(arguments: list[str]) -> None:
    """Each flag is one of that command of docker. There is no engine here."""
    command = arguments[: 2 if arguments[0] == "compose" else 1]
    told = subprocess.run(["docker", *command, "--help"], capture_output=True, text=True, check=False).stdout  # noqa: S607 — the reader's
    if "Usage:" not in told:  # compose is a plugin
        return
    known = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", told))
    flags = {word.partition("=")[0] for word in arguments if word.startswith("-")}
    assert flags <= known, sorted(flags - known)


def _kubectl(arguments: list[str]) -> None:
    """What can be made without a cluster is made; the manifests are checked by tests/deploy."""
    if "apply" in arguments:
        assert (ROOT / arguments[-1]).is_file()
        return
    if shutil.which("kubectl") is None:
        return
    made = [*arguments, "--dry-run=client", "--output=yaml"]
    ended = subprocess.run(["kubectl", *made], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S607 — the reader's
    assert ended.returncode == 0, ended.stderr


RULES: Final[dict[str, Callable[[list[str]], None]]] = {
    "am-proxy": _am_proxy,
    "make": _make,
    "docker": _docker,
    "kubectl": _kubectl,
}
