"""A conversation to be summed up, and the requests for it."""

from typing import Any, Final

import httpx

Json = dict[str, Any]
HISTORY: list[Json] = [
    {"type": "message", "role": "user", "content": "Remember the code word: slate."},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "OK."}]},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Well done."}]},
]
NEXT_MESSAGE: Json = {"role": "user", "content": "Go on."}
TRIGGER: Json = {"type": "compaction_trigger"}
SUMMARY_WANTED: Final = "replaced by a summary"
"""Words of the message that asks a model for a summary."""
SUMMARY_FOLLOWS: Final = "replaced by this summary"
"""Words before a summary in the message that the next model reads."""


def compact(url: str, **fields: Any) -> httpx.Response:
    """One conversation, summed up."""
    return httpx.post(f"{url}/v1/responses/compact", json={"model": "demo", "input": HISTORY, **fields}, timeout=30)


def went_on(url: str, output: list[Json], model: str = "demo") -> httpx.Response:
    """A turn that goes on from there."""
    return httpx.post(f"{url}/v1/responses", json={"model": model, "input": [*output, NEXT_MESSAGE]}, timeout=30)
