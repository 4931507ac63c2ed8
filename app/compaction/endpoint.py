"""`POST /v1/responses/compact`: the request for a summary alone, and the answer, from which the client continues.

An upstream with the Responses API may have such an endpoint itself. Without one, its model is asked for a summary as
any model is.
"""

from typing import Any, Final, NamedTuple

import msgspec

from ..parsing.bounds import BOUNDS, Bounds
from ..parsing.request_body import parse_object
from ..protocol.events import LastEvent, RelayedLast
from ..protocol.ids import NewId
from ..protocol.problems import refuse
from ..protocol.request.create_response import CreateResponse
from ..protocol.request.plain_messages import as_items, role_of, user_message
from ..protocol.request.summaries import SUMMARY_TYPES, SummaryTrigger
from ..protocol.response import Response

Json = dict[str, Any]

KEPT: Final = 256_000
"""Characters of a user's messages that a client gets to keep: about 64,000 tokens."""
NOTES: Final[Json] = {"compaction": "asked for"}
"""The fields of such a turn's log line."""
NO_SUMMARY_WANTED: Final = "This request asks for a summary, and for no answer: a summary is an answer."


class OwnSummary(NamedTuple):
    """The endpoint of an upstream that writes summaries itself: its path, the members of a request, and its answer."""

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
_SUMMARY_MEMBERS: Final = frozenset({*OWN_SUMMARY.members, "tools", "reasoning"})
"""The members of a request for a summary alone that its model gets."""


def for_own_summary(request: CreateResponse) -> CreateResponse:
    """The request as it was posted, without the trigger that was added at its end."""
    return request.model_copy(update={"raw": {**request.raw, "input": request.raw["input"][:-1]}})


def for_written_summary(request: CreateResponse) -> CreateResponse:
    """The request of a turn whose model is to write the summary, with a body for another Responses server."""
    raw = {name: value for name, value in request.raw.items() if name in _SUMMARY_MEMBERS}
    return request.model_copy(update={"raw": raw}) if request.summary_only else request


def parse_summary_request(raw: dict[str, Any], bounds: Bounds = BOUNDS, size: int = 0) -> CreateResponse:
    """Parses a body of `POST /v1/responses/compact` into the request of a turn that only writes a summary."""
    if raw.get("generate") is False or _prewarms(raw.get("prompt_cache_options")):
        raise refuse("invalid_value", NO_SUMMARY_WANTED, "generate" if "generate" in raw else "prompt_cache_options")
    items = as_items(raw.get("input"))
    if isinstance(items, list):
        raw = {**raw, "input": [*items, {"type": SummaryTrigger().type}]}
    request = parse_object({**raw, "stream": False}, bounds._replace(max_items=bounds.max_items + 1), size)
    return request.model_copy(update={"summary_only": True})


def _prewarms(options: Any) -> bool:
    return isinstance(options, dict) and options.get("prewarm") is True


def kept_messages(request: CreateResponse, new_id: NewId) -> list[Json]:
    """The newest messages of the user as they were posted, for the client to keep in addition to a summary."""
    items = request.raw["input"]
    room = KEPT
    kept: list[Json] = []
    for item in reversed(items):
        if item.get("type") in SUMMARY_TYPES:
            break  # what is before it is covered by the summary, or is kept already
        if role_of(item) != "user":
            continue
        room -= len(msgspec.json.encode(item))
        if room < 0:
            break
        content = item["content"]
        parts = [{"type": "input_text", "text": content}] if isinstance(content, str) else content
        kept.append({"id": item.get("id") or new_id("msg"), **user_message(parts), "status": "completed"})
    return kept[::-1]


def summary_body(last: LastEvent | RelayedLast, kept: list[Json]) -> bytes:
    """The answer as JSON: what the client keeps of the conversation, and the summary."""
    if isinstance(last, RelayedLast):
        return last.body
    response: Response = last.response
    return msgspec.json.encode(
        {
            "id": response.id,
            "object": OWN_SUMMARY.object,
            "created_at": response.created_at,
            "output": [*kept, *response.output],
            "usage": response.usage,
        }
    )
