"""Converts the chunks of a chat server to deltas. A field of the wrong type is ignored; an error is reported."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from ...emitter.deltas import (
    Broke,
    CallArguments,
    CallOpened,
    Delta,
    ImageWritten,
    ProviderStateAdded,
    ReasoningDelta,
    RefusalTextDelta,
    Stopped,
    TextDelta,
    UsageReported,
)
from ...fetching.media_types import sniffed_base64
from ...fetching.url_policy import is_data_uri
from ...protocol.problems import Problem
from ...protocol.warnings import ClientWarning
from ..reported_numbers import IMPOSSIBLE_NUMBER
from ..surrogates import SurrogateJoiner, mended, mended_all
from ..wire import LeftOut
from .calls import CallReader
from .citations import CHUNK_KEYS, Citations, objects
from .provider_state import reasoning_in_details, state_of_delta
from .think_tags import ThinkTags
from .usage import UsageReader

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

UNSTATED: Final = "unstated"
"""The reason that our upstreams supply where a server gave none, but sent its whole answer."""

REPORTED: Final = Problem(code="upstream_error", message="The model's server reported an error while it answered.")

LOGPROB: Final = 128
"""Bytes that one log probability counts as."""
MOST_ALTERNATIVES: Final = 20
"""Alternative tokens at one position: as many as a client may ask for."""

ONLY_AUDIO: Final = Problem(
    code="unsupported_value",
    message="The model answered with audio without a transcript. This server returns text: use a model that writes.",
)

SOUND_LEFT_OUT: Final = LeftOut(
    "sound_left_out",
    True,  # noqa: FBT003 — the note's value
    ClientWarning("output", "sound", "Sound that the model made was left out: no words came with it."),
)

_OTHER_KEYS: Final = frozenset({*CHUNK_KEYS, "timings", "x_groq"})
"""The keys of a chunk, other than `choices` and `usage`, that are read."""
FAILURES: Final = {"error", "abort", "insufficient_system_resource"}
"""Reasons that are failures. OpenRouter sends them when a model failed, vLLM and DeepSeek when they stopped within an
answer."""


class ChunkReader:
    """Reads the chunks of one turn, and the provider state in them if `keeps_state`."""

    def __init__(self, *, think_tags: bool = False, logprobs: bool = True, keeps_state: bool = False) -> None:
        self._logprobs = logprobs
        """Whether the client asked for them: some upstreams always send them."""
        self._keeps_state = keeps_state
        self._tags = ThinkTags() if think_tags else None
        self._text = SurrogateJoiner()
        self._reasoning = SurrogateJoiner()
        self._refusal = SurrogateJoiner()
        self._calls = CallReader(keeps_state=keeps_state)
        self._usage = UsageReader()
        self._citations = Citations()
        self.written = 0
        """Characters that the model has written. Usage is estimated from it where the upstream reports none."""
        self._has_plain_reasoning = False
        """Whether reasoning comes as plain text: that in `reasoning_details` is then a repetition."""
        self._other_bytes = 0
        """Bytes of the answer in addition to these characters."""
        self._has_audio = False
        self._has_transcript = False

    @property
    def size(self) -> int:
        """Approximate bytes of the answer so far."""
        return self.written + self._other_bytes + self._citations.size

    @property
    def citations_left_out(self) -> int:
        """Citations that cannot be sent."""
        return self._citations.left_out

    @property
    def left_out(self) -> Sequence[LeftOut]:
        """Sound without a transcript, which cannot be returned."""
        return (SOUND_LEFT_OUT,) if self._lacks_transcript else ()

    @property
    def _lacks_transcript(self) -> bool:
        return self._has_audio and not self._has_transcript

    def read(self, chunk: Any) -> list[Delta]:
        """The deltas in one chunk."""
        if not isinstance(chunk, dict):
            return [Broke(UNREADABLE)]
        if chunk.get("error"):
            return [Broke(REPORTED)]  # our upstreams have interpreted the error before
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        try:
            if not isinstance(choice, dict):
                choice = None
            elif (text := _only_text(chunk, choice)) and not self._citations.waiting:
                return self._add_text(text, choice.get("logprobs") if self._logprobs else None)
            deltas = [] if choice is None else self._choice(choice, chunk)
            usage = self._usage.read(chunk)
            return deltas if usage is None else [*deltas, UsageReported(usage, self._usage.searches)]
        except RecursionError:  # objects within objects, hundreds of levels deep
            return [Broke(UNREADABLE)]

    def rest(self) -> list[Delta]:
        """The deltas that were held back, at the end of the stream."""
        deltas: list[Delta] = []
        if reasoning := self._reasoning.rest():
            deltas.append(ReasoningDelta(reasoning))
        if self._tags:
            deltas += self._tags.rest()
        if text := self._text.rest():
            deltas.append(TextDelta(text))
        if refusal := self._refusal.rest():
            deltas.append(RefusalTextDelta(refusal))
        deltas += self._citations.rest() + self._calls.rest()
        return [Broke(ONLY_AUDIO)] if self._lacks_transcript and not self.written else deltas

    def _choice(self, choice: dict[str, Any], chunk: dict[str, Any]) -> list[Delta]:
        delta = choice.get("delta") or choice.get("message")
        if not isinstance(delta, dict):
            delta = {}
        deltas = self._delta(delta, choice.get("logprobs") if self._logprobs else None)
        is_text = len(delta) == 1 and "content" in delta  # as most are: nothing else needs to be read then
        if not is_text or self._citations.waiting or CHUNK_KEYS[0] in chunk or CHUNK_KEYS[1] in chunk:
            deltas += self._citations.read(chunk, delta)
        if not is_text:
            deltas += self._images_and_calls(delta)
        reason = choice.get("finish_reason")
        if reason and isinstance(reason, str):
            deltas += self._stop(reason.lower())
        return deltas

    def _stop(self, reason: str) -> list[Delta]:
        if reason in FAILURES:
            return [Broke(REPORTED)]
        if reason == UNSTATED and not self._calls.are_complete:
            return []  # the answer was cut
        return [STOPPED.get(reason, Stopped("end"))]

    def _images_and_calls(self, delta: dict[str, Any]) -> list[Delta]:
        deltas: list[Delta] = []
        for image in objects(delta.get("images")):
            deltas += self._image(image)
        for fragment in objects(delta.get("tool_calls")):
            deltas += self._call(fragment)
        legacy = delta.get("function_call")  # the older name of `tool_calls`, which can hold one call only
        if isinstance(legacy, dict) and (legacy.get("name") or self._calls.any):  # Snowflake sends one without a call
            deltas += self._call({"function": legacy})
        return deltas

    def _delta(self, delta: dict[str, Any], logprobs: Any) -> list[Delta]:
        deltas: list[Delta] = []
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(reasoning, str) and reasoning:
            self._has_plain_reasoning = True
            deltas.append(self._add_reasoning(reasoning))
        elif (
            "reasoning_details" in delta
            and not self._has_plain_reasoning
            and (reasoning := reasoning_in_details(delta))
        ):
            deltas.append(self._add_reasoning(reasoning))
        if self._keeps_state and (state := state_of_delta(delta)):
            self._other_bytes += len(msgspec.json.encode(mended_state := mended_all(state)))
            deltas.append(ProviderStateAdded(mended_state))
        content = delta.get("content")
        if isinstance(content, str) and content:
            deltas += self._add_text(content, logprobs)
        elif isinstance(content, list):
            for part in content:
                deltas += self._part(part, logprobs)
                logprobs = None  # those of all parts came with the first
        if isinstance(audio := delta.get("audio"), dict):
            deltas += self._add_transcript(audio)
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self.written += len(refusal)
            deltas.append(RefusalTextDelta(self._refusal.add(refusal)))
        return deltas

    def _add_text(self, text: str, logprobs: Any) -> list[Delta]:
        self.written += len(text)
        self._citations.add_text(text)
        delta = TextDelta(self._text.add(text), _logprobs(logprobs) if logprobs else [])
        for entry in delta.logprobs:
            self._other_bytes += LOGPROB * (1 + len(entry["top_logprobs"]))
        return self._tags.split(delta) if self._tags else [delta]

    def _add_transcript(self, audio: dict[str, Any]) -> list[Delta]:
        """Audio, of which only the transcript is returned, as text."""
        transcript = audio.get("transcript")
        self._has_audio = self._has_audio or bool(audio.get("data"))
        if not isinstance(transcript, str) or not transcript:
            return []
        self._has_transcript = True
        return self._add_text(transcript, None)

    def _add_reasoning(self, text: str) -> Delta:
        self.written += len(text)
        return ReasoningDelta(self._reasoning.add(text))

    def _part(self, part: Any, logprobs: Any) -> list[Delta]:
        """A part of a content list; Mistral sends reasoning there as `{"type": "thinking", "thinking": [parts]}`."""
        if not isinstance(part, dict):
            return []
        if isinstance(part.get("text"), str):
            return self._add_text(part["text"], logprobs)
        if part.get("type") == "image_url":
            return self._image(part)
        return [
            self._add_reasoning(piece["text"])
            for piece in objects(part.get("thinking"))
            if isinstance(piece.get("text"), str)
        ]

    def _image(self, part: dict[str, Any]) -> list[Delta]:
        """An image. One that is given by URL becomes a Markdown link in the text, for the client to fetch."""
        image = part.get("image_url")
        url = image.get("url") if isinstance(image, dict) else image
        if not isinstance(url, str) or not url:
            return []
        if not is_data_uri(url):
            return self._add_text(f"![image]({mended(url)})", None) if url.startswith(("https://", "http://")) else []
        data = url.partition(",")[2]
        self._other_bytes += len(data)
        kind = sniffed_base64(data) or url[5:].partition(";")[0].lower()
        return [
            *self._citations.end_block(),
            ImageWritten(mended(data), kind.removeprefix("image/") if "/" in kind else ""),
        ]

    def _call(self, fragment: Any) -> list[Delta]:
        deltas = self._citations.end_block() + self._calls.read(fragment)
        self.written += sum(len(delta.text) for delta in deltas if isinstance(delta, CallArguments))
        opened = [delta for delta in deltas if isinstance(delta, CallOpened)]
        self._other_bytes += sum(len(delta.name) + len(delta.call_id) for delta in opened)
        return deltas


def _only_text(chunk: dict[str, Any], choice: dict[str, Any]) -> str | None:
    """The text of a chunk in which nothing else is to be read, as in nearly all; None for any other."""
    delta = choice.get("delta")
    if type(delta) is not dict or len(delta) != 1 or choice.get("finish_reason") or chunk.get("usage") is not None:
        return None
    text = delta.get("content")
    return text if type(text) is str and "usage" not in choice and _OTHER_KEYS.isdisjoint(chunk) else None


def _logprobs(logprobs: Any) -> list[dict[str, Any]]:
    if not isinstance(logprobs, dict):
        return []
    return [
        {**_logprob(entry), "top_logprobs": [_logprob(top) for top in _tokens(entry.get("top_logprobs"))]}
        for entry in _tokens(logprobs.get("content"), most=None)
    ]


def _tokens(entries: Any, *, most: int | None = MOST_ALTERNATIVES) -> list[dict[str, Any]]:
    """The entries that have a token."""
    return [entry for entry in objects(entries) if isinstance(entry.get("token"), str)][:most]


def _logprob(entry: dict[str, Any]) -> dict[str, Any]:
    token = mended(str(entry.get("token", "")))
    logprob: Any = entry.get("logprob")
    known = type(logprob) in (int, float) and abs(logprob) < IMPOSSIBLE_NUMBER
    raw = entry.get("bytes")
    whole = isinstance(raw, list) and all(type(byte) is int for byte in raw)
    return {"token": token, "logprob": logprob if known else 0, "bytes": raw if whole else list(token.encode())}
