"""What upstreams say of the tokens they used, in all the spellings there are.

    who                           how
    OpenAI, and most others       prompt_tokens, completion_tokens, total_tokens, …_details
    xAI                           the same, but what the model thought is in the total only
    Gemini's chat endpoint        as xAI, and the number of thoughts is not told by itself
    DeepSeek                      prompt_cache_hit_tokens
    Moonshot, some of vLLM        cached_tokens, num_cached_tokens; usage inside of the choice
    Claude, raw                   input_tokens, which leaves out cache_read_input_tokens and cache_creation_input_tokens
    Claude behind litellm         prompt_tokens, which holds them
    Perplexity                    reasoning_tokens beside the others
    Groq                          usage inside of `x_groq`
    llama.cpp                     timings: prompt_n without what was cached, cache_n, predicted_n
    Mistral's Voxtral             sound in the prompt is in the total and in prompt_tokens_details.audio_tokens only

A report without any count of tokens read or written (zeros, nulls) is no report: the turn is then estimated.

Counts grow while an answer is written, and a later report may leave out what an earlier one said: of each count the
last one that is not zero holds.
"""

from typing import Any, Final

from app.protocol.response import InputTokensDetails, OutputTokensDetails, Usage

BEYOND_BELIEF: Final = 1e15
"""No number of tokens: NaN, infinity, and what clients cannot hold."""

_INPUT_DETAILS: Final = ("prompt_tokens_details", "input_tokens_details")
_OUTPUT_DETAILS: Final = ("completion_tokens_details", "output_tokens_details")
_CACHED: Final = (
    "cached_tokens",
    "prompt_cache_hit_tokens",
    "num_cached_tokens",
    "cache_read_input_tokens",
    "cache_read_tokens",
)
_WRITTEN: Final = (
    "cache_write_tokens",
    "cache_creation_tokens",
    "cache_creation_input_tokens",
    "cache_write_input_tokens",
)
_REASONING: Final = ("reasoning_tokens", "thinking_tokens")


class UsageReader:
    """The counts of one turn, as far as they have been told."""

    def __init__(self) -> None:
        self._input = 0
        self._output = 0
        self._cached = 0
        self._written = 0
        self._reasoning = 0
        self._audio = 0

    def read(self, chunk: dict[str, Any]) -> Usage | None:
        """What is known once this chunk has been read; None if it says nothing about tokens."""
        told = _told(chunk)
        timings = chunk.get("timings")
        if told is None and not isinstance(timings, dict):
            return None
        total = 0
        if told is not None:
            total = count(told, "total_tokens")
            self._take(told)
        if isinstance(timings, dict):
            self._cached = count(timings, "cache_n") or self._cached
            if told is None:
                self._input = count(timings, "prompt_n") + self._cached or self._input
                self._output = count(timings, "predicted_n") or self._output
        return self._usage(total) if self._input or self._output else None

    def _take(self, told: dict[str, Any]) -> None:
        into, out = _details(told, _INPUT_DETAILS), _details(told, _OUTPUT_DETAILS)
        self._audio = count(into, "audio_tokens") or self._audio
        self._cached = _first(into, _CACHED) or _first(told, _CACHED) or self._cached
        self._written = _first(into, _WRITTEN) or _first(told, _WRITTEN) or self._written
        self._reasoning = _first(out, _REASONING) or _first(told, _REASONING) or self._reasoning
        raw = count(told, "input_tokens")
        if raw and not into:  # Claude's own words: what came from the cache or went there is counted beside it
            raw += count(told, "cache_read_input_tokens") + count(told, "cache_creation_input_tokens")
        self._input = count(told, "prompt_tokens") or raw or self._input
        self._output = count(told, "completion_tokens") or count(told, "output_tokens") or self._output

    def _usage(self, total: int) -> Usage:
        """The total is always the sum: what an upstream counts there alone is put where it belongs."""
        read, wrote, thought = self._input, self._output, self._reasoning
        beyond = total - read - wrote if read and wrote else 0
        if self._audio and beyond >= self._audio and (self._audio > read or beyond == self._audio):
            read, beyond = read + self._audio, beyond - self._audio  # sound that the count of the prompt leaves out
        if beyond > 0 and thought in (0, beyond):
            wrote, thought = wrote + beyond, beyond
        elif beyond > 0:  # what tools of the upstream's own read on the way
            read += beyond
        return Usage(
            input_tokens=read,
            output_tokens=wrote,
            total_tokens=read + wrote,
            input_tokens_details=InputTokensDetails(cached_tokens=self._cached, cache_write_tokens=self._written),
            output_tokens_details=OutputTokensDetails(reasoning_tokens=thought),
        )


def _told(chunk: dict[str, Any]) -> dict[str, Any] | None:
    usage = chunk.get("usage")
    if usage is None and "x_groq" in chunk:
        usage = chunk["x_groq"].get("usage") if isinstance(chunk["x_groq"], dict) else None
    if usage is None:
        choices = chunk.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            usage = choices[0].get("usage")
    return usage if isinstance(usage, dict) else None


def _details(told: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return next((held for name in names if isinstance(held := told.get(name), dict)), {})


def _first(counts: dict[str, Any], names: tuple[str, ...]) -> int:
    return next((found for name in names if (found := count(counts, name))), 0)


def count(counts: Any, name: str) -> int:
    """A whole number from 0 on, whatever stands there."""
    value = counts.get(name) if isinstance(counts, dict) else None
    return int(value) if isinstance(value, int | float) and 0 < value < BEYOND_BELIEF else 0
