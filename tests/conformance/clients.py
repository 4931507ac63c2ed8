"""The clients: how each calls its tools, how it is driven, and what it cannot do by its own limits."""

import json
import os
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple

from tests.conformance import lines
from tests.conformance.agents import codex, launched
from tests.conformance.cells import CUT_OFF, FAILED, Holds, Outcome
from tests.conformance.checks import Call, Tools
from tests.conformance.install import NPM, PYTHON, ROOT, node
from tests.support.codex import Codex


class Note(NamedTuple):
    """What is to be known of a cell: the client's own way, or its own limit."""

    text: str
    told: Outcome | None = None
    """What the client has instead of what others have."""
    tried: bool = True
    """False: there is nothing to try."""
    able: bool = True
    """False: tried, and the client cannot do it."""


def _never(text: str) -> Note:
    return Note(text, tried=False)


class Bench(NamedTuple):
    """Where a client is driven."""

    url: str
    folder: Path
    environ: Mapping[str, str]
    launch: Sequence[str] = ()
    """Flags that name the upstream to `am-proxy launch`."""


Drive = Callable[[Bench, Mapping[str, str]], dict[str, Outcome]]
"""Drives a client through cells, each with the model it asks for."""


_PLAIN: Final = Tools()


@dataclass(frozen=True)
class Client:
    """A client."""

    title: str
    package: str
    drive: Drive
    tools: Tools = _PLAIN
    notes: Mapping[str, Note] = field(default_factory=dict)
    more: tuple[str, ...] = ()
    """Further packages whose versions matter."""
    npm: bool = False


def _answers(command: list[str], bench: Bench, cells: Mapping[str, str]) -> dict[str, Outcome]:
    """What a driver of its own process says."""
    words = {name: value for name, value in vars(lines).items() if name.isupper()}
    ran = subprocess.run(
        command,
        cwd=ROOT,
        env=dict(bench.environ),
        input=json.dumps({"url": bench.url, "cells": cells, "lines": words}),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if ran.returncode:
        return {cell: {"driver": ran.stderr[-1000:]} for cell in cells}
    result: dict[str, Outcome] = json.loads(ran.stdout)
    return result


def _python(module: str) -> Drive:
    return lambda bench, cells: _answers([str(PYTHON), "-m", f"tests.conformance.drivers.{module}"], bench, cells)


def _node(script: str, *arguments: str) -> Drive:
    path = ROOT / "tests" / "conformance" / "drivers" / script
    return lambda bench, cells: _answers([str(node()), str(path), str(NPM), *arguments], bench, cells)


def _one_by_one(cells: Mapping[str, str], drive: Callable[[str, str], Outcome]) -> dict[str, Outcome]:
    """Each cell by a run of its own."""
    result: dict[str, Outcome] = {}
    for cell, model in cells.items():
        try:
            result[cell] = drive(cell, model)
        except (RuntimeError, ValueError, OSError, subprocess.TimeoutExpired) as error:
            result[cell] = {"driver": repr(error)}
    return result


def _codex(bench: Bench, cells: Mapping[str, str]) -> dict[str, Outcome]:
    def drive(cell: str, model: str) -> Outcome:
        if cell == "launch":
            program = NPM / "@openai" / "codex" / "bin" / "codex.js"
            environ = {**bench.environ, "PATH": os.pathsep.join([str(node().parent), bench.environ["PATH"]])}
            return launched.drive("codex", program, bench.launch, bench.folder / model, environ, model)
        return codex.drive(Codex(NPM, bench.folder / model), bench.url, cell, model)

    return _one_by_one(cells, drive)


def _failed(words: str, **more: str) -> Outcome:
    return {"error": Holds(words), **more}


_NO_TOOL = "it has no such tool"

_CLIENTS: Final[dict[str, Client]] = {
    "codex": Client(
        "Codex CLI",
        "@openai/codex",
        _codex,
        codex.TOOLS,
        {
            "custom": Note("edits a real file with `apply_patch`", {"file": codex.AFTER, "text": lines.TEXT}),
            "namespace": Note("a tool of a Model Context Protocol server, which Codex runs over standard input"),
            "search": Note(
                "finds a tool of that server; offered if the catalogue contains `supports_search_tool`",
                {"calls": [lines.CITIES[0]], "text": lines.TEXT},
            ),
            "refusal": Note("sent as text, because Codex does not show a `refusal` part (see codex.md)"),
            "incomplete": Note(
                "sent as `response.completed`, because Codex discards the answer otherwise (see codex.md)",
                {"text": lines.PARTIAL, "ended": "turn.completed"},
            ),
            "failed_before": Note("shows the message, not the code", _failed(FAILED, text="", ended="turn.failed")),
            "failed_in": Note(
                "shows the message, not the code", _failed(FAILED, text=lines.PARTIAL, ended="turn.failed")
            ),
            "cut": Note("shows the message, not the code", _failed(CUT_OFF, text=lines.PARTIAL, ended="turn.failed")),
            "wait": Note("counts this retry in `stream_max_retries`"),
        },
        npm=True,
    ),
    "openai-python": Client("openai-python", "openai", _python("openai_python")),
    "openai-node": Client("openai-node", "openai", _node("openai_node.mjs"), npm=True),
    "openai-agents": Client(
        "Agents SDK",
        "openai-agents",
        _python("openai_agents"),
        notes={
            "search": _never("its runner does not run a tool search on the client's side"),
            "refusal": Note("raises `ModelRefusalError` with the text"),
            "incomplete": Note("raises `ModelBehaviorError` with the reason; the text has been streamed"),
        },
    ),
    "ai-sdk-openai": Client(
        "AI SDK, @ai-sdk/openai", "@ai-sdk/openai", _node("ai_sdk.mjs", "openai"), more=("ai",), npm=True
    ),
    "ai-sdk-open-responses": Client(
        "AI SDK, @ai-sdk/open-responses",
        "@ai-sdk/open-responses",
        _node("ai_sdk.mjs", "open-responses"),
        notes={
            "custom": _never(_NO_TOOL),
            "namespace": _never(_NO_TOOL),
            "search": _never(_NO_TOOL),
            "refusal": Note("does not support refusal events: the answer is empty", {"refusal": ""}, able=False),
        },
        more=("ai",),
        npm=True,
    ),
    "pydantic-ai": Client(
        "Pydantic AI",
        "pydantic-ai-slim",
        _python("pydantic_agent"),
        Tools(search=Call("tool_search", json.dumps({"queries": [lines.SEARCH]}), "")),
        notes={
            "custom": _never(_NO_TOOL),
            "namespace": _never(_NO_TOOL),
            "search": Note("with a model profile that supports `tool_search`"),
        },
    ),
    "langchain": Client(
        "LangChain",
        "langchain-openai",
        _python("langchain_chat"),
        Tools(interleaved=False),
        notes={
            "parallel": Note("one call after the other: it loses the arguments of interleaved calls"),
            "namespace": Note("bound with `bind`: `bind_tools` does not support namespaces"),
            "search": _never("it has no step that runs a tool search"),
        },
        more=("langchain-core",),
    ),
}

CLIENTS: Final[dict[str, Client]] = {
    name: client
    if name in launched.ARGUMENTS
    else replace(client, notes={**client.notes, "launch": _never("it is no coding agent")})
    for name, client in _CLIENTS.items()
}


def surroundings(folder: Path) -> dict[str, str]:
    """What a client sees of the machine: nothing of its user."""
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}


def chosen(names: Iterable[str]) -> dict[str, Client]:
    """The clients of these names, or all."""
    return {name: CLIENTS[name] for name in names} or dict(CLIENTS)
