"""The program of a process that checks texts against Lark grammars. It is run as a file, and imports nothing of ours.

Each line of its input is a JSON object with `grammar` and `text`, each line of its output the answer: `at` is how many
characters match, or null if all do; `unreadable` says why the grammar cannot be used; `complex` says that the check
needs too many steps. A grammar that exhausts the stack or the memory ends this process.
"""

import json
import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from llguidance import LLMatcher, LLParserLimits, LLTokenizer

READY: Final = "ready"
"""The first line of the output."""
_MEMORY: Final = 1024 * 1024 * 1024
_NICENESS: Final = 10
_SECONDS: Final = 30
"""After which the alarm ends the process, if its server has been killed and cannot."""
_LONGEST_REASON: Final = 200
_LIMITS: Final = LLParserLimits(max_items_in_row=20_000, verbose_errors=False)
_BYTES: Final = LLTokenizer("byte", slices=[])


def main() -> None:
    """Answers until its input ends."""
    _limit()
    print(READY, flush=True)  # noqa: T201 — its output is read by the server
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        print(json.dumps(_answer(asked["grammar"], asked["text"])), flush=True)  # noqa: T201 — as above


def _limit() -> None:
    """Gives way to the server, and takes no more memory than a check may need. Some places forbid one or the other."""
    with suppress(OSError):
        os.nice(_NICENESS)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    for limit, most in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, _MEMORY)):
        with suppress(OSError, ValueError):
            resource.setrlimit(limit, (most, most))


def _answer(grammar: str, text: str) -> dict[str, Any]:
    signal.alarm(_SECONDS)
    try:
        return _checked(grammar, text)
    finally:
        signal.alarm(0)


def _checked(grammar: str, text: str) -> dict[str, Any]:
    matcher = LLMatcher(_BYTES, LLMatcher.grammar_from_lark(grammar), log_level=0, limits=_LIMITS)
    if matcher.is_error():
        return {"unreadable": matcher.get_error().partition("\n")[0][:_LONGEST_REASON]}
    data = text.encode("utf-8", "surrogatepass")
    taken = matcher.try_consume_tokens(list(data))
    if matcher.is_error():
        return {"complex": True}
    if taken == len(data) and matcher.is_accepting():
        return {"at": None}
    return {"at": len(data[:taken].decode("utf-8", "ignore"))}


if __name__ == "__main__":
    main()
