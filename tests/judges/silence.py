"""Measures how long a stream is silent."""

import time
from typing import Final

from . import client_rules as rules
from .findings import Findings

LONGEST: Final = 30
"""Seconds without a byte, half of what proxies wait by default."""
LONGEST_WITHOUT_EVENT: Final = 300
"""As above, without an event: Codex does not count comments."""


class Silence:
    """The silences of one stream, which began when it was requested."""

    def __init__(self) -> None:
        self.found = Findings()
        self.longest = 0.0
        """Seconds."""
        self._last_byte = self._last_event = time.monotonic()

    def heard(self, *, has_event: bool) -> None:
        """Some bytes came, or the end."""
        now = time.monotonic()
        silent, without_event = now - self._last_byte, now - self._last_event
        self.longest = max(self.longest, silent)
        if silent > LONGEST:
            self.found.add(rules.SILENCE, f"nothing came for {silent:.0f} s", "")
        if without_event > LONGEST_WITHOUT_EVENT:
            self.found.add(rules.EVENT_SILENCE, f"no event came for {without_event:.0f} s", "")
        self._last_byte = now
        if has_event:
            self._last_event = now
