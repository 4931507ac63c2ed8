"""Raw chunk dict -> deltas. Kind to the wire: a field of the wrong type is as good as absent, an error is told."""

from typing import Any, Final

from app.dialects.chat.calls import CallReader
from app.dialects.chat.surrogates import Halves, mended, mended_all
from app.dialects.chat.think_tags import ThinkTags
from app.protocol.problems import Problem
from app.protocol.response import InputTokensDetails, OutputTokensDetails, Usage
from app.turn.deltas import (
    AnnotationAdded,
    Broke,
    CallArguments,
    Delta,
    ReasoningDelta,
    RefusalDelta,
    Stopped,
    TextDelta,
    UsageReported,
)

UNREADABLE: Final = Problem(code="upstream_error", message="The model's server sent something that is no chat chunk.")

STOPPED: Final = {
    "length": Stopped("length"),
    "max_tokens": Stopped("length"),
    "model_length": Stopped("length"),
    "content_filter": Stopped("content_filter"),
    "safety": Stopped("content_filter"),
    "refusal": Stopped("content_filter"),
}
"""Any other reason is a regular end: `stop`, `tool_calls`, `function_call`, `eos`, `end_turn` …"""

BEYOND_BELIEF: Final = 1e15
"""No number of tokens and no logarithm: NaN, infinity, and what clients cannot hold."""

BROKE_OFF: Final = {"error", "abort", "insufficient_system_resource"}
"""Reasons that are failures: OpenRouter's when the model behind it failed, those of vLLM and DeepSeek when they gave up
in the middle of an answer."""


class ChunkReader:
    """Reads the chunks of one turn."""

    def __init__(self, *, think_tags: bool = False) -> None:
        self._tags = ThinkTags() if think_tags else None
        self._text = Halves()
        self._thought = Halves()
        self._refusal = Halves()
        self._calls = CallReader()
        self.said = 0
        """How many characters the model has written: what usage is estimated from where the upstream counts nothing."""

    def read(self, chunk: Any) -> list[Delta]:
        """What one chunk says."""
        if not isinstance(chunk, dict):
            return [Broke(UNREADABLE)]
        if chunk.get("error"):
            return [Broke(_reported(chunk["error"]))]
        deltas: list[Delta] = []
        choices = chunk.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            deltas = self._choice(choices[0])
        usage = chunk.get("usage")
        if isinstance(usage, dict):
            deltas.append(UsageReported(_usage(usage)))
        return deltas

    def rest(self) -> list[Delta]:
        """What was held back when nothing more comes."""
        deltas: list[Delta] = []
        if thought := self._thought.rest():
            deltas.append(ReasoningDelta(thought))
        if self._tags:
            deltas += self._tags.rest()
        if text := self._text.rest():
            deltas.append(TextDelta(text))
        if refusal := self._refusal.rest():
            deltas.append(RefusalDelta(refusal))
        return deltas + self._calls.rest()

    def _choice(self, choice: dict[str, Any]) -> list[Delta]:
        delta = choice.get("delta") or choice.get("message")
        deltas = self._delta(delta, choice.get("logprobs")) if isinstance(delta, dict) else []
        reason = choice.get("finish_reason")
        if reason and isinstance(reason, str):
            broke = reason.lower() in BROKE_OFF
            deltas.append(Broke(_reported(None)) if broke else STOPPED.get(reason.lower(), Stopped("end")))
        return deltas

    def _delta(self, delta: dict[str, Any], logprobs: Any) -> list[Delta]:
        deltas: list[Delta] = []
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(thought, str) and thought:
            deltas.append(self._think(thought))
        content = delta.get("content")
        if isinstance(content, str) and content:
            deltas += self._say(content, logprobs)
        elif isinstance(content, list):
            for part in content:
                deltas += self._part(part)
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self.said += len(refusal)
            deltas.append(RefusalDelta(self._refusal.whole(refusal)))
        for annotation in _objects(delta.get("annotations")):
            deltas += _annotation(annotation)
        for fragment in _objects(delta.get("tool_calls")):
            deltas += self._call(fragment)
        if isinstance(delta.get("function_call"), dict):  # what tool_calls were called before they were many
            deltas += self._call({"function": delta["function_call"]})
        return deltas

    def _say(self, text: str, logprobs: Any) -> list[Delta]:
        self.said += len(text)
        said = TextDelta(self._text.whole(text), _logprobs(logprobs) if logprobs else [])
        return self._tags.split(said) if self._tags else [said]

    def _think(self, thought: str) -> Delta:
        self.said += len(thought)
        return ReasoningDelta(self._thought.whole(thought))

    def _part(self, part: Any) -> list[Delta]:
        """A part of a content list; Mistral puts thoughts there as `{"type": "thinking", "thinking": [parts]}`."""
        if not isinstance(part, dict):
            return []
        if isinstance(part.get("text"), str):
            return self._say(part["text"], None)
        return [
            self._think(thought["text"])
            for thought in _objects(part.get("thinking"))
            if isinstance(thought.get("text"), str)
        ]

    def _call(self, fragment: Any) -> list[Delta]:
        deltas = self._calls.read(fragment)
        self.said += sum(len(delta.text) for delta in deltas if isinstance(delta, CallArguments))
        return deltas


