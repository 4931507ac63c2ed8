"""What was found out by hand about findings: their cause, if it is the server behind a bridge, and what clients did."""

from collections.abc import Mapping
from typing import Final

NOTES: Final[Mapping[tuple[str, str], str]] = {
    ("own-responses", "cut-item"): (
        "the scripted server plays vLLM, which has ended the item when it says that the answer was cut"
    ),
    ("llama-cpp", "event-fields"): (
        "`@ai-sdk/openai` showed the text all the same, and lost a call; `@ai-sdk/open-responses` read both"
    ),
    ("transformers", "index-order"): "`openai` for Python read this stream, because the call has no deltas",
    ("litellm-proxy", "not-offered"): "the proxy has `/responses/compact`: it asks vLLM for it, which has none",
    ("llm-rosetta", "error-strings"): (
        "the bodies are vLLM's: it was sent an empty conversation, and a call of the type `custom`"
    ),
    ("llm-rosetta", "answered"): (
        "vLLM refused the second request, in which the call came back: chat completions of vLLM know no custom calls"
    ),
    ("opencodex", "answered"): "the summary is in a message, in the words with which Codex itself continues from one",
    ("opencodex", "not-offered"): "according to its source, the id is empty on purpose over a websocket",
}
"""By server and rule: a sentence without its period."""
