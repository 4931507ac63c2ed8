"""Raw chunk dict -> deltas. Kind to the wire: a field of the wrong type is as good as absent, an error is told."""

from typing import Any, Final

import msgspec

from app.dialects.chat.calls import CallReader
from app.dialects.chat.citations import BESIDE, Citations, objects
from app.dialects.chat.provider_state import state_of_delta, thought_in_details
from app.dialects.chat.surrogates import Halves, mended, mended_all
from app.dialects.chat.think_tags import ThinkTags
from app.dialects.chat.usage import BEYOND_BELIEF, UsageReader
from app.emitter.deltas import (
    Broke,
    CallArguments,
    Delta,
    ImageWritten,
    ProviderStateAdded,
    ReasoningDelta,
    RefusalTextDelta,
    Stopped,
    TextDelta,
    UsageReported,
)
from app.fetching.media_types import sniffed_base64
from app.fetching.url_policy import is_data_uri
from app.protocol.problems import Problem

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
"""What our upstreams give as the reason where a server named none, but was through with its answer."""

REPORTED: Final = Problem(code="upstream_error", message="The model's server reported an error while it answered.")

LOGPROB: Final = 128
"""Bytes for which one log probability counts."""
MOST_ALTERNATIVES: Final = 20
"""Log probabilities of one place, as many as a client may ask for."""

ONLY_SOUND: Final = Problem(
    code="unsupported_value",
    message="The model answered in sound without any words, which this server cannot tell. Ask one that writes.",
)

BROKE_OFF: Final = {"error", "abort", "insufficient_system_resource"}
"""Reasons that are failures: OpenRouter's when the model behind it failed, those of vLLM and DeepSeek when they gave up
in the middle of an answer."""


