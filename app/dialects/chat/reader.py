"""Chunks of a chat server -> deltas. A field of the wrong type is ignored; an error is reported.

field of a delta               server
reasoning_content              DeepSeek, and most others that split reasoning off
reasoning                      OpenRouter, Groq, Ollama, newer vLLM
reasoning_details              OpenRouter: also where it has the reasoning in no other field
content, as a list of parts    Mistral: `{"type": "thinking", "thinking": [parts]}` is reasoning
images                         OpenRouter, and litellm for Gemini; also as a part of the content
function_call                  old servers: `tool_calls` with one call only. Snowflake sends one without a call
message, in place of `delta`   servers that stream no deltas: the whole answer is one chunk
"""

from typing import Any, Literal

from ...emitter.deltas import (
    Broke,
    CallArguments,
    Delta,
    Deltas,
    ImageWritten,
    ProviderStateAdded,
    ReasoningDelta,
    RefusalDelta,
    Stopped,
    TextDelta,
    UsageReported,
)
from ...fetching.media_types import sniffed_base64
from ...types.json import Json, as_object, objects
from ...types.problems import Problem
from ..usage import UsageReader
from .calls import CallReader
from .citations import CHUNK_KEYS, Citations
from .state import reasoning_in_details, state_of_delta

_OPENING = "<think>"
_CLOSING = "</think>"
_MOST_HELD = 1_000
"""Characters of white space after which no tag is expected."""


class ThinkTags:
    """Separates reasoning from text while both arrive in pieces of any size."""

    def __init__(self) -> None:
        self._phase: Literal["start", "reasoning", "text"] = "start"
        self._held = ""
        self._logprobs: list[Json] = []
        """Those of the held text, while it may still be no reasoning."""

    def split(self, delta: TextDelta) -> Deltas:
        """The deltas that are certain so far; text that may be the beginning of a tag is held back."""
        if self._phase == "text":
            return [delta]
        self._held += delta.text
        if self._phase == "start":
            self._logprobs += delta.logprobs
            text = self._held.lstrip()
            if _OPENING.startswith(text) and text != _OPENING and len(self._held) < _MOST_HELD:
                return []  # white space, or half a tag
            if not text.startswith(_OPENING):
                return self.rest()
            self._phase, self._held = "reasoning", text.removeprefix(_OPENING)
        reasoning, closed, text = self._held.partition(_CLOSING)
        if closed:
            self._phase, self._held = "text", ""
            return [ReasoningDelta(reasoning), TextDelta(text, _last_logprobs(len(text), delta.logprobs))]
        size = next((n for n in range(len(_CLOSING) - 1, 0, -1) if reasoning.endswith(_CLOSING[:n])), 0)
        self._held = reasoning[len(reasoning) - size :]
        return [ReasoningDelta(reasoning[: len(reasoning) - size])]

    def rest(self) -> Deltas:
        """The text that is still held back, at the end of the stream."""
        held, self._held = self._held, ""
        if self._phase == "reasoning":
            return [ReasoningDelta(held)]
        self._phase = "text"
        return [TextDelta(held, self._logprobs)] if held else []


def _last_logprobs(characters: int, logprobs: list[Json]) -> list[Json]:
    """The log probabilities of the tokens at the end of a piece of text."""
    start = len(logprobs)
    while start and characters > 0:
        start -= 1
        characters -= len(logprobs[start]["token"])
    return logprobs[start:]


UNSTATED = "unstated"
"""The finish reason that `server` supplies where a server sent its whole answer without one."""
_STOPPED = {
    "length": Stopped("length"),
    "max_tokens": Stopped("length"),
    "model_length": Stopped("length"),
    "content_filter": Stopped("content_filter"),
    "safety": Stopped("content_filter"),
    "refusal": Stopped("content_filter"),
}
"""Any other reason is a regular end: `stop`, `tool_calls`, `function_call`, `eos`, `end_turn` …"""
_IMAGES_AND_CALLS = frozenset({"function_call", "images", "tool_calls"})
_COUNTS = frozenset({"usage", "timings", "x_groq"})
"""The keys of a chunk that may hold token counts."""
_END = Stopped("end")
_FAILURES = frozenset({"error", "abort", "insufficient_system_resource"})
"""Reasons that are failures: OpenRouter's when a model failed, vLLM's and DeepSeek's when they stopped within an
answer."""
_REPORTED = Problem("upstream_error", "The model's server reported an error while it answered.")
_MOST_ALTERNATIVES = 20
"""Alternative tokens at one position: as many as a client may ask for."""
_IMPOSSIBLE = 1e300


