"""The Codex CLI: `codex exec --json` for every cell, in a folder and with a home of its own."""

import base64
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.matrix import words
from tests.matrix.cells import BOOM, BROKE_OFF, CALLS, PARTIAL, TEXT, call
from tests.matrix.drivers.driving import Task, Told, serve
from tests.support.codex import Codex
from tests.support.node import modules_with

BEFORE: Final = "one\ntwo\nthree\n"
AFTER: Final = 'one\nprint("naïve 😀")\nthree\n'
_LINES: Final = f" one\n-two\n+{AFTER.splitlines()[1]}\n three"
PATCH: Final = f"*** Begin Patch\n*** Update File: greeting.txt\n@@\n{_LINES}\n*** End Patch\n"
_LOOK_UP: Final = call("mcp__weather__look_up", words.degrees("Paris"), city="Paris")
OWN_CALLS: Final = {
    **CALLS,
    "Paris": call("exec_command", words.degrees("Paris"), cmd=f"echo {words.degrees('Paris')}"),
    "Rome": call("exec_command", words.degrees("Rome"), cmd=f"echo {words.degrees('Rome')}"),
    "custom": call("apply_patch", "M greeting.txt", input=PATCH),
    "namespace": _LOOK_UP,
    "found": _LOOK_UP,
    "picture": call("view_image", path="picture.png"),
}
"""Its own tools, and one of a Model Context Protocol server that is plugged in."""
OWN_ENDS: Final[Mapping[str, Mapping[str, object]]] = {
    "custom": {"input": AFTER, **TEXT},
    "search": {"calls": ["Paris"], **TEXT},
    "refusal": {"text": words.REFUSAL},
    "incomplete": PARTIAL,
    "failed_before": {"error": (BOOM,)},
    "failed_in": {**PARTIAL, "error": (BOOM,)},
    "cut": {**PARTIAL, "error": (BROKE_OFF,)},
}
"""It shows no `refusal` part, discards an answer that is not completed (so both are sent as it takes them), and shows
an error's message alone. It asks for a search itself."""


def drive(task: Task, told: Told) -> None:
    """What a user has at the end."""
    codex = Codex(modules_with("@openai/codex"), Path(tempfile.mkdtemp(dir=os.environ["HOME"])))
    codex.set_up(
        task.url.removesuffix("/v1"),
        task.model,
        provider=f"request_max_retries = {task.retries}\nstream_max_retries = {task.retries}",
        card={"supports_search_tool": True} if "search" in task.tools else None,
    )
    (codex.work / "greeting.txt").write_text(BEFORE, "utf-8")
    (codex.work / "schema.json").write_text(json.dumps(words.SCHEMA), "utf-8")
    (codex.work / "picture.png").write_bytes(base64.b64decode(words.PIXEL))
    flags = [*(["--image", "picture.png"] * task.picture), *(["--output-schema", "schema.json"] * task.schema)]
    ran = codex.run(words.PROMPT, *flags, timeout=120)
    printed = [item["aggregated_output"] for item in ran.items("command_execution")]
    asked = [item["result"]["content"][0]["text"] for item in ran.items("mcp_tool_call") if item["result"]]
    edited = (codex.work / "greeting.txt").read_text("utf-8")
    told["text"] = ran.said[-1] if ran.said else ""
    told["reasoning"] = "".join(item["text"] for item in ran.items("reasoning"))
    told["calls"] = words.cities([*printed, *asked])
    told["input"] = edited if edited != BEFORE else ""
    told["parsed"] = json.loads(told["text"]) if task.schema else None
    if not ran.events or ran.events[-1]["type"] != "turn.completed":
        told["error"] = "".join(ran.errors) or ran.stderr[-1000:]


if __name__ == "__main__":
    serve(drive)
