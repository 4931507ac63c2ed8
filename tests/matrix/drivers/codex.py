"""The Codex CLI: `codex exec --json` for every cell, in a folder and with a home of its own."""

import base64
import json
from collections.abc import Mapping
from typing import Any, Final

from tests.matrix import words
from tests.matrix.cells import BOOM, BROKE_OFF, CALLS, PARTIAL, TEXT, Holds, call
from tests.matrix.drivers.driving import Task
from tests.support.codex import Codex

BEFORE: Final = "one\ntwo\nthree\n"
AFTER: Final = 'one\nprint("naïve 😀")\nthree\n'
PATCH: Final = f"""\
*** Begin Patch
*** Update File: greeting.txt
@@
 one
-two
+{AFTER.splitlines()[1]}
 three
*** End Patch
"""
OWN_CALLS: Final = {
    **CALLS,
    **{
        city: call("exec_command", words.degrees(city), cmd=f"echo '{words.degrees(city)}'")
        for city in ("Paris", "Rome")
    },
    "custom": call("apply_patch", "M greeting.txt", input=PATCH),
    "namespace": call("mcp__weather__look_up", words.degrees("Paris"), city="Paris"),
    "found": call("mcp__weather__look_up", words.degrees("Paris"), city="Paris"),
    "picture": call("view_image", path="picture.png"),
}
"""Its own tools, and one of a Model Context Protocol server that is plugged in."""
OWN_ENDS: Final[Mapping[str, Mapping[str, object]]] = {
    "custom": {"input": AFTER, **TEXT},
    "search": {"calls": ["Paris"], **TEXT},
    "refusal": {"text": words.REFUSAL},
    "incomplete": PARTIAL,
    "failed_before": {"error": Holds(BOOM)},
    "failed_in": {**PARTIAL, "error": Holds(BOOM)},
    "cut": {**PARTIAL, "error": Holds(BROKE_OFF)},
}
"""It shows no `refusal` part, discards an answer that is not completed (so both are sent as it takes them), and shows
an error's message alone. It asks for a search itself."""


def drive(codex: Codex, task: Task) -> dict[str, Any]:
    """What a user has at the end."""
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
    if not ran.events:
        return {"error": ran.stderr[-1000:]}
    text = ran.said[-1] if ran.said else ""
    printed = [item["aggregated_output"].strip() for item in ran.items("command_execution")]
    asked = [item for item in ran.items("mcp_tool_call") if item["status"] == "completed"]
    edited = (codex.work / "greeting.txt").read_text("utf-8")
    return {
        "text": text,
        "reasoning": "".join(item["text"] for item in ran.items("reasoning")),
        "calls": [line.removeprefix("21 degrees in ") for line in printed]
        + [item["arguments"]["city"] for item in asked if (item["server"], item["tool"]) == ("weather", "look_up")],
        "input": edited if edited != BEFORE else "",
        "parsed": json.loads(text) if task.schema else None,
        "error": "".join(ran.errors) if ran.events[-1]["type"] != "turn.completed" else "",
    }
