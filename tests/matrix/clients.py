"""The clients: how each is driven, how it differs from the others, and what it cannot do."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import count
from pathlib import Path
from threading import Timer
from typing import Any, Final

from tests.matrix import words
from tests.matrix.cells import CALLS, PARTIAL, Call, Cell, Holds, call
from tests.matrix.drivers import codex
from tests.matrix.drivers.driving import Task
from tests.matrix.install import NPM, PYTHON, ROOT
from tests.support.codex import Codex
from tests.support.node import NODE

Drive = Callable[[Task], dict[str, Any]]
_DRIVERS: Final = ROOT / "tests" / "matrix" / "drivers"
_MODULES: Final = NPM / "node_modules"
_WORDS: Final = json.dumps({name: value for name, value in vars(words).items() if name.isupper()})


@dataclass(frozen=True)
class Client:
    """A client. Without a command it is Codex."""

    command: tuple[str, ...] = ()
    cannot: str = ""
    """Cells that it has no means for, by name or by lane and name."""
    calls: Mapping[str, Call] = field(default_factory=lambda: CALLS)
    told: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """What it has at the end instead of what others have, by cell or by lane and cell."""
    by_turns: bool = True
    """Whether it knows arguments of several calls that come by turns."""

    def tries(self, lane: str, cell: str) -> bool:
        """Whether there is something to try."""
        return not {cell, f"{lane}/{cell}"} & set(self.cannot.split())

    @contextmanager
    def driver(self, folder: Path) -> Iterator[Drive]:
        """What drives it through a task, and gives what it has at the end."""
        if not self.command:
            numbers = count()
            yield lambda task: codex.drive(Codex(_MODULES, folder / str(next(numbers))), task)
            return
        environ = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}
        pipe = subprocess.PIPE
        with subprocess.Popen(self.command, cwd=ROOT, env=environ, stdin=pipe, stdout=pipe, text=True) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            asked, told = process.stdin, process.stdout

            def drive(task: Task) -> dict[str, Any]:
                if process.poll() is not None:
                    return {"error": "the driver has ended"}
                watchdog = Timer(120, process.kill)
                watchdog.start()
                asked.write(json.dumps(vars(task)) + "\n")
                asked.flush()
                line = told.readline()
                watchdog.cancel()
                return dict(json.loads(line))

            yield drive


def _python(module: str) -> tuple[str, ...]:
    return (str(PYTHON), "-m", f"tests.matrix.drivers.{module}")


def _node(script: str, *more: str) -> tuple[str, ...]:
    return (NODE, str(_DRIVERS / script), str(_MODULES), _WORDS, *more)


def task_of(cell: Cell, url: str, model: str) -> Task:
    """What a driver is told."""
    asked = {key: value for key, value in asdict(cell).items() if key not in {"answers", "told"}}
    return Task(url=url, model=model, **asked)


_FILTERED: Final = {"ended": "content_filter"}
"""How a refusal ends in the Messages API."""
_REFUSED: Final = {"messages/refusal": {"refusal": words.REFUSAL, **_FILTERED}}
_AS_TEXT: Final = {"text": words.REFUSAL}


CLIENTS: Final[Mapping[str, Client]] = {
    "codex": Client(calls=codex.OWN_CALLS, told=codex.OWN_ENDS),
    "python": Client(_python("openai_python"), told=_REFUSED),
    "node": Client(_node("openai_node.mjs"), told=_REFUSED),
    "agents": Client(
        _python("openai_agents"),
        cannot="search",
        told={  # it raises behind what it has streamed
            "refusal": {"refusal": words.REFUSAL, "error": Holds("ModelRefusalError", words.REFUSAL)},
            "messages/refusal": {"refusal": words.REFUSAL, "error": Holds("content_filter")},
            "incomplete": {**PARTIAL, "error": Holds("max_output_tokens")},
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
        told={"refusal": {"error": Holds(words.REFUSAL)}},
    ),
    "langchain": Client(_python("langchain_chat"), cannot="search", told=_REFUSED, by_turns=False),
}
