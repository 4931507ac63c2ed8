"""litellm's streams, read as plain chunk dicts. It does not import litellm: it knows its objects by their attributes.

litellm's own wrapper costs four to ten times as much per chunk, drops refusals and calls a cut stream finished. So we
read what lies below it, in the best of three ways that fits:

1. `lines`: an upstream that speaks chat completions. We parse the lines of the HTTP response ourselves. Besides being
   the fastest, this is the only way in which nothing a model wrote is lost: litellm 1.106 drops a chunk whose text
   contains `[DONE]`, and one whose text contains U+2028 (its lines are split there).
2. `parsed`: another wire format, for which litellm has a parser whose chunks we know. It gets its lines from us too.
3. `wrapped`: anything else. The wrapper, and its ways.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Final

Json = dict[str, Any]

_LONGEST_LINE: Final = 64 * 1024 * 1024
_MOST_OTHER_LINES: Final = 10_000
_OTHER_FIELDS: Final = (b":", b"event:", b"id:", b"retry:")
_SILENCE: Final = {"choices": [{"index": 0, "delta": {}}]}
_DELTA_FIELDS: Final = (
    "content",
    "refusal",
    "reasoning_content",
    "annotations",
    "thinking_blocks",
    "provider_specific_fields",
)
_PLAIN_CLASS: Final = "OpenAIChatCompletionStreamingHandler"
"""litellm's parser of chat completions. Classes made from it may read a dialect of their own."""
_KNOWN_PARSERS: Final = ("litellm.llms.anthropic.chat", "litellm.llms.vertex_ai.gemini.", "litellm.llms.openrouter.")


class NotAStreamError(Exception):
    """The upstream's answer cannot be read as a stream of chunks."""


async def chunks_of(wrapper: Any) -> AsyncGenerator[Json]:
    """Every chunk of this stream. It ends without a finish reason if the upstream did."""
    if wrapper.completion_stream is None and hasattr(wrapper, "fetch_stream"):
        await wrapper.fetch_stream()  # Gemini's request is made only now
    source = wrapper.completion_stream
    response = response_of(wrapper)
    kind = type(source)
    if response is not None and _is_plain(kind):
        reading = _lines(response)
    elif kind.__module__.startswith(_KNOWN_PARSERS) or any(base.__name__ == _PLAIN_CLASS for base in kind.__mro__):
        _clean(source, response)
        reading = _parsed(source)
    else:
        _clean(source, response)
        reading = _wrapped(wrapper)
    try:
        async for chunk in reading:
            yield chunk
    finally:
        await reading.aclose()


def response_of(wrapper: Any) -> Any | None:
    """The HTTP response below the stream: closing it is what stops the model."""
    source = wrapper.completion_stream
    frame = getattr(getattr(source, "streaming_response", None), "ag_frame", None)
    held = (
        getattr(source, "http_response", None),
        getattr(source, "response", None),
        # Anthropic's parser holds nothing but the generator of the lines, which holds the response
        frame.f_locals.get("self") if frame is not None else None,
    )
    return next((response for response in held if hasattr(response, "aiter_bytes")), None)


def _is_plain(kind: type) -> bool:
    if kind.__name__ == "AsyncStream":
        return kind.__module__.startswith("openai")
    return getattr(getattr(kind, "chunk_parser", None), "__qualname__", "") == f"{_PLAIN_CLASS}.chunk_parser"


# The lines of a response


async def _split(response: Any) -> AsyncGenerator[bytes]:
    """Lines end at LF and nowhere else: a model's text may hold any other kind of line break."""
    rest = bytearray()
    async for data in response.aiter_bytes():
        start = len(rest)
        rest += data
        if b"\n" not in data:
            if start > _LONGEST_LINE:
                raise NotAStreamError("a line of the stream is too long")
            continue
        *lines, tail = bytes(rest).split(b"\n")
        rest = bytearray(tail)
        for line in lines:
            yield line.rstrip(b"\r")
    if rest:
        yield bytes(rest)


async def _lines(response: Any) -> AsyncGenerator[Json]:
    rest: list[bytes] = []  # what stands outside of the stream's own lines: the body, if this is no stream
    found = False
    done = False
    async for line in _split(response):
        if done or not line:
            continue
        if not line.startswith(b"data:"):
            if not (found or line.startswith(_OTHER_FIELDS) or len(rest) == _MOST_OTHER_LINES):
                rest.append(line)
            continue
        data = line[5:].strip()
        if data == b"[DONE]":
            done = True  # and on to the end of the body, after which the connection can be used again
            continue
        if data:
            found = True
            yield _object(data)
    if rest and not found:
        yield _whole(b"\n".join(rest))


