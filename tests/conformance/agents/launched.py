"""A coding agent on its own command line, started by `am-proxy launch` in front of the scripted server."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.conformance import lines
from tests.conformance.cells import Outcome
from tests.wire.program import COMMAND

ARGUMENTS: Final[Mapping[str, list[str]]] = {
    "codex": ["exec", "--json", "--skip-git-repo-check", lines.PROMPT],
}
"""How each agent answers one prompt and prints events."""


def drive(
    agent: str, program: Path, flags: Sequence[str], home: Path, environ: Mapping[str, str], model: str
) -> Outcome:
    """One prompt: what a user has at the end. `flags` name the upstream."""
    work, programs = home / "work", home / "bin"
    work.mkdir(parents=True)
    programs.mkdir()
    (programs / agent).symlink_to(program)
    path = os.pathsep.join([str(programs), environ["PATH"]])
    ran = subprocess.run(
        [
            *COMMAND,
            "launch",
            agent,
            *flags,
            "--model",
            model,
            "--",
            *ARGUMENTS[agent],
        ],
        cwd=work,
        env={**environ, "HOME": str(home), "PATH": path, "PWD": str(work)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    texts = list(_texts(ran.stdout))
    if ran.returncode or not texts:
        raise RuntimeError(f"it ended with {ran.returncode}: {ran.stdout[-500:]} {ran.stderr[-1500:]}")
    return {"text": texts[-1]}


def _texts(stdout: str) -> Iterator[str]:
    events: list[Any] = [json.loads(line) for line in stdout.splitlines() if line.startswith("{")]
    for event in events:
        match event:
            case {"type": "item.completed", "item": {"type": "agent_message", "text": str(text)}}:  # Codex
                yield text
            case _:
                pass
