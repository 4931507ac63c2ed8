"""Token counts of model servers, by all their names.

    server                        fields
    OpenAI, and most others       prompt_tokens, completion_tokens, total_tokens, …_details
    xAI                           the same, but reasoning tokens are in the total only
    Gemini's chat endpoint        as xAI, and reasoning tokens have no count of their own
    DeepSeek                      prompt_cache_hit_tokens
    Moonshot, some of vLLM        cached_tokens, num_cached_tokens; usage inside the choice
    Claude's own API              input_tokens, without cache_read_input_tokens and cache_creation_input_tokens
    Claude behind litellm         prompt_tokens, which includes them
    Perplexity                    reasoning_tokens next to the other counts
    Groq                          usage inside `x_groq`
    llama.cpp                     timings: prompt_n without cached tokens, cache_n, predicted_n
    Mistral's Voxtral             audio in the prompt is only in the total and in prompt_tokens_details.audio_tokens

Counts grow while an answer is written, and a later report may leave out counts of an earlier one. So each count is the
last one that was not zero. What is no count (text, fractions, nulls) is ignored.
"""

from msgspec import UNSET, UnsetType

from ..types.json import Json, as_object, length, objects
from ..types.response import CacheWriteDetails, InputTokensDetails, OutputTokensDetails, Usage

_MOST = 1 << 53
"""A larger number is no count of tokens, and JavaScript could not read it."""


def count(counts: Json, name: str) -> int:
    """The value of a field as a whole number; 0 if it is missing, no number or negative."""
    number = counts.get(name)
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    return number if type(number) is int and 0 < number < _MOST else 0


def cache_writes(short: int, long: int) -> CacheWriteDetails | UnsetType:
    """The tokens that a cache keeps for a short and for a long time."""
    return CacheWriteDetails(ttl_30m_tokens=short, ttl_12h_tokens=long) if short or long else UNSET


def tokens_in(body: Json, read: tuple[str, ...]) -> int:
    """Estimated tokens of these fields: four characters each."""
    return length(*[body[name] for name in read if name in body]) // 4 + 1


_INPUT_DETAILS = ("prompt_tokens_details", "input_tokens_details")
_OUTPUT_DETAILS = ("completion_tokens_details", "output_tokens_details")
_CACHED = (
    "cached_tokens", "prompt_cache_hit_tokens", "num_cached_tokens", "cache_read_input_tokens", "cache_read_tokens",
)  # fmt: skip
_WRITTEN = (
    "cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens", "cache_write_input_tokens",
)  # fmt: skip
_WRITTEN_BY_TIME = ("cache_write_tokens_details", "cache_creation_token_details", "cache_creation")
"""Objects that tell apart how long tokens stay in a cache: OpenAI's, litellm's and Claude's own."""
_SHORT = ("ttl_30m_tokens", "ephemeral_5m_input_tokens")
_LONG = ("ttl_12h_tokens", "ephemeral_1h_input_tokens")
_REASONING = ("reasoning_tokens", "thinking_tokens")


class UsageReader:
    """Collects the token counts of one turn."""

    def __init__(self) -> None:
        self._input = self._output = self._cached = self._written = self._reasoning = self._audio = 0
        self._written_short = self._written_long = 0

    def read(self, chunk: Json) -> Usage | None:
        """The usage after this chunk; None if the chunk reports no tokens."""
        reported, timings = _usage_in(chunk), chunk.get("timings")
        if reported is None and not isinstance(timings, dict):
            return None
        if reported is not None:
            self._update(reported)
        if isinstance(timings, dict):  # llama.cpp
            self._cached = count(timings, "cache_n") or self._cached
            if reported is None:
                self._input = count(timings, "prompt_n") + self._cached or self._input
                self._output = count(timings, "predicted_n") or self._output
        return self._usage(count(reported or {}, "total_tokens")) if self._input or self._output else None

    def _update(self, reported: Json) -> None:
        into, out = _details(reported, _INPUT_DETAILS), _details(reported, _OUTPUT_DETAILS)
        self._audio = count(into, "audio_tokens") or self._audio
        self._cached = _first(_CACHED, into, reported) or self._cached
        self._written = _first(_WRITTEN, into, reported) or self._written
        self._reasoning = _first(_REASONING, out, reported) or self._reasoning
        by_time = _details(into, _WRITTEN_BY_TIME) or _details(reported, _WRITTEN_BY_TIME)
        self._written_short = _first(_SHORT, by_time) or self._written_short
        self._written_long = _first(_LONG, by_time) or self._written_long
        uncached = count(reported, "input_tokens")
        if uncached and not into:
            # Claude's own API counts the tokens read from or written to the cache separately
            uncached += count(reported, "cache_read_input_tokens") + count(reported, "cache_creation_input_tokens")
        self._input = count(reported, "prompt_tokens") or uncached or self._input
        self._output = count(reported, "completion_tokens") or count(reported, "output_tokens") or self._output

    def _usage(self, total: int) -> Usage:
        """The usage; its total is always the sum. Tokens that are in the reported total only become input or output."""
        # a Claude that found its whole prompt in the cache counts no other input
        into, out, reasoning = max(self._input, self._cached + self._written), self._output, self._reasoning
        extra = total - into - out if into and out else 0
        if self._audio and extra >= self._audio and (self._audio > into or extra == self._audio):
            into += self._audio  # audio that the count of the prompt leaves out
            extra -= self._audio
        if extra > 0 and reasoning in (0, extra):
            out += extra
            reasoning = extra
        elif extra > 0:  # read by the upstream's own tools
            into += extra
        return Usage(
            input_tokens=into,
            output_tokens=out,
            total_tokens=into + out,
            input_tokens_details=InputTokensDetails(
                cached_tokens=self._cached,
                cache_write_tokens=self._written,
                cache_write_tokens_details=cache_writes(self._written_short, self._written_long),
            ),
            output_tokens_details=OutputTokensDetails(reasoning_tokens=reasoning),
        )


def _usage_in(chunk: Json) -> Json | None:
    """The usage object, wherever the chunk has it: Groq's in `x_groq`, Moonshot's in the choice."""
    for holder in (chunk, as_object(chunk.get("x_groq")), *objects(chunk.get("choices"))[:1]):
        if isinstance(usage := holder.get("usage"), dict):
            return usage
    return None


def _details(reported: Json, names: tuple[str, ...]) -> Json:
    for name in names:
        if isinstance(details := reported.get(name), dict):
            return details
    return {}


def _first(names: tuple[str, ...], *holders: Json) -> int:
    """The first of these counts in the first of these objects that has one."""
    for counts in holders:
        for name in names:
            if name in counts and (number := count(counts, name)):
                return number
    return 0
