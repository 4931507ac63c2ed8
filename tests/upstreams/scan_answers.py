"""`make scan-answers`: what every kind of answer costs as it grows, in time and in memory; a minute or two.

python -m tests.upstreams.scan_answers 400 [part of a name]
"""

import sys
import time
from collections.abc import Callable
from typing import Final

from tests.support.scan import PER_BYTE, STEEPEST, peak_of, steepness
from tests.upstreams.answers_at_any_size import CHAT, RELAY, Work, chat, relay

FIXED: Final = 8 * 1024 * 1024
"""Bytes that any answer may take, however short it is."""


def tolerant(work: Callable[[bytes], Work]) -> Callable[[bytes], Work | None]:
    """The same work. What is refused costs something too."""

    def worked(body: bytes) -> Work | None:
        try:
            return work(body)
        except Exception:  # noqa: BLE001 — whatever it is refused for
            return None

    return worked


def main(n: int, part: str) -> int:
    """Prints a line for each kind; the number of those that cost too much."""
    wrong = 0
    for lane, table, work in (("chat", CHAT, chat), ("relay", RELAY, relay)):
        for name, make in table.items():
            if part not in name:
                continue

            worked = tolerant(work)
            body = make(4 * n)
            steep = steepness(make, worked, n)
            peak = peak_of(lambda body=body, worked=worked: worked(body))  # type: ignore[misc]
            began = time.perf_counter()
            worked(body)
            seconds = time.perf_counter() - began
            bad = steep > STEEPEST or peak > FIXED + PER_BYTE * len(body)
            wrong += bad
            sys.stdout.write(
                f"{lane:6}{name:40}{len(body):>10} bytes {seconds:7.3f} s  x{steep:4.1f} "
                f"{peak / len(body):6.1f} bytes a byte{'   TOO MUCH' if bad else ''}\n"
            )
    return wrong


if __name__ == "__main__":
    sys.exit(min(1, main(int(sys.argv[1]) if len(sys.argv) > 1 else 400, " ".join(sys.argv[2:]))))
