"""The clients: how each is driven, how it differs from the others, and what it cannot do."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import Any, Final, NamedTuple

from tests.matrix import words
from tests.matrix.cells import CALLS, CELLS, DONE, PARTIAL, TEXT, Call, Cell, call
from tests.matrix.drivers import codex, opencode
from tests.matrix.drivers.driving import Task
from tests.support.install import NPM, PYTHON, ROOT
from tests.support.node import NODE

_WORDS: Final = json.dumps({name: value for name, value in vars(words).items() if name.isupper()})


class Client(NamedTuple):
    """A client."""

    command: tuple[str, ...]
    cannot: str = ""
    """Cells that it has no means for, by name or by lane and name."""
    calls: Mapping[str, Call] = CALLS
    told: Mapping[str, Mapping[str, object]] = {}
    """What it has at the end instead of what others have, by cell or by lane and cell."""
    by_turns: bool = True
    """Whether it knows arguments of several calls that come by turns."""
    asks_again: str = ""
    """Cells in which it asks once more, whatever it is told, and gets an answer then."""

    def tries(self, lane: str, cell: str) -> bool:
        """Whether there is something to try."""
        return not {cell, f"{lane}/{cell}"} & set(self.cannot.split())

    def cell(self, lane: str, name: str) -> Cell:
        """A cell as this client goes through it."""
        cell = CELLS[name]
        if name in self.asks_again.split():
            return cell._replace(answers=[*cell.answers, DONE], told=TEXT)
        return cell._replace(told=self.told.get(f"{lane}/{name}") or self.told.get(name, cell.told))

    @contextmanager
    def driver(self, folder: Path) -> Iterator[Callable[[Task], dict[str, Any]]]:
        """What drives it through a task, and gives what it has at the end."""
        environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
        pipe = subprocess.PIPE
        with subprocess.Popen(self.command, cwd=ROOT, env=environ, stdin=pipe, stdout=pipe, text=True) as process:

            def drive(task: Task) -> dict[str, Any]:
                assert process.stdin and process.stdout
                watchdog = Timer(150, process.kill)
                watchdog.start()
                print(json.dumps(vars(task)), file=process.stdin, flush=True)
                line = process.stdout.readline()
                watchdog.cancel()
                return dict(json.loads(line))

            yield drive


def _python(module: str, python: str | Path = PYTHON) -> tuple[str, ...]:
    return (str(python), "-m", f"tests.matrix.drivers.{module}")


def _node(script: str, *more: str) -> tuple[str, ...]:
    return (NODE, str(Path(__file__).parent / "drivers" / script), str(NPM / "node_modules"), _WORDS, *more)


def task_of(cell: Cell, url: str, model: str) -> Task:
    """What a driver is told."""
    asked = {key: value for key, value in cell._asdict().items() if key not in {"answers", "told"}}
    return Task(url=url, model=model, **asked)


_FILTERED: Final = {"ended": "content_filter"}
"""How a refusal ends in the Messages API."""
_REFUSED: Final = {"messages/refusal": {"refusal": words.REFUSAL, **_FILTERED}}
_AS_TEXT: Final = {"text": words.REFUSAL}


CLIENTS: Final[Mapping[str, Client]] = {
    "codex": Client(_python("codex", sys.executable), calls=codex.OWN_CALLS, told=codex.OWN_ENDS),
    "opencode": Client(
        _python("opencode", sys.executable),
        cannot="custom search schema",
        calls=opencode.OWN_CALLS,
        told=opencode.OWN_ENDS,
        asks_again="failed_before failed_in cut",
    ),
    "python": Client(_python("openai_python"), told=_REFUSED),
    "node": Client(_node("openai_node.mjs"), told=_REFUSED),
    "agents": Client(
        _python("openai_agents"),
        cannot="search",
        told={  # it raises behind what it has streamed
            "refusal": {"refusal": words.REFUSAL, "error": ("ModelRefusalError", words.REFUSAL)},
            "messages/refusal": {"refusal": words.REFUSAL, "error": ("content_filter",)},
            "incomplete": {**PARTIAL, "error": ("max_output_tokens",)},
        },
    ),
    "ai-sdk": Client(
        _node("ai_sdk.mjs", "openai"),
        told={"refusal": _AS_TEXT, "messages/refusal": {**_AS_TEXT, **_FILTERED}},
    ),
    "ai-open": Client(
        _node("ai_sdk.mjs", "open-responses"),
        # it cannot ask for encrypted reasoning, and Claude takes back only what it signed
        cannot="custom namespace search messages/thoughts",
        told={"refusal": {}, "messages/refusal": _FILTERED},
    ),
    "pydantic": Client(
        _python("pydantic_agent"),
        cannot="custom namespace",
        calls={**CALLS, "search": call("tool_search", queries=[words.QUERY])},
        told={"refusal": {"error": (words.REFUSAL,)}},
    ),
    "langchain": Client(_python("langchain_chat"), cannot="search", told=_REFUSED, by_turns=False),
}
