"""Reads what a model said: from a model server that is asked by hand, and from this server."""

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import httpx

from tests.servers.tiny_model import SPECIAL
from tests.wire.event_stream import events_of, judged
from tests.wire.foreign_judges import judge_response

Json = dict[str, Any]

ENDINGS: Final = {
    "stop": "stop",
    "tool_calls": "stop",
    "end_turn": "stop",
    "tool_use": "stop",
    "completed": "stop",
    "length": "limit",
    "max_tokens": "limit",
    "max_output_tokens": "limit",
    "incomplete": "limit",
}


class Said(NamedTuple):
    """An answer."""

    text: str
    thought: str
    calls: list[tuple[str, str]]
    """Names and arguments."""
    ended: str
    """`stop` or `limit`."""
    usage: tuple[int, int]
    """Tokens in and out."""
    logprobs: list[tuple[str, float]]
    """Each token of the text."""


class RefusedError(Exception):
    """Not an answer: the status and the body of a refusal."""

    def __init__(self, status: int, body: str) -> None:
        self.status = status
        self.body = body
        super().__init__(f"{status}: {body[:300]}")


def posted(client: httpx.Client, url: str, body: Json) -> httpx.Response:
    """The answer to a request, which is no refusal."""
    result = client.post(url, json=body)
    if result.status_code != httpx.codes.OK:
        raise RefusedError(result.status_code, result.text)
    return result


def _payloads(stream: str) -> list[Json]:
    lines = (line.removeprefix("data:").strip() for line in stream.split("\n") if line.startswith("data:"))
    return [json.loads(line) for line in lines if line != "[DONE]"]


def of_chat(client: httpx.Client, url: str, body: Json) -> Said:
    """What a chat server streams."""
    stream = {"stream": True, "stream_options": {"include_usage": True}}
    text = thought = finish = ""
    calls: defaultdict[int, list[str]] = defaultdict(lambda: ["", ""])
    logprobs: list[tuple[str, float]] = []
    usage: Json = {}
    for chunk in _payloads(posted(client, f"{url}/v1/chat/completions", body | stream).text):
        usage = chunk.get("usage") or usage
        if "error" in chunk:
            raise RefusedError(200, json.dumps(chunk))
        for choice in chunk.get("choices", []):
            delta = choice["delta"]
            text += delta.get("content") or ""
            thought += delta.get("reasoning_content") or delta.get("reasoning") or ""
            for call in delta.get("tool_calls") or []:
                calls[call["index"]][0] += call["function"].get("name") or ""
                calls[call["index"]][1] += call["function"].get("arguments") or ""
            if delta.get("content"):
                logprobs += _logprobs(((choice.get("logprobs") or {}).get("content")) or [])
            finish = choice.get("finish_reason") or finish
    made = [(name, arguments) for _, (name, arguments) in sorted(calls.items())]
    return Said(text, thought, made, ENDINGS[finish], (usage["prompt_tokens"], usage["completion_tokens"]), logprobs)


def of_messages(client: httpx.Client, url: str, body: Json) -> Said:
    """What a server of the Messages API streams."""
    text = thought = stop = ""
    calls: dict[int, list[str]] = {}
    usage: Json = {}
    for event in _payloads(posted(client, f"{url}/v1/messages", body | {"stream": True}).text):
        usage |= event.get("usage") or event.get("message", {}).get("usage") or {}
        if event["type"] == "error":
            raise RefusedError(200, json.dumps(event))
        delta = event.get("delta", {})
        text += delta.get("text", "")
        thought += delta.get("thinking", "")
        stop = delta.get("stop_reason") or stop
        block = event.get("content_block", {})
        if block.get("type") == "tool_use":
            calls[event["index"]] = [block["name"], ""]
        if "partial_json" in delta:
            calls[event["index"]][1] += delta["partial_json"]
    read = usage["input_tokens"] + (usage.get("cache_read_input_tokens") or 0)
    made = [(name, arguments) for name, arguments in calls.values()]
    return Said(text, thought, made, ENDINGS[stop], (read, usage["output_tokens"]), [])


def of_responses(client: httpx.Client, url: str, body: Json) -> Said:
    """What a model server says by its own Responses API, which need not follow each rule of it."""
    events = _payloads(posted(client, f"{url}/v1/responses", body | {"stream": True}).text)
    last = events[-1]
    if "response" not in last:
        raise RefusedError(200, json.dumps(last))
    return of_response(last["response"])


def of_response(response: Json) -> Said:
    """The content of a response."""
    text = thought = ""
    calls, logprobs = [], []
    for item in response["output"]:
        parts = [*(item.get("summary") or []), *(item.get("content") or [])]
        if item["type"] == "reasoning":
            thought += "".join(part["text"] for part in parts)
        elif item["type"] == "message":
            text += "".join(part["text"] for part in parts)
            logprobs += _logprobs([entry for part in parts for entry in part.get("logprobs") or []])
        else:
            calls.append((item["name"], item["arguments"] if item["type"] == "function_call" else item["input"]))
    usage = response["usage"]
    return Said(
        text, thought, calls, ENDINGS[response["status"]], (usage["input_tokens"], usage["output_tokens"]), logprobs
    )


def _logprobs(entries: Iterable[Json]) -> list[tuple[str, float]]:
    """Of the tokens of a text: some servers also tell those around it, depending on how they cut the stream."""
    told = (entry for entry in entries if entry["token"] not in SPECIAL)
    return [(entry["token"], round(entry["logprob"], 3) + 0.0) for entry in told]


def streamed(client: httpx.Client, url: str, body: Json) -> Said:
    """What this server streams, judged by all judges."""
    stream = posted(client, f"{url}/v1/responses", body | {"stream": True}).content
    return _of_last(judged(events_of(stream)).response)


def relayed(client: httpx.Client, url: str, body: Json) -> Said:
    """What it streams where the events are those of the model server."""
    events = events_of(posted(client, f"{url}/v1/responses", body | {"stream": True}).content)
    result = _of_last(events[-1]["response"])
    pieces = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
    assert pieces == result.text, f"the pieces are {pieces!r}"
    return result


def whole(client: httpx.Client, url: str, body: Json) -> Said:
    """What this server says at once, judged by all judges."""
    response = posted(client, f"{url}/v1/responses", body).json()
    judge_response(response)
    return _of_last(response)


def relayed_whole(client: httpx.Client, url: str, body: Json) -> Said:
    """What it says at once where the response is that of the model server."""
    return _of_last(posted(client, f"{url}/v1/responses", body).json())


def _of_last(response: Json) -> Said:
    if response["status"] == "failed":
        raise RefusedError(200, json.dumps(response["error"]))
    return of_response(response)


def differences(own: Said, other: Said, names: Sequence[str] = Said._fields) -> list[str]:
    """What of an answer is not what the server itself said."""
    return [
        f"{name}: {getattr(own, name)!r:.200}, but the server said {getattr(other, name)!r:.200}"
        for name in names
        if getattr(own, name) != getattr(other, name)
    ]
