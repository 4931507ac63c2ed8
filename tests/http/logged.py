"""What the program logs of its turns."""

import json
import time
from typing import Any

from tests.wire.program import Program


def line_of_turn(program: Program, request_id: str = "") -> dict[str, Any]:
    """The line of this turn, or of the first one, which may be written after the answer."""
    deadline = time.monotonic() + 10
    while True:
        for logged in program.log.splitlines():
            line: dict[str, Any] = json.loads(logged) if logged.startswith('{"time"') else {}
            if line.get("message") == "turn" and request_id in line["request_id"]:
                return line
        assert time.monotonic() < deadline, f"the turn was not logged:\n{program.log}"
        time.sleep(0.02)
