"""The Codex CLI: `codex exec --json` in a folder of its own, with a home of its own."""

import base64
import json
from pathlib import Path
from typing import Final

from tests.conformance import lines
from tests.conformance.cells import Outcome
from tests.conformance.checks import Call, Tools
from tests.support.codex import Codex, Ran

BEFORE: Final = "one\ntwo\nthree\n"
AFTER: Final = 'one\nprint("naïve 😀")\nthree\n'
EDITED: Final = "greeting.txt"
PATCH: Final = f"""\
*** Begin Patch
*** Update File: {EDITED}
@@
 one
-two
+print("naïve 😀")
 three
*** End Patch
"""
TAKEN: Final = "picture.png"
SCHEMA: Final = "schema.json"

TOOLS: Final = Tools(
    weather=lambda city: Call(
        "exec_command", json.dumps({"cmd": f"echo '{lines.degrees(city)}'"}), lines.degrees(city)
    ),
    custom=Call("apply_patch", json.dumps({"input": PATCH}, ensure_ascii=False), f"M {EDITED}"),
    namespaced=lambda city: Call("mcp__weather__look_up", json.dumps({"city": city}), lines.degrees(city)),
    search=Call("tool_search", json.dumps({"query": lines.SEARCH}), ""),
    found=lambda city: Call("mcp__weather__look_up", json.dumps({"city": city}), lines.degrees(city)),
    picture=Call("view_image", json.dumps({"path": TAKEN}), ""),
)


def drive(codex: Codex, url: str, cell: str, model: str) -> Outcome:
    """One cell: what a user has at the end."""
    retries = 2 if cell == "wait" else 0
    codex.set_up(
        url,
        model,
        provider=f"request_max_retries = {retries}\nstream_max_retries = {retries}",
        card={"supports_search_tool": True} if cell == "search" else None,
    )
    (codex.work / EDITED).write_text(BEFORE, "utf-8")
    (codex.work / SCHEMA).write_text(json.dumps(lines.SCHEMA), "utf-8")
    (codex.work / TAKEN).write_bytes(base64.b64decode(lines.PIXEL))
    flags = {"picture": ("--image", TAKEN), "schema": ("--output-schema", SCHEMA)}.get(cell, ())
    ran = codex.run(lines.PROMPT, *flags, timeout=120)
    if not ran.events:
        raise RuntimeError(ran.stderr[-1000:])
    return _view(cell, ran, codex.work)


def _view(cell: str, ran: Ran, work: Path) -> Outcome:
    """What a cell looks at."""
    text = ran.said[-1] if ran.said else ""
    result: Outcome = {"text": text}
    match cell:
        case "reasoning":
            result |= {"reasoning": "".join(item["text"] for item in ran.items("reasoning"))}
        case "parallel" | "thoughts":
            printed = [item["aggregated_output"].strip() for item in ran.items("command_execution")]
            result |= {"calls": [city for city in lines.CITIES if lines.degrees(city) in printed]}
        case "custom":
            result |= {"file": (work / EDITED).read_text("utf-8")}
        case "namespace" | "search":
            result |= {"calls": _cities(ran)}
        case "schema":
            result = {"parsed": json.loads(text)}
        case "refusal":
            result = {"refusal": text}
        case "incomplete":
            result |= {"ended": ran.events[-1]["type"]}
        case "failed_before" | "failed_in" | "cut":
            result |= {"error": "".join(ran.errors), "ended": ran.events[-1]["type"]}
        case _:
            pass
    return result


def _cities(ran: Ran) -> list[str]:
    """What the plugged-in server's tool was asked for, with success."""
    asked = [item for item in ran.items("mcp_tool_call") if (item["server"], item["tool"]) == ("weather", "look_up")]
    return [item["arguments"]["city"] for item in asked if item["status"] == "completed"]
