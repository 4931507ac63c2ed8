"""Summaries by an upstream that speaks Responses itself: in its own way where it has one, otherwise as any model's."""

from typing import Any, Final, NamedTuple

from app.compaction.summary_prompt import SUM_UP
from app.protocol.request.create_response import CreateResponse
from app.protocol.request.plain_messages import user_message

NOTES: Final[dict[str, Any]] = {"compaction": "asked for"}
"""For the log of such a turn."""


class OwnSummary(NamedTuple):
    """The address at which a server sums up in its own way, what a request may hold there, and what it answers."""

    path: str = "compact"
    members: tuple[str, ...] = (
        "model",
        "input",
        "instructions",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "service_tier",
    )
    object: str = "response.compaction"


OWN_SUMMARY: Final = OwnSummary()


def for_own_summary(request: CreateResponse) -> CreateResponse:
    """The request as it was posted to us: the trigger at its end is our own."""
    return request.model_copy(update={"raw": {**request.raw, "input": request.raw["input"][:-1]}})


def for_written_summary(request: CreateResponse) -> CreateResponse:
    """The request of a turn whose model is to write the summary."""
    members = (*OWN_SUMMARY.members, "tools", "reasoning")
    raw = {name: value for name, value in request.raw.items() if name in members}
    raw["input"] = [*request.raw["input"][:-1], user_message(SUM_UP)]
    raw |= {"store": False, "stream": True}
    if raw.get("tools"):
        raw["tool_choice"] = "none"
    return request.model_copy(update={"raw": raw})
