"""Chunks of a chat server."""

from typing import Any


def chunk(delta: Any = None, finish: Any = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish, **more}]}


def call(index: int | None, name: str | None = None, arguments: Any = None, id: str | None = None) -> dict[str, Any]:  # noqa: A002 — the wire's name
    fragment: dict[str, Any] = {"id": id, "function": {"name": name, "arguments": arguments}}
    return fragment if index is None else {**fragment, "index": index}


def calls(*fragments: dict[str, Any]) -> dict[str, Any]:
    return chunk({"tool_calls": list(fragments)})
