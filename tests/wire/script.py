"""What a chat server sends, written so that it reads aloud: `[thinks("hm"), says("Hi"), stops(), counts(7, 5)]`.

Every builder makes one chunk, as a plain dict of the public chat-completions format; `text_turn` and `turn` make lists.
"""

from typing import Any

Chunk = dict[str, Any]


def chunk(*choices: dict[str, Any], **fields: Any) -> Chunk:
    """A chunk around any choices."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "demo",
        "choices": list(choices),
        **fields,
    }


def delta(*, finish: str | None = None, logprobs: Any = None, **fields: Any) -> Chunk:
    """A chunk with any delta."""
    choice: dict[str, Any] = {"index": 0, "delta": fields, "finish_reason": finish}
    if logprobs is not None:
        choice["logprobs"] = logprobs
    return chunk(choice)


def opens() -> Chunk:
    """The first chunk of most servers: a role and no text."""
    return delta(role="assistant", content="")


def says(text: str, *, finish: str | None = None, logprobs: Any = None) -> Chunk:
    """More text."""
    return delta(content=text, finish=finish, logprobs=logprobs)


def thinks(text: str, *, field: str = "reasoning_content") -> Chunk:
    """More reasoning; some servers call the field `reasoning`."""
    return delta(**{field: text})


def refuses(text: str) -> Chunk:
    """More of a refusal."""
    return delta(refusal=text)


def fragment(index: int | None, call_id: str | None, name: str | None, arguments: str | None) -> dict[str, Any]:
    """One entry of `tool_calls`; whatever is None is left out."""
    entry: dict[str, Any] = {"index": index, "id": call_id, "type": None if call_id is None else "function"}
    entry["function"] = {
        key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None
    } or None
    return {key: value for key, value in entry.items() if value is not None}


def calls(index: int | None, name: str, *, id: str | None = None, arguments: str | None = "") -> Chunk:
    """A call begins."""
    return delta(tool_calls=[fragment(index, id, name, arguments)])


def more(index: int | None, arguments: str, *, id: str | None = None, name: str | None = None) -> Chunk:
    """More arguments; some servers repeat the id or the name."""
    return delta(tool_calls=[fragment(index, id, name, arguments)])


def stops(reason: str = "stop") -> Chunk:
    """Why it ended."""
    return delta(finish=reason)


def counts(
    prompt: int, completion: int, *, cached: int = 0, written: int = 0, reasoning: int = 0, choices: Any = ()
) -> Chunk:
    """Usage, in a chunk of its own without choices, unless some are given."""
    usage: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    into = {"cached_tokens": cached, "cache_write_tokens": written}
    if details := {key: value for key, value in into.items() if value}:
        usage["prompt_tokens_details"] = details
    if reasoning:
        usage["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    return chunk(*choices, usage=usage)


def breaks(message: str = "Internal error", code: Any = 500) -> Chunk:
    """An error object instead of a chunk."""
    return {"error": {"message": message, "type": "server_error", "param": None, "code": code}}


def text_turn(*texts: str) -> list[Chunk]:
    """A whole turn of text."""
    return [opens(), *[says(text) for text in texts], stops(), counts(7, 5)]


def turn(*chunks: Chunk, reason: str = "stop") -> list[Chunk]:
    """A whole turn around these chunks: opened, stopped and counted."""
    return [opens(), *chunks, stops(reason), counts(7, 5)]


def call_turn(name: str, *arguments: str, id: str = "call_1") -> list[Chunk]:
    """A whole turn of one call."""
    return turn(calls(0, name, id=id), *[more(0, piece) for piece in arguments], reason="tool_calls")