def _objects(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _annotation(annotation: dict[str, Any]) -> list[Delta]:
    """A citation of a web page: the only kind chat servers give. Chat nests what Responses keeps flat.

    Strict clients end the stream at one that lacks a field or is of a kind they do not know.
    """
    if annotation.get("type") != "url_citation":
        return []
    nested = annotation.get("url_citation")
    flat = mended_all(nested if isinstance(nested, dict) else annotation)
    if not isinstance(flat.get("url"), str):
        return []
    title = flat.get("title")
    spot = {key: _count(flat, key) for key in ("start_index", "end_index")}
    return [AnnotationAdded({**flat, "type": "url_citation", "title": title if isinstance(title, str) else "", **spot})]


def _logprobs(logprobs: Any) -> list[dict[str, Any]]:
    if not isinstance(logprobs, dict):
        return []
    return [
        {**_logprob(entry), "top_logprobs": [_logprob(top) for top in _objects(entry.get("top_logprobs"))]}
        for entry in _objects(logprobs.get("content"))
    ]


def _logprob(entry: dict[str, Any]) -> dict[str, Any]:
    token = mended(str(entry.get("token", "")))
    logprob: Any = entry.get("logprob")
    known = type(logprob) in (int, float) and abs(logprob) < BEYOND_BELIEF
    raw = entry.get("bytes")
    whole = isinstance(raw, list) and all(type(byte) is int for byte in raw)
    return {"token": token, "logprob": logprob if known else 0, "bytes": raw if whole else list(token.encode())}


def _usage(usage: dict[str, Any]) -> Usage:
    prompt = _count(usage, "prompt_tokens")
    completion = _count(usage, "completion_tokens")
    into = usage.get("prompt_tokens_details")
    out = usage.get("completion_tokens_details")
    return Usage(
        input_tokens=prompt,
        output_tokens=completion,
        total_tokens=_count(usage, "total_tokens") or prompt + completion,
        input_tokens_details=InputTokensDetails(
            cached_tokens=_count(into, "cached_tokens"), cache_write_tokens=_count(into, "cache_write_tokens")
        ),
        output_tokens_details=OutputTokensDetails(reasoning_tokens=_count(out, "reasoning_tokens")),
    )


def _count(counts: Any, name: str) -> int:
    value = counts.get(name) if isinstance(counts, dict) else None
    return int(value) if isinstance(value, int | float) and 0 < value < BEYOND_BELIEF else 0


def _reported(error: Any) -> Problem:
    """An error inside the stream. Its text stays out: it may hold what is not the client's to read."""
    fields = error if isinstance(error, dict) else {}
    match str(fields.get("code") or fields.get("type") or ""):
        case "rate_limit_exceeded" | "429" | "rate_limit_error":
            return Problem(
                code="rate_limit_exceeded",
                message="The model's server has too much to do. Please try again in 5s.",
                retry_after=5,
            )
        case "insufficient_quota":
            return Problem(code="insufficient_quota", message="The quota at the model's server is used up.")
        case "context_length_exceeded":
            return Problem(
                code="context_length_exceeded", message="The input is longer than the model's context window."
            )
        case "content_filter" | "content_policy_violation":
            return Problem(code="content_policy_violation", message="The model's server refused the content.")
        case _:
            return Problem(code="upstream_error", message="The model's server reported an error while it answered.")
