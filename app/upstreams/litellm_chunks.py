"""litellm's streams, read as plain chunk dicts. Does not import litellm: it knows the objects by their attributes.

litellm's own wrapper costs four to ten times as much per chunk, drops refusals and calls a cut stream finished. So we
read what lies below it, in the best of five ways that fits:

1. `lines`: an upstream that speaks chat completions, in whatever dialect of them our reader knows. We parse the lines
   of the HTTP response ourselves. Besides being the fastest, this is the only way in which nothing a model wrote is
   lost: litellm 1.106 drops a chunk whose text contains `[DONE]`, and one whose text contains U+2028 (its lines are
   split there).
2. `parsed`: another wire format, for which litellm has a parser whose chunks we know. It gets its lines from us too.
3. `cohere`: Cohere's events, which litellm's parser cannot read at all.
4. `whole`: an answer that litellm did not ask to be streamed. We read it as it came, because the way in which
   litellm splits it loses the reasoning.
5. `wrapped`: anything else, through litellm's own wrapper, with its losses.
"""

import contextlib
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from itertools import count
from typing import Any, Final

from ..providers.lookup import PROVIDERS
from ..providers.provider import Parser
from . import litellm_cohere
from .chat_lines import NO_STREAM, ChatLines, NotAStreamError
from .litellm_objects import chunk_dict, usage_dict
from .sse_lines import SseLines

Json = dict[str, Any]

_EMPTY_CHUNK: Final = {"choices": [{"index": 0, "delta": {}}]}
_BLOCK_BEGINS: Final = {"choices": [{"index": 0, "delta": {"provider_specific_fields": {"block": "begins"}}}]}
"""Sent between the blocks of Claude's answer: its citations are about the block that contains them."""
_PLAIN_CLASS: Final = "OpenAIChatCompletionStreamingHandler"
"""litellm's parser of chat completions. Its subclasses may read a dialect of their own."""
_WHOLE_CLASS: Final = "MockResponseIterator"
"""litellm's stream of one answer that it did not ask to be streamed."""
_STREAM_LINES: Final = ("data:", "event:", "id:", "retry:", ":", "{", "}", "[", "]", ",", '"', "\t", " ")

_REPLACED_PARSERS: Final = frozenset(name for provider in PROVIDERS for name in provider.litellm.chat_parsers)
"""Parsers of dialects that our own reader of chunks knows, with less loss: errors keep their type next to other keys,
and a whole answer where a stream was asked for is read."""
_MIXED: Final = frozenset(name for provider in PROVIDERS for name in provider.litellm.mixed_parsers)
_KNOWN_PARSERS: Final = frozenset(each.litellm.parser for each in PROVIDERS if each.litellm.parser is not None)
_ANY_PARSER: Final = Parser(module="")
"""A parser of which nothing is known."""


class PlainAnswer:
    """An answer of chat completions that was asked for without litellm's wrapper around it."""

    def __init__(self, response: Any, handler: Any) -> None:
        self.response = response
        self._handler = handler  # litellm closes a connection when nobody holds its owner


async def chunks_of(wrapper: Any) -> AsyncGenerator[Json]:
    """Every chunk of this stream, without a finish reason if the upstream sent none."""
    if isinstance(wrapper, PlainAnswer):
        async with contextlib.aclosing(lines_of(wrapper.response.stream)) as chunks:
            async for chunk in chunks:
                yield chunk
        return
    if wrapper.completion_stream is None and hasattr(wrapper, "fetch_stream"):
        await wrapper.fetch_stream()  # Gemini's request is made only now
    source = wrapper.completion_stream
    response = response_of(wrapper)
    kind = type(source)
    if response is not None and (_is_plain(kind) or _speaks_chat(kind, response)):
        reading = lines_of(response.aiter_bytes())
    elif response is not None and kind.__name__ == litellm_cohere.PARSER:
        reading = litellm_cohere.chunks(response)
    elif (parser := _parser_of(kind)) is not None:
        reading = _parsed(source, parser, _replace_lines(source, response, parser))
    elif kind.__name__ == _WHOLE_CLASS:
        reading = _whole(source.model_response)
    else:
        _replace_lines(source, response, _ANY_PARSER)
        reading = _wrapped(wrapper)
    try:
        async for chunk in reading:
            yield chunk
    finally:
        await reading.aclose()


def reads_plain_lines(wrapper: Any) -> bool:
    """Whether this stream is one of chat completions, of which we read the lines ourselves."""
    return response_of(wrapper) is not None and _is_plain(type(wrapper.completion_stream))


def response_of(wrapper: Any) -> Any | None:
    """The HTTP response below the stream: closing it is what stops the model."""
    source = wrapper.completion_stream
    frame = getattr(getattr(source, "streaming_response", None), "ag_frame", None)
    held = (
        getattr(source, "http_response", None),
        getattr(source, "response", None),
        # Anthropic's parser only has the generator of the lines, which has the response
        frame.f_locals.get("self") if frame is not None else None,
    )
    return next((response for response in held if hasattr(response, "aiter_bytes")), None)


async def close(stream: Any) -> None:
    """Close the response as well as the wrapper: not every parser of litellm closes the response that it reads."""
    if isinstance(stream, PlainAnswer):
        response, wrapper = stream.response, None
    else:
        response, wrapper = response_of(stream) if stream.completion_stream is not None else None, stream
    for closing in (getattr(response, "aclose", None), getattr(wrapper, "aclose", None)):
        if closing is not None:
            with contextlib.suppress(Exception):  # it may be closed already
                await closing()


