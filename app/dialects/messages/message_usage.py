"""Reads the token counts of the Messages API.

The beginning of a message counts what was read, the end what was written; a server may repeat counts that have grown.
Tokens that were read from a cache or written to one are counted beside the others of the input. The counts of the
messages of one answer are added up.
"""

from collections import Counter
from typing import Any, Final

from ...protocol.response import InputTokensDetails, OutputTokensDetails, Usage
from ..reported_numbers import cache_writes, count

Json = dict[str, Any]

_BY_TIME: Final = ("ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")


class MessageUsage:
    """Collects the token counts of one answer. Those of each message are the last ones that were not zero."""

    def __init__(self) -> None:
        self._before: Counter[str] = Counter()
        """The counts of the messages before this one."""
        self._now: Counter[str] = Counter()

    def begin_message(self) -> None:
        """Another message begins."""
        self._before += self._now
        self._now.clear()

    @property
    def searches(self) -> int:
        """How often the server searched the web."""
        return self._before["searches"] + self._now["searches"]

    def read(self, reported: Any) -> Usage | None:
        """The usage after this report; None if there were no tokens yet."""
        if not isinstance(reported, dict):
            return None
        counts = {
            "input": count(reported, "input_tokens"),
            "cached": count(reported, "cache_read_input_tokens"),
            "written": _written(reported),
            "five_minutes": count(reported.get("cache_creation"), _BY_TIME[0]),
            "one_hour": count(reported.get("cache_creation"), _BY_TIME[1]),
            "searches": count(reported.get("server_tool_use"), "web_search_requests"),
            "output": count(reported, "output_tokens"),
            "reasoning": count(reported.get("output_tokens_details"), "thinking_tokens"),
        }
        self._now.update({name: value - self._now[name] for name, value in counts.items() if value})
        total = self._before + self._now
        inputs = total["input"] + total["cached"] + total["written"]
        if not inputs and not total["output"]:
            return None
        return Usage(
            input_tokens=inputs,
            output_tokens=total["output"],
            total_tokens=inputs + total["output"],
            input_tokens_details=InputTokensDetails(
                cached_tokens=total["cached"],
                cache_write_tokens=total["written"],
                cache_write_tokens_details=cache_writes(total["five_minutes"], total["one_hour"]),
            ),
            output_tokens_details=OutputTokensDetails(reasoning_tokens=min(total["reasoning"], total["output"])),
        )


def _written(reported: Json) -> int:
    """The tokens that were written to a cache: their sum, or those of five minutes and of one hour."""
    parts = (count(reported.get("cache_creation"), name) for name in _BY_TIME)
    return count(reported, "cache_creation_input_tokens") or sum(parts)
