"""Reads the token counts of the Messages API.

The beginning of an answer counts what was read, the end what was written; a server may repeat counts that have grown.
Tokens that were read from a cache or written to one are counted beside the others of the input.
"""

from typing import Any

from ...protocol.response import InputTokensDetails, OutputTokensDetails, Usage
from ..reported_numbers import count

Json = dict[str, Any]


class MessageUsage:
    """Collects the token counts of one answer. Each is the last one that was not zero."""

    def __init__(self) -> None:
        self._input = 0
        self._cached = 0
        self._written = 0
        self._output = 0
        self._reasoning = 0

    def read(self, reported: Any) -> Usage | None:
        """The usage after this report; None if there were no tokens yet."""
        if not isinstance(reported, dict):
            return None
        self._input = count(reported, "input_tokens") or self._input
        self._cached = count(reported, "cache_read_input_tokens") or self._cached
        self._written = _written(reported) or self._written
        self._output = count(reported, "output_tokens") or self._output
        self._reasoning = count(reported.get("output_tokens_details"), "thinking_tokens") or self._reasoning
        inputs = self._input + self._cached + self._written
        if not inputs and not self._output:
            return None
        return Usage(
            input_tokens=inputs,
            output_tokens=self._output,
            total_tokens=inputs + self._output,
            input_tokens_details=InputTokensDetails(cached_tokens=self._cached, cache_write_tokens=self._written),
            output_tokens_details=OutputTokensDetails(reasoning_tokens=min(self._reasoning, self._output)),
        )


def _written(reported: Json) -> int:
    """The tokens that were written to a cache: their sum, or those of five minutes and of one hour."""
    by_time = reported.get("cache_creation")
    parts = (count(by_time, f"ephemeral_{time}_input_tokens") for time in ("5m", "1h"))
    return count(reported, "cache_creation_input_tokens") or sum(parts)
