"""What `am-proxy doctor` says of a server."""

import re
from typing import NamedTuple

KEY = "sk-a-key-that-must-stay-secret"


class Examined(NamedTuple):
    """What `am-proxy doctor` printed about one upstream."""

    code: int
    title: str
    steps: dict[str, str]
    """Each step with its mark and words; times are `N ms`."""
    advice: dict[str, str]
    """By the step that it belongs to."""
    verdict: str


def examined(code: int, printed: str) -> Examined:
    """What was printed about one upstream."""
    assert KEY not in printed
    title, *lines, empty, verdict = printed.removeprefix("configuration: config.toml\n").splitlines()
    assert empty == ""
    steps, advice, last = {}, {}, ""
    for line in lines:
        if step := re.fullmatch(r"  ([✓!✗·]) (\S.*?) {2,}(.*)|  ([✓!✗·]) (.{15}) (.*)", line):
            mark, last, words = (step[1], step[2], step[3]) if step[1] else (step[4], step[5].rstrip(), step[6])
            steps[last] = f"{mark} {re.sub(r'[0-9]+ ms', 'N ms', words)}"
        else:
            advice[last] = line.strip().removeprefix("→ ")
    return Examined(code, title, steps, advice, verdict)