class ChunkReader:
    """Reads the chunks of one turn, and the provider state in them if `keeps_state`."""

    left_out = ()

    def __init__(self, *, think_tags: bool, logprobs: bool, keeps_state: bool) -> None:
        self._logprobs = logprobs
        """Whether the client asked for them: some upstreams always send them."""
        self._keeps_state = keeps_state
        self._has_plain_reasoning = False
        """Whether reasoning comes as plain text: that in `reasoning_details` is then a repetition."""
        self._tags = ThinkTags() if think_tags else None
        self._calls = CallReader(keeps_state=keeps_state)
        self._usage = UsageReader()
        self._citations = Citations()
        self.written = 0
        """Characters that the model has written: usage is estimated from it where the upstream reports none."""

    @property
    def citations_left_out(self) -> int:
        """Citations that cannot be sent."""
        return self._citations.left_out

    def read(self, chunk: Json) -> Deltas:
        """The deltas in one chunk."""
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        deltas: Deltas = []
        if isinstance(choice, dict):
            delta = choice.get("delta") or choice.get("message")
            if isinstance(delta, dict):
                deltas = self._delta(delta, choice.get("logprobs"))
                if self._citations.waiting or "annotations" in delta or not CHUNK_KEYS.isdisjoint(chunk):
                    deltas += self._citations.read(chunk, delta)
                if not _IMAGES_AND_CALLS.isdisjoint(delta):
                    deltas += self._images_and_calls(delta)
            reason = choice.get("finish_reason")
            if reason and isinstance(reason, str):
                deltas += self._stop(reason.lower())
        if _COUNTS.isdisjoint(chunk) and not (isinstance(choice, dict) and "usage" in choice):
            return deltas
        if (usage := self._usage.read(chunk)) is not None:
            deltas.append(UsageReported(usage))
        return deltas

    def rest(self) -> Deltas:
        """The deltas that were held back, at the end of the stream."""
        return [*(self._tags.rest() if self._tags else []), *self._citations.rest(), *self._calls.rest()]

    def _stop(self, reason: str) -> Deltas:
        if reason in _FAILURES:
            return [Broke(_REPORTED)]
        if reason == UNSTATED and not self._calls.are_complete:
            return []  # the answer was cut
        return [_STOPPED.get(reason, _END)]

    def _delta(self, delta: Json, logprobs: Any) -> Deltas:
        deltas: Deltas = []
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        if reasoning and isinstance(reasoning, str):
            self._has_plain_reasoning = True
            deltas.append(self._reasoning(reasoning))
        elif "reasoning_details" in delta and not self._has_plain_reasoning:
            deltas.append(self._reasoning(reasoning_in_details(delta)))
        if self._keeps_state and (state := state_of_delta(delta)):
            deltas.append(ProviderStateAdded(state))
        content = delta.get("content")
        if isinstance(content, str) and content:
            deltas += self._text(content, logprobs)
        elif isinstance(content, list):
            for part in objects(content):
                deltas += self._part(part, logprobs)
                logprobs = None  # those of all parts came with the first
        refusal = delta.get("refusal")
        if refusal and isinstance(refusal, str):
            self.written += len(refusal)
            deltas.append(RefusalDelta(refusal))
        return deltas

    def _images_and_calls(self, delta: Json) -> Deltas:
        deltas: Deltas = []
        for image in objects(delta.get("images")):
            deltas += self._image(image)
        for fragment in objects(delta.get("tool_calls")):
            deltas += self._call(fragment)
        legacy = delta.get("function_call")
        if isinstance(legacy, dict) and (legacy.get("name") or self._calls.any):
            deltas += self._call({"function": legacy})
        return deltas

    def _text(self, text: str, logprobs: Any) -> Deltas:
        self.written += len(text)
        self._citations.add_text(text)
        delta = TextDelta(text, _read_logprobs(logprobs) if logprobs and self._logprobs else [])
        return self._tags.split(delta) if self._tags else [delta]

    def _reasoning(self, text: str) -> Delta:
        self.written += len(text)
        return ReasoningDelta(text)

    def _part(self, part: Json, logprobs: Any) -> Deltas:
        """A part of a content list."""
        if isinstance(part.get("text"), str):
            return self._text(part["text"], logprobs)
        if part.get("type") == "image_url":
            return self._image(part)
        pieces = objects(part.get("thinking"))
        return [self._reasoning(piece["text"]) for piece in pieces if isinstance(piece.get("text"), str)]

    def _image(self, part: Json) -> Deltas:
        """An image. One that is given by URL becomes a Markdown link in the text, for the client to fetch."""
        image = part.get("image_url")
        url = image.get("url") if isinstance(image, dict) else image
        if not isinstance(url, str):
            return []
        if url.startswith(("https://", "http://")):
            return self._text(f"![image]({url})", None)
        head, comma, data = url.partition(",")
        if not comma or head[:5].lower() != "data:":
            return []
        kind = sniffed_base64(data) or head[5:].partition(";")[0].lower()
        return [ImageWritten(data, kind.removeprefix("image/") if "/" in kind else "")]

    def _call(self, fragment: Json) -> Deltas:
        deltas = self._calls.read(fragment)
        self.written += sum(len(delta.text) for delta in deltas if isinstance(delta, CallArguments))
        return deltas


def _read_logprobs(logprobs: Any) -> list[Json]:
    return [
        {
            **_logprob(entry),
            "top_logprobs": [_logprob(top) for top in _tokens(entry.get("top_logprobs"))][:_MOST_ALTERNATIVES],
        }
        for entry in _tokens(as_object(logprobs).get("content"))
    ]


def _tokens(entries: Any) -> list[Json]:
    """The entries that have a token."""
    return [entry for entry in objects(entries) if isinstance(entry.get("token"), str)]


def _logprob(entry: Json) -> Json:
    token, logprob, raw = entry["token"], entry.get("logprob"), entry.get("bytes")
    known = type(logprob) in (int, float) and abs(logprob) < _IMPOSSIBLE  # type: ignore[arg-type] # it is a number
    whole = isinstance(raw, list) and all(type(byte) is int for byte in raw)
    return {"token": token, "logprob": logprob if known else 0, "bytes": raw if whole else list(token.encode())}
