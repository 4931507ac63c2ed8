"""opencode: `opencode run --format json` over its own copy of @ai-sdk/openai, in a new folder for every cell."""

import base64
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.matrix import words
from tests.matrix.cells import CALLS, PARTIAL, call
from tests.matrix.drivers.driving import Task, Told, serve
from tests.support.codex import MCP_SERVER
from tests.support.node import modules_with

_ECHO: Final = {"description": "…"}
OWN_CALLS: Final = {
    **CALLS,
    "Paris": call("bash", words.degrees("Paris"), command=f"echo {words.degrees('Paris')}", **_ECHO),
    "Rome": call("bash", words.degrees("Rome"), command=f"echo {words.degrees('Rome')}", **_ECHO),
    "namespace": call("weather_look_up", words.degrees("Paris"), city="Paris"),
    "picture": call("read", filePath="picture.png"),
}
"""Its own tools, and one of a Model Context Protocol server, which is a plain function here."""
OWN_ENDS: Final[Mapping[str, Mapping[str, object]]] = {
    "refusal": {},
    "messages/refusal": {"ended": "content-filter", "error": ("ContentFilterError",)},
    "incomplete": {**PARTIAL, "ended": "length"},
}
"""It shows no refusals, and has words of its own for the ends."""
_LOADS: Final = ("MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
_ALONE: Final = {f"OPENCODE_DISABLE_{name}": "1" for name in _LOADS}


def config(task: Task) -> dict[str, Any]:
    """What a user writes into opencode.json."""
    model = {
        "reasoning": task.thinks,
        "attachment": True,
        "modalities": {"input": ["text", "image"], "output": ["text"]},
        "options": {"reasoningEffort": "low", "reasoningSummary": "auto"} if task.thinks else {},
    }
    options = {"baseURL": task.url, "apiKey": "any"}
    return {
        "permission": "allow",
        "provider": {"am": {"npm": "@ai-sdk/openai", "options": options, "models": {task.model: model}}},
        "mcp": {"weather": {"type": "local", "command": [sys.executable, str(MCP_SERVER)]}},
    }


def drive(task: Task, told: Told) -> None:
    """What a user has at the end."""
    program = min(modules_with("opencode-ai").glob("opencode-*-*/bin/opencode"))
    work = Path(tempfile.mkdtemp(dir=os.environ["HOME"]))
    (work / "opencode.json").write_text(json.dumps(config(task)))
    (work / "picture.png").write_bytes(base64.b64decode(words.PIXEL))
    # without a title it asks the model for one
    flags = ["--format", "json", "--thinking", "--title", "…", "--model", f"am/{task.model}"]
    command = [str(program), "run", *flags, words.PROMPT, *(["--file", "picture.png"] * task.picture)]
    environ = {**os.environ, **_ALONE}
    ran = subprocess.run(command, cwd=work, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    parts = [event["part"] for event in events if "part" in event]
    thoughts = [part["text"] for part in parts if part["type"] == "reasoning"]
    texts = [part["text"] for part in parts if part["type"] == "text"]
    ends = [part["reason"] for part in parts if part["type"] == "step-finish"]
    told["reasoning"], told["text"] = "".join(thoughts), "".join(texts[-1:])
    told["calls"] = words.cities([part["state"].get("output", "") for part in parts if part["type"] == "tool"])
    told["ended"] = ends[-1] if ends and ends[-1] != "stop" else ""
    told["error"] = "".join(json.dumps(event["error"]) for event in events if event["type"] == "error")


if __name__ == "__main__":
    serve(drive)
