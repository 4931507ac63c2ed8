"""opencode: `opencode run --format json` over its bundled @ai-sdk/openai, in a folder of its own."""

import base64
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.conformance import lines
from tests.conformance.agents.codex import TAKEN
from tests.conformance.cells import Outcome
from tests.conformance.checks import Call, Tools
from tests.support.codex import MCP_SERVER

TITLES: Final = "opencode-titles"
"""The model that it asks for a title."""
ALONE: Final = {
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
}
"""It needs no network but this machine's own."""

TOOLS: Final = Tools(
    weather=lambda city: Call(
        "bash", json.dumps({"command": f"echo '{lines.degrees(city)}'", "description": "…"}), lines.degrees(city)
    ),
    namespaced=lambda city: Call("weather_look_up", json.dumps({"city": city}), lines.degrees(city)),
    picture=Call("read", json.dumps({"filePath": TAKEN}), ""),
)


def config(url: str, models: list[str]) -> dict[str, Any]:
    """What a user writes into opencode.json."""
    known = {
        name: {
            "name": name,
            "reasoning": True,
            "attachment": True,
            "tool_call": True,
            "modalities": {"input": ["text", "image"], "output": ["text"]},
            "options": {"reasoningEffort": "low", "reasoningSummary": "auto"},
            "limit": {"context": 64_000, "output": 4_000},
        }
        for name in [*models, TITLES]
    }
    options = {"baseURL": f"{url}/v1", "apiKey": "any"}
    return {
        "autoupdate": False,
        "share": "disabled",
        "permission": "allow",
        "small_model": f"am/{TITLES}",
        "provider": {"am": {"npm": "@ai-sdk/openai", "name": "AM Proxy", "options": options, "models": known}},
        "mcp": {"weather": {"type": "local", "command": [sys.executable, str(MCP_SERVER)], "enabled": True}},
    }


class Opencode:
    """One home for all runs, and a new folder for each."""

    def __init__(self, program: Path, url: str, home: Path, environ: Mapping[str, str]) -> None:
        self._program = program
        self._url = url
        self._home = home
        spaces = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("DATA", "CONFIG", "STATE", "CACHE")}
        self._environ = {**environ, **ALONE, **spaces, "HOME": str(home)}

    def run(self, model: str, *flags: str) -> Outcome:
        """One prompt: its texts, thoughts, tool calls and errors."""
        work = self._home / model
        work.mkdir(parents=True)
        (work / TAKEN).write_bytes(base64.b64decode(lines.PIXEL))
        (work / "opencode.json").write_text(json.dumps(config(self._url, [model])))
        ran = subprocess.run(
            [self._program, "run", "--format", "json", "--thinking", "-m", f"am/{model}", lines.PROMPT, *flags],
            cwd=work,
            env=self._environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
        )
        result: Outcome = {"texts": [], "thoughts": [], "tools": [], "errors": [], "ended": None}
        for line in ran.stdout.splitlines():
            match json.loads(line):
                case {"type": "text", "part": part}:
                    result["texts"].append(part["text"])
                case {"type": "reasoning", "part": part}:
                    result["thoughts"].append(part["text"])
                case {"type": "tool_use", "part": part}:
                    result["tools"].append((part["tool"], part["state"].get("output", "")))
                case {"type": "error", "error": error}:
                    result["errors"].append(json.dumps(error, ensure_ascii=False))
                case {"type": "step_finish", "part": part}:
                    result["ended"] = part["reason"]
                case _:
                    pass
        if not any(result.values()):
            raise RuntimeError(f"it said nothing: {ran.stdout[-500:]} {ran.stderr[-1500:]}")
        return result


def drive(opencode: Opencode, cell: str, model: str) -> Outcome:
    """One cell: what a user has at the end."""
    result = opencode.run(model, *(("-f", TAKEN) if cell == "picture" else ()))
    text = result["texts"][-1] if result["texts"] else ""
    items = [output for _, output in result["tools"]]
    match cell:
        case "reasoning":
            return {"reasoning": "".join(result["thoughts"]), "text": text}
        case "parallel" | "thoughts" | "namespace":
            return {"calls": [c for c in lines.CITIES if any(lines.degrees(c) in out for out in items)], "text": text}
        case "refusal":
            return {"refusal": text}
        case "incomplete":
            return {"text": text, "ended": result["ended"]}
        case "failed_before" | "failed_in" | "cut":
            return {"text": text, "error": "".join(result["errors"])}
        case _:
            return {"text": text}