class ChunkReader:
    """Reads the chunks of one turn. `keeps` what the upstream wants back, for a client that carries it."""

    def __init__(self, *, think_tags: bool = False, logprobs: bool = True, keeps: bool = False) -> None:
        self._logprobs = logprobs
        """Whether the client wants them: some upstreams send them unasked."""
        self._keeps = keeps
        self._tags = ThinkTags() if think_tags else None
        self._text = Halves()
        self._thought = Halves()
        self._refusal = Halves()
        self._calls = CallReader(keeps=keeps)
        self._usage = UsageReader()
        self.citations = Citations()
        self.said = 0
        """How many characters the model has written: what usage is estimated from where the upstream counts nothing."""
        self._plain_thoughts = False
        """Whether thoughts come as plain text: what `reasoning_details` say is then a repetition."""
        self._beside = 0
        """What the answer holds beside that, in bytes."""
        self._sound = False
        self._transcript = False

    @property
    def held(self) -> int:
        """How much of the answer there is, in bytes, or nearly so."""
        return self.said + self._beside

    @property
    def wordless_sound(self) -> bool:
        """Whether the model made sound of which no words came, so that it cannot be told."""
        return self._sound and not self._transcript

    def read(self, chunk: Any) -> list[Delta]:
        """What one chunk says."""
        if not isinstance(chunk, dict):
            return [Broke(UNREADABLE)]
        if chunk.get("error"):
            return [Broke(REPORTED)]  # upstreams say what an error means before it comes here
        deltas: list[Delta] = []
        choices = chunk.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            deltas = self._choice(choices[0], chunk)
        if (usage := self._usage.read(chunk)) is not None:
            deltas.append(UsageReported(usage))
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
            deltas.append(RefusalTextDelta(refusal))
        deltas += self.citations.rest() + self._calls.rest()
        return [Broke(ONLY_SOUND)] if self.wordless_sound and not self.said else deltas

    def _choice(self, choice: dict[str, Any], chunk: dict[str, Any]) -> list[Delta]:
        delta = choice.get("delta") or choice.get("message")
        if not isinstance(delta, dict):
            delta = {}
        deltas = self._delta(delta, choice.get("logprobs") if self._logprobs else None)
        is_text = len(delta) == 1 and "content" in delta  # as most are: nothing else is looked for then
        if not is_text or self.citations.waiting or BESIDE[0] in chunk or BESIDE[1] in chunk:
            deltas += self.citations.read(chunk, delta)
        if not is_text:
            deltas += self._made(delta)
        reason = choice.get("finish_reason")
        if reason and isinstance(reason, str):
            deltas += self._stop(reason.lower())
        return deltas

    def _stop(self, reason: str) -> list[Delta]:
        if reason in BROKE_OFF:
            return [Broke(REPORTED)]
        if reason == UNSTATED and not self._calls.whole:
            return []  # it was cut after all
        return [STOPPED.get(reason, Stopped("end"))]

    def _made(self, delta: dict[str, Any]) -> list[Delta]:
        """Images and calls."""
        deltas: list[Delta] = []
        for image in objects(delta.get("images")):
            deltas += self._image(image)
        for fragment in objects(delta.get("tool_calls")):
            deltas += self._call(fragment)
        legacy = delta.get("function_call")  # what tool_calls were called before they were many
        if isinstance(legacy, dict) and (legacy.get("name") or self._calls.begun):  # Snowflake sends one without a call
            deltas += self._call({"function": legacy})
        return deltas

    def _delta(self, delta: dict[str, Any], logprobs: Any) -> list[Delta]:
        deltas: list[Delta] = []
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(thought, str) and thought:
            self._plain_thoughts = True
            deltas.append(self._think(thought))
        elif "reasoning_details" in delta and not self._plain_thoughts and (thought := thought_in_details(delta)):
            deltas.append(self._think(thought))
        if self._keeps and (kept := state_of_delta(delta)):
            self._beside += len(msgspec.json.encode(whole := mended_all(kept)))
            deltas.append(ProviderStateAdded(whole))
        content = delta.get("content")
        if isinstance(content, str) and content:
            deltas += self._say(content, logprobs)
        elif isinstance(content, list):
            for part in content:
                deltas += self._part(part, logprobs)
                logprobs = None  # those of all parts came with the first
        if isinstance(spoken := delta.get("audio"), dict):
            deltas += self._hear(spoken)
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self.said += len(refusal)
            deltas.append(RefusalTextDelta(self._refusal.whole(refusal)))
        return deltas

    def _say(self, text: str, logprobs: Any) -> list[Delta]:
        self.said += len(text)
        self.citations.wrote(text)
        said = TextDelta(self._text.whole(text), _logprobs(logprobs) if logprobs else [])
        for entry in said.logprobs:
            self._beside += LOGPROB * (1 + len(entry["top_logprobs"]))
        return self._tags.split(said) if self._tags else [said]

    def _hear(self, spoken: dict[str, Any]) -> list[Delta]:
        """Sound, of which its words are told."""
        words = spoken.get("transcript")
        self._sound = self._sound or bool(spoken.get("data"))
        if not isinstance(words, str) or not words:
            return []
        self._transcript = True
        return self._say(words, None)

    def _think(self, thought: str) -> Delta:
        self.said += len(thought)
        return ReasoningDelta(self._thought.whole(thought))

    def _part(self, part: Any, logprobs: Any) -> list[Delta]:
        """A part of a content list; Mistral puts thoughts there as `{"type": "thinking", "thinking": [parts]}`."""
        if not isinstance(part, dict):
            return []
        if isinstance(part.get("text"), str):
            return self._say(part["text"], logprobs)
        if part.get("type") == "image_url":
            return self._image(part)
        return [
            self._think(thought["text"])
            for thought in objects(part.get("thinking"))
            if isinstance(thought.get("text"), str)
        ]

    def _image(self, part: dict[str, Any]) -> list[Delta]:
        """An image. One that lies elsewhere is shown by its address: it is the client's to fetch."""
        image = part.get("image_url")
        url = image.get("url") if isinstance(image, dict) else image
        if not isinstance(url, str) or not url:
            return []
        if not is_data_uri(url):
            return self._say(f"![image]({mended(url)})", None) if url.startswith(("https://", "http://")) else []
        data = url.partition(",")[2]
        self._beside += len(data)
        kind = sniffed_base64(data) or url[5:].partition(";")[0].lower()
        return [
            *self.citations.settle(),
            ImageWritten(mended(data), kind.removeprefix("image/") if "/" in kind else ""),
        ]

    def _call(self, fragment: Any) -> list[Delta]:
        deltas = self.citations.settle() + self._calls.read(fragment)
        self.said += sum(len(delta.text) for delta in deltas if isinstance(delta, CallArguments))
        return deltas


def _logprobs(logprobs: Any) -> list[dict[str, Any]]:
    if not isinstance(logprobs, dict):
        return []
    return [
        {**_logprob(entry), "top_logprobs": [_logprob(top) for top in _tokens(entry.get("top_logprobs"))]}
        for entry in _tokens(logprobs.get("content"), most=None)
    ]


def _tokens(entries: Any, *, most: int | None = MOST_ALTERNATIVES) -> list[dict[str, Any]]:
    """The entries that are about a token."""
    return [entry for entry in objects(entries) if isinstance(entry.get("token"), str)][:most]


def _logprob(entry: dict[str, Any]) -> dict[str, Any]:
    token = mended(str(entry.get("token", "")))
    logprob: Any = entry.get("logprob")
    known = type(logprob) in (int, float) and abs(logprob) < BEYOND_BELIEF
    raw = entry.get("bytes")
    whole = isinstance(raw, list) and all(type(byte) is int for byte in raw)
    return {"token": token, "logprob": logprob if known else 0, "bytes": raw if whole else list(token.encode())}
