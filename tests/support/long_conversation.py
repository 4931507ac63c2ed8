"""A conversation to be summed up."""

from typing import Any

Json = dict[str, Any]


HISTORY: list[Json] = [
    {"type": "message", "role": "user", "content": "Remember the code word: slate."},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "OK."}]},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Well done."}]},
]


NEXT_MESSAGE: Json = {"role": "user", "content": "Go on."}
