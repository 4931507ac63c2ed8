"""The events of Cohere's own chat API, version 2, as chunks. Pure.

litellm (1.106) cannot read these streams: it takes the line that names an event for JSON. Of whole answers it loses
the text next to calls, the reasoning and the finish reason.

    event                              content
    content-start, content-delta       text or reasoning, of the content with this index
    tool-plan-delta                    reasoning before calls
    tool-call-start, tool-call-delta   a call, the name first
    citation-start                     a citation of the text so far, with its sources
    message-end                        the finish reason, and the usage
"""

import json
from collections.abc import AsyncGenerator, Iterator
from typing import Any, Final

from ..json_text import holds_more_values
from .chat_lines import TOO_LONG, NotAStreamError
from .sse_lines import LONGEST, MOST_VALUES, TOO_MANY_VALUES, SseLines, TooLongError

Json = dict[str, Any]

PARSER: Final = "CohereV2ModelResponseIterator"
"""litellm's class that would read the stream."""

_REASONS: Final = {
    "complete": "stop",
    "stop_sequence": "stop",
    "tool_call": "tool_calls",
    "max_tokens": "length",
    "error_limit": "length",
    "error_toxic": "content_filter",
}
_FAILED: Final = frozenset({"error", "timeout", "user_cancel"})


async def chunks(response: Any) -> AsyncGenerator[Json]:
    """The chunks of this HTTP response: a stream of events, lines of JSON, or one whole answer."""
    lines = _CohereLines()
    async for data in response.aiter_bytes():
        for event in lines.read(data):
            for chunk in _chunks(event):
                yield chunk
    for chunk in _chunks(lines.end()):
        yield chunk


class _CohereLines:
    """Splits the bytes of an answer into events."""

    def __init__(self) -> None:
        self._lines = SseLines(LONGEST)
        self._other = bytearray()
        """Bytes before the first event: the body, if this is not a stream."""
        self._begun = False

    def read(self, data: bytes) -> list[Json]:
        """The events that end in this piece."""
        try:
            lines = self._lines.feed(data)
        except TooLongError:
            raise NotAStreamError(TOO_LONG) from None
        events = []
        for line in lines:
            if (event := _event(line)) is not None:
                self._begun = True
                events.append(event)
            else:
                self._other_line(line)
        return events

    def end(self) -> Json:
        """The last event, or the whole answer if it was not streamed."""
        rest = self._lines.rest()
        if (event := _event(rest)) is not None:
            return event
        self._other_line(rest)
        if self._begun or not self._other:
            return {}
        if (whole := _event(bytes(self._other))) is None:
            raise NotAStreamError("the answer is neither a stream nor JSON")
        return whole

    def _other_line(self, line: bytes) -> None:
        if line and not self._begun and not line.startswith((b":", b"event:", b"id:", b"retry:", b"data:")):
            self._other += line
            self._other += b"\n"
            if len(self._other) > LONGEST:
                raise NotAStreamError(TOO_LONG)


def _event(line: bytes) -> Json | None:
    text = line[5:] if line.startswith(b"data:") else line
    if not text.lstrip().startswith(b"{"):
        return None
    if len(text) > MOST_VALUES and holds_more_values(text, MOST_VALUES):
        raise NotAStreamError(TOO_MANY_VALUES)
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def _chunks(event: Json) -> Iterator[Json]:
    delta = _object(event, "delta")
    message = _object(delta, "message")
    match event.get("type"):
        case "content-start" | "content-delta":
            yield from _content_chunk(_content(_object(message, "content")))
        case "tool-plan-delta":
            yield from _content_chunk({"reasoning_content": message.get("tool_plan")})
        case "tool-call-start" | "tool-call-delta":
            call = _object(message, "tool_calls")
            yield from _content_chunk({"tool_calls": [{**call, "index": event.get("index", 0)}]} if call else {})
        case "citation-start":
            yield from _content_chunk({"annotations": _citations(_object(message, "citations"))})
        case "message-end":
            yield from _end(delta)
        case None if isinstance(event.get("message"), str):
            yield {"error": event}
        case None if event.get("finish_reason"):
            yield from _whole(event)
        case _:
            pass


def _whole(answer: Json) -> Iterator[Json]:
    """The chunks of an answer that was not streamed although that was requested."""
    message = _object(answer, "message")
    yield from _content_chunk({"reasoning_content": message.get("tool_plan")})
    for content in _objects(message.get("content")):
        yield from _content_chunk(_content(content))
    for citation in _objects(message.get("citations")):
        yield from _content_chunk({"annotations": _citations(citation)})
    for index, call in enumerate(_objects(message.get("tool_calls"))):
        yield from _content_chunk({"tool_calls": [{**call, "index": index}]})
    yield from _end(answer)


def _end(delta: Json) -> Iterator[Json]:
    counted = _object(delta, "usage")
    tokens = _object(counted, "tokens")
    if tokens:
        usage = {"prompt_tokens": tokens.get("input_tokens"), "completion_tokens": tokens.get("output_tokens")}
        yield {"choices": [], "usage": usage | {"cached_tokens": counted.get("cached_tokens")}}
    reason = str(delta.get("finish_reason") or "").lower()
    if reason in _FAILED:
        yield {"error": {"message": delta.get("error") or reason, "code": 408 if reason == "timeout" else 500}}
    elif reason:
        yield {"choices": [{"index": 0, "delta": {}, "finish_reason": _REASONS.get(reason, reason)}]}


def _content(content: Json) -> Json:
    return {"reasoning_content": content.get("thinking"), "content": content.get("text")}


def _citations(citation: Json) -> list[Json]:
    """One for each source. Documents of the request often have no address: these are counted as left out."""
    annotations = []
    for source in _objects(citation.get("sources")):
        held = _object(source, "document") or _object(source, "tool_output")
        span = {"start_index": citation.get("start"), "end_index": citation.get("end")}
        page = {"url": held.get("url"), "title": held.get("title")} | span
        annotations.append({"type": "url_citation", "url_citation": page})
    return annotations


def _content_chunk(delta: Json) -> list[Json]:
    """A chunk with the fields of this delta that are not empty; no chunk if all are."""
    fields = {key: value for key, value in delta.items() if value}
    return [{"choices": [{"index": 0, "delta": fields}]}] if fields else []


def _object(holder: Json, name: str) -> Json:
    held = holder.get(name)
    return held if isinstance(held, dict) else {}


def _objects(value: Any) -> list[Json]:
    return [held for held in value if isinstance(held, dict)] if isinstance(value, list) else []