def _object(data: bytes) -> Json:
    try:
        told = json.loads(data)
    except ValueError as error:
        raise NotAStreamError("a chunk of the stream is not JSON") from error
    if not isinstance(told, dict):
        raise NotAStreamError("a chunk of the stream is not an object")
    return told


def _whole(body: bytes) -> Json:
    """An answer that was not streamed although we asked for it, as the one chunk it amounts to."""
    try:
        told = json.loads(body)
    except ValueError as error:
        raise NotAStreamError("the answer is neither a stream nor JSON") from error
    if isinstance(told, dict) and "error" in told:
        return told
    try:
        choice = told["choices"][0]
        delta = dict(choice["message"])
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise NotAStreamError("the answer is no chat completion") from error
    if delta.get("tool_calls"):
        delta["tool_calls"] = [{"index": seat, **call} for seat, call in enumerate(delta["tool_calls"])]
    chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": choice.get("finish_reason")}]}
    return chunk | ({"usage": told["usage"]} if told.get("usage") else {})


def _clean(source: Any, response: Any | None) -> None:
    """Give litellm's own parser our lines instead of its own."""
    if response is not None and hasattr(source, "streaming_response"):
        source.streaming_response = _texts(response)


async def _texts(response: Any) -> AsyncIterator[str]:
    async for line in _split(response):
        text = line.decode("utf-8", "replace")
        if "[DONE]" in text and text.removeprefix("data:").strip() != "[DONE]":
            text = text.replace("[DONE]", "[\\u0044ONE]")  # the same JSON, in which litellm sees no end
        yield text


# litellm's objects


async def _parsed(source: Any) -> AsyncGenerator[Json]:
    spoken = False
    async for chunk in source:
        if chunk is None or isinstance(chunk, dict):
            continue  # Gemini's parser waits for more; or a line held nothing, or is the end
        told = chunk_dict(chunk)
        if spoken and told == _SILENCE:
            continue
        spoken = True
        yield told


async def _wrapped(wrapper: Any) -> AsyncGenerator[Json]:
    async for chunk in wrapper:
        told = chunk_dict(chunk)
        finished = any(choice.get("finish_reason") for choice in told["choices"])
        if finished and getattr(wrapper, "received_finish_reason", "unknown") is None:
            return  # invented: the upstream gave no reason, so it was cut
        yield told


def chunk_dict(chunk: Any) -> Json:
    """One chunk object as the dict an OpenAI server would have sent, without the fields that are not there."""
    told: Json = {"choices": [_choice(choice) for choice in getattr(chunk, "choices", None) or ()]}
    usage = getattr(chunk, "usage", None)
    if usage is not None:
        told["usage"] = _usage(usage)
    return told


def _choice(choice: Any) -> Json:
    delta = choice.delta
    said = {}
    for name in _DELTA_FIELDS:
        if value := getattr(delta, name, None):
            said[name] = _plain(value)
    if calls := getattr(delta, "tool_calls", None):
        said["tool_calls"] = [_call(call) for call in calls]
    told: Json = {"index": getattr(choice, "index", 0) or 0, "delta": said}
    if reason := getattr(choice, "finish_reason", None):
        told["finish_reason"] = str(reason)
    if logprobs := getattr(choice, "logprobs", None):
        told["logprobs"] = _plain(logprobs)
    return told


def _call(call: Any) -> Json:
    function = call.function
    told: Json = {"function": {}}
    index = getattr(call, "index", None)
    if index is not None:
        told["index"] = index
    if call_id := getattr(call, "id", None):
        told["id"] = call_id
    if name := getattr(function, "name", None):
        told["function"]["name"] = name
    if arguments := getattr(function, "arguments", None):
        told["function"]["arguments"] = arguments
    if fields := getattr(call, "provider_specific_fields", None):
        told["provider_specific_fields"] = _plain(fields)
    return told


def _usage(usage: Any) -> Json:
    told: Json = {
        name: getattr(usage, name, None) or 0 for name in ("prompt_tokens", "completion_tokens", "total_tokens")
    }
    prompt = getattr(usage, "prompt_tokens_details", None)
    completion = getattr(usage, "completion_tokens_details", None)
    told["prompt_tokens_details"] = {
        "cached_tokens": _first(prompt, "cached_tokens") or _first(usage, "cache_read_input_tokens"),
        "cache_write_tokens": _first(prompt, "cache_write_tokens", "cache_creation_tokens")
        or _first(usage, "cache_creation_input_tokens"),
    }
    told["completion_tokens_details"] = {"reasoning_tokens": _first(completion, "reasoning_tokens")}
    return told


def _first(holder: Any, *names: str) -> int:
    return next((int(value) for name in names if (value := getattr(holder, name, None))), 0)


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(exclude_none=True)
    if isinstance(value, list):
        return [_plain(held) for held in value]
    return value
