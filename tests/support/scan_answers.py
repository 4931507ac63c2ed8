"""`make scan-answers`: what every kind of answer costs as it grows. Writes its part of docs/limits.md; some minutes.

First each kind is read in this process at n, 2n and 4n: time and memory may grow with its length and no faster. Then
the real command reads one as long as may be, and another caller asks meanwhile whether the server is alive, as in
`make scan`.

python -m tests.support.scan_answers 400 [part of a name]
"""

import json
import platform
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from app.upstreams.sse_lines import MOST_VALUES
from tests.support import limits_page
from tests.support.answer_shapes import CHAT, RELAY, REQUEST, Work, chat, relay
from tests.support.running import running
from tests.support.scan import PER_BYTE, STEEPEST, TRIES, peak_of, steepness
from tests.support.scan_server import CONFIG, LONGEST_WAIT, Seen, one, quietest, settle, upstream

FIXED: Final = 8 * 1024 * 1024
"""Bytes that any answer may take, however short it is."""
LONG: Final = 8 * 1024 * 1024
"""Bytes of an answer that the real command reads."""
SIZES: Final = {
    **dict.fromkeys(("one long delta", "a whole answer", "HTML instead of a stream"), 30 * 1024 * 1024),
    "one long line of log probabilities": 2_500_000,
    "one line of empty log probabilities": 450_000,
}
"""The same of kinds that are a single event: just within what an event may hold."""
DENSE: Final = frozenset({"one long line of log probabilities"})
"""Kinds that take more memory for a byte, up to the bound on the values of one event."""
DENSE_PER_BYTE: Final = 20

Make = Callable[[int], bytes]


class Grown(NamedTuple):
    """One kind of answer."""

    lane: str
    name: str
    size: int
    steep: float
    peak: int

    @property
    def is_sound(self) -> bool:
        """Whether its cost grows with its length, and no faster."""
        per_byte = DENSE_PER_BYTE if self.name in DENSE else PER_BYTE
        return self.steep <= STEEPEST and self.peak <= FIXED + per_byte * self.size

    def row(self) -> str:
        """A row of the table."""
        return f"| {self.name} | {self.size / 1e6:.1f} | {self.steep:.1f} | {self.peak / self.size:.1f} |"


def tolerant(work: Callable[[bytes], Work]) -> Callable[[bytes], Work | None]:
    """The same work. What is refused costs something too."""

    def worked(body: bytes) -> Work | None:
        try:
            return work(body)
        except Exception:  # noqa: BLE001 — whatever it is refused for
            return None

    return worked


def grown(lane: str, name: str, make: Make, work: Callable[[bytes], Work | None], n: int) -> Grown:
    """What this kind costs as it grows. What looks too steep is measured again."""
    steep = STEEPEST + 1
    for _ in range(TRIES):
        if (steep := steepness(make, work, n)) <= STEEPEST:
            break
    body = make(4 * n)
    return Grown(lane, name, len(body), steep, peak_of(lambda: work(body)))


def longest(name: str, make: Make) -> bytes:
    """An answer of this kind that is about as long as may be."""
    return make(max(1, SIZES.get(name, LONG) // max(1, (len(make(2_000)) - len(make(1_000))) // 1_000)))


def served(lane: str, name: str, make: Make) -> Seen:
    """What the real command needs for it, and what another caller notices."""
    result = longest(name, make)
    via = {"chat": "chat", "relay": "responses"}[lane]
    with upstream(result) as url, tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.toml").write_text(CONFIG.format(via=via, url=url))
        with running(folder=Path(folder)) as server:
            settle(server)
            asked = json.dumps(REQUEST | {"stream": True}).encode()
            return one(server, name, asked)._replace(size=len(result))


TABLES: Final = (("chat", CHAT, tolerant(chat)), ("relay", RELAY, tolerant(relay)))


def main(n: int, part: str) -> int:
    """Prints a line for each kind; the number of those that cost too much."""
    growths: list[Grown] = []
    seen: dict[str, list[Seen]] = {"chat": [], "relay": []}
    wrong = 0
    for lane, table, work in TABLES:
        for name, make in table.items():
            if part not in name:
                continue
            growths.append(grown(lane, name, make, work, n))
            seen[lane].append(quietest(lambda lane=lane, name=name, make=make: served(lane, name, make)))  # type: ignore[misc]
            bad = not growths[-1].is_sound or seen[lane][-1].wait > LONGEST_WAIT
            wrong += bad
            sys.stdout.write(f"{lane} {growths[-1].row()}{seen[lane][-1].row()}{' TOO MUCH' if bad else ''}\n")
            sys.stdout.flush()
    if not part:
        limits_page.write("answers", page(n, growths, seen))
    return wrong


def page(n: int, growths: list[Grown], seen: dict[str, list[Seen]]) -> str:
    """The part of docs/limits.md."""
    tables = "\n\n".join(
        f'### `via = "{via}"`\n\n'
        "| kind of answer | MB | ms for 4n over n | memory, bytes per byte "
        "| MB of a long one | status | seconds | another caller waits, ms at most | memory, MB |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        + "\n".join(
            growth.row() + each.row().removeprefix(f"| {each.name} |")
            for growth, each in zip((g for g in growths if g.lane == lane), seen[lane], strict=True)
        )
        for lane, via in (("chat", "chat"), ("relay", "responses"))
    )
    return f"""An upstream may send any amount of one kind of answer. Each kind is measured twice.
First, answers of the sizes n, 2n and 4n are read in one process (n = {n}). 4n may take at most {STEEPEST:g} times as
long as n (linear work takes 4 times as long), and {PER_BYTE} bytes of memory for each byte in addition
to {FIXED >> 20} MiB. Log probabilities in one line take up to {DENSE_PER_BYTE}; an event may have at most
{MOST_VALUES} values.
Second, a long answer passes through the real server:
{LONG >> 20} MiB, or the limit of a single event. Another client requests `/health/live` all the time, and may
wait {LONGEST_WAIT} ms at most. A status other than 200 in that run means that a limit was reached.

CPython {platform.python_version()} on {platform.system()}, on {time.strftime("%Y-%m-%d")}.

{tables}"""


if __name__ == "__main__":
    sys.exit(min(1, main(int(sys.argv[1]) if len(sys.argv) > 1 else 400, " ".join(sys.argv[2:]))))