def _is_plain(kind: type) -> bool:
    if kind.__name__ == "AsyncStream":
        return kind.__module__.startswith("openai")
    if kind.__name__ in _REPLACED_PARSERS:
        return True
    return getattr(getattr(kind, "chunk_parser", None), "__qualname__", "") == f"{_PLAIN_CLASS}.chunk_parser"


def _speaks_chat(kind: type, response: Any) -> bool:
    """Whether this parser of two formats has chat completions before it."""
    address = str(getattr(response, "url", ""))
    return kind.__name__ in _MIXED and address.endswith("/chat/completions")


def _parser_of(kind: type) -> Parser | None:
    """Litellm's parser of this class, if its chunks are known."""
    for parser in _KNOWN_PARSERS:
        if kind.__module__.startswith(parser.module):
            return parser
    return _ANY_PARSER if any(base.__name__ == _PLAIN_CLASS for base in kind.__mro__) else None


# The lines of a response


async def lines_of(pieces: AsyncIterable[bytes]) -> AsyncGenerator[Json]:
    """The chunks in this body, which is one of chat completions."""
    lines = ChatLines()
    async for data in pieces:
        for chunk in lines.read(data):
            yield chunk
    for chunk in lines.end():  # read on after `[DONE]`: only at the end of the body can the connection be used again
        yield chunk


def _replace_lines(source: Any, response: Any | None, parser: Parser) -> list[str]:
    """Give litellm's own parser our lines instead of its own. The list gathers those that the parser notes."""
    noted: list[str] = []
    if response is not None and hasattr(source, "streaming_response"):
        source.streaming_response = _texts(response, parser, noted)
    return noted


def _is_of_a_stream(line: str) -> bool:
    """Whether this line can be part of a stream: of events, or of one JSON value per line."""
    return not line or line.startswith(_STREAM_LINES)


async def _split(response: Any) -> AsyncIterator[bytes]:
    """The lines as the standard defines them: a model's text may contain any other kind of line break."""
    lines = SseLines()
    async for data in response.aiter_bytes():
        for line in lines.feed(data):
            yield line
    if rest := lines.rest():
        yield rest


async def _texts(response: Any, parser: Parser, noted: list[str]) -> AsyncIterator[str]:
    first = True
    async for line in _split(response):
        text = line.decode("utf-8", "replace")
        if parser.correct_line is not None:
            text = parser.correct_line(text)
        if first and not _is_of_a_stream(text):  # litellm would skip it, and report an empty answer
            raise NotAStreamError(NO_STREAM)
        first = first and not text
        if parser.noted and parser.noted in text:
            noted.append(text)
        if "[DONE]" in text:
            if text.removeprefix("data:").strip() == "[DONE]":
                continue  # litellm would report a finished stream, even without a finish reason
            text = text.replace("[DONE]", "[\\u0044ONE]")  # the same JSON, which litellm does not take for the end
        yield text


# litellm's objects


async def _parsed(source: Any, parser: Parser, noted: list[str]) -> AsyncGenerator[Json]:
    started = False
    numbers = count()
    async for chunk in source:
        if reasoning := getattr(source, "reasoning_content_chunks", None):
            reasoning.clear()  # Claude's parser would guess from them how many tokens were reasoning
        if chunk is None or isinstance(chunk, dict):
            continue  # Gemini's parser needs more lines; or a line was empty, or is the end
        data = chunk_dict(chunk)
        failed = _corrected(data, parser, noted, numbers)
        if failed is not None:
            if started or data["choices"] != _EMPTY_CHUNK["choices"]:
                yield data
            yield failed
            return
        if started and data == _EMPTY_CHUNK:
            if getattr(source, "content_blocks", None) == []:  # Claude's parser has just begun another block
                yield _BLOCK_BEGINS
            continue
        started = True
        yield data


def _corrected(data: Json, parser: Parser, noted: list[str], numbers: "count[int]") -> Json | None:
    """Correct what this parser gets wrong. Returns an error to send instead, if the chunk means one."""
    failed = None
    for choice in data["choices"]:
        if parser.correct_choice is not None and "finish_reason" in choice:
            failed = parser.correct_choice(choice, noted)
        for call in choice["delta"].get("tool_calls", ()) if parser.numbers_calls else ():
            call["index"] = next(numbers)  # all have the same index, and not all an id: they would be read as one call
    return failed


async def _whole(answer: Any) -> AsyncGenerator[Json]:
    """An answer that litellm did not ask to be streamed."""
    yield chunk_dict(answer)


async def _wrapped(wrapper: Any) -> AsyncGenerator[Json]:
    async for chunk in wrapper:
        data = chunk_dict(chunk)
        finished = any(choice.get("finish_reason") for choice in data["choices"])
        if finished and getattr(wrapper, "received_finish_reason", "unknown") is None:
            return  # invented by litellm: the upstream gave no reason, so the answer was cut off
        data.pop("usage", None)  # litellm's own guess, wholly or in part
        yield data
    # the counts of the upstream itself
    counted = [held.usage for held in wrapper.chunks if getattr(held, "usage", None) is not None]
    if counted:
        yield {"choices": [], "usage": usage_dict(counted[-1])}
