"""Checks with whole programs: `doctor`, `check --probe`, Codex, and the `openai` package."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

from openai import OpenAI

from app.settings import Secret
from tests.conformance.install import NPM
from tests.servers.answers import ANSWERS, PATCH
from tests.servers.bench import Bench, Check
from tests.servers.checkpoint import CONTEXT
from tests.servers.questions import Question
from tests.support.codex import Codex, Ran
from tests.support.running import run

FILE: Final = "made.txt"
"""The one that the patch adds."""


def _configuration(bench: Bench) -> Path:
    """The lane in a file, as an operator writes it."""
    lane = bench.lane
    settings = {"base_url": bench.server_url + lane.path, **lane.settings}
    values = {name: value.reveal() if isinstance(value, Secret) else value for name, value in settings.items()}
    lines = ["[upstreams.there]", *(f"{name} = {json.dumps(value)}" for name, value in values.items())]
    lines += [
        "[models.tiny]",
        'upstream = "there"',
        f"name = {json.dumps(lane.server.model)}",
        f"context_window = {CONTEXT}",
    ]
    result = bench.folder / f"{lane.slug}.toml"
    result.write_text("\n".join(lines) + "\n")
    return result


def command(*words: str, says: str = "") -> Check:
    """A command finds no fault, and says this."""

    def check(bench: Bench) -> list[str]:
        ended = run(*words, "--config", str(_configuration(bench)), folder=bench.folder)
        printed = ended.stdout + ended.stderr
        found = [] if ended.returncode == 0 else [f"{words[0]} ended with {ended.returncode}"]
        found += [] if says in " ".join(printed.split()) else [f"{words[0]} does not say {says!r}"]
        return [*found, printed] if found else []

    return check


def _ran(bench: Bench, prompt: str) -> tuple[Ran, Path]:
    codex = Codex(NPM, bench.folder / f"codex-{bench.lane.slug}")
    codex.set_up(bench.url, bench.model)
    return codex.run(prompt, timeout=120), codex.work


def codex(prompt: str, answer: str, check: Callable[[Ran, Path], bool]) -> Check:
    """Codex shows an answer of the model, and has done what it was told."""

    def checked(bench: Bench) -> list[str]:
        ran, work = _ran(bench, prompt)
        found = [] if ran.said[-1:] == [ANSWERS[answer]] else [f"it said {ran.said} and {ran.errors}"]
        return found if check(ran, work) else [*found, f"not done: {ran.events}"]

    return checked


def showed(ran: Ran, _work: Path) -> bool:
    """Whether it ended well."""
    return ran.code == 0


def ran_a_command(ran: Ran, _work: Path) -> bool:
    """Whether the command ran."""
    outputs = [item["aggregated_output"].strip() for item in ran.items("command_execution")]
    return outputs == ["seen by a tiny model"]


def edited(_ran: Ran, work: Path) -> bool:
    """Whether the file is there."""
    written = [line[1:] for line in PATCH.splitlines() if line.startswith("+")]
    return (work / FILE).is_file() and (work / FILE).read_text().splitlines() == written


def package(bench: Bench) -> list[str]:
    """The `openai` package puts the stream together, and gets what the model server says."""
    client = OpenAI(base_url=f"{bench.url}/v1", api_key="none", max_retries=0)
    question = Question("weather in Oslo", tools=True)
    with client.responses.stream(**bench.request(question)) as stream:
        for _ in stream:
            pass
        response = stream.get_final_response()
    direct = bench.direct(question)
    calls = [(item.name, item.arguments) for item in response.output if item.type == "function_call"]
    own = (response.output_text, calls)
    return [] if own == (direct.text, direct.calls) else [f"it has {own}, but the server said {direct}"]
