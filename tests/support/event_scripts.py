"""Scripts of a chat server, translated to those of vLLM's Responses API, which says the same.

An item is sent whole before the next one begins, so arguments of calls that arrive by turns are gathered. Reasoning is
encrypted if the request asks for that.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, Final

from tests.support.chat_as_messages import NoCounterpartError
from tests.support.chat_scripts import delta_of, with_calls_together
from tests.wire.servers import Ask, Cut, Json, Pause, Script, Status, Step
from tests.wire.servers.responses import (
    ScriptedItem,
    begins,
    call,
    ends,
    items,
    message,
    numbered,
    reasoning,
    response,
)
from tests.wire.servers.responses_like import vllm

ENCRYPTED: Final = "c2VjcmV0"
_INCLUDE: Final = "reasoning.encrypted_content"
_KNOWN: Final = frozenset({"role", "content", "reasoning_content", "refusal", "tool_calls"})


def as_events(script: Script) -> Callable[[Ask], list[Step]]:
    """The script of a server like vLLM that says the same."""

    def events(ask: Ask) -> list[Step]:
        steps = script(ask) if callable(script) else script
        return _translated(steps, ask.body)

    return events


def _translated(steps: Sequence[Step], body: Json) -> list[Step]:
    if any(isinstance(step, Status) for step in steps):
        return list(steps)  # errors look the same
    chunks = [step for step in steps if isinstance(step, dict)]
    said = _items(chunks, body)
    reason = next((found for chunk in chunks if (found := _reason(chunk))), None)
    events = [*begins(), *items(*said)]
    if reason is not None:
        end = _end(said, reason, body)
        end["response"]["usage"] |= _counted(chunks)
        events = vllm([*events, end])
    return _interrupted(numbered(events), steps)


def _counted(chunks: list[Json]) -> Json:
    """The tokens that the script counts."""
    counted = [usage for chunk in chunks if (usage := chunk.get("usage"))]
    names = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens", "total_tokens": "total_tokens"}
    return {name: counted[-1][theirs] for name, theirs in names.items()} if counted else {}


def _reason(chunk: Json) -> str | None:
    choices = chunk.get("choices") or [{}]
    reason: str | None = choices[0].get("finish_reason")
    return reason


def _items(chunks: list[Json], body: Json) -> list[ScriptedItem]:
    """The items that these chunks say. Their ids differ from turn to turn."""
    turn = len(body["input"])
    encrypts = _INCLUDE in (body.get("include") or [])
    pieces = [piece for chunk in with_calls_together(chunks) for piece in _pieces(chunk)]
    made: list[ScriptedItem] = []
    for number, ((kind, _), run) in enumerate(groupby(pieces, key=lambda piece: piece[:2])):
        parts = [part for _, _, part in run]
        match kind:
            case "reasoning":
                thought = reasoning(f"rs_{turn}n{number}", *parts, encrypted=ENCRYPTED)
                if not encrypts:
                    del thought.done["encrypted_content"]
                made.append(thought)
            case "text":
                made.append(message(f"msg_{turn}n{number}", *parts))
            case "refusal":
                made.append(_refusal(f"msg_{turn}n{number}", *parts))
            case _:
                head, *arguments = parts
                made.append(call(f"fc_{turn}n{number}", head["id"], head["function"]["name"], *arguments))
    return made


def _pieces(chunk: Json) -> list[tuple[str, int, Any]]:
    """What a chunk adds: the type of the item, the number of the call, and the piece."""
    delta = delta_of(chunk)
    if delta.keys() - _KNOWN or (chunk.get("choices") and chunk["choices"][0].get("logprobs")):
        raise NoCounterpartError(chunk)
    names = {"reasoning_content": "reasoning", "content": "text", "refusal": "refusal"}
    found: list[tuple[str, int, Any]] = [(kind, 0, delta[key]) for key, kind in names.items() if delta.get(key)]
    for fragment in delta.get("tool_calls") or []:
        if "id" in fragment:
            found.append(("call", fragment["index"], fragment))
        if arguments := fragment["function"].get("arguments"):
            found.append(("call", fragment["index"], arguments))
    return found


def _refusal(item_id: str, *texts: str) -> ScriptedItem:
    """A message of one refusal."""
    whole = {"type": "refusal", "refusal": "".join(texts)}
    spot = {"content_index": 0}
    between = [
        {"type": "response.content_part.added", **spot, "part": {"type": "refusal", "refusal": ""}},
        *[{"type": "response.refusal.delta", **spot, "delta": text} for text in texts],
        {"type": "response.refusal.done", **spot, "refusal": whole["refusal"]},
        {"type": "response.content_part.done", **spot, "part": whole},
    ]
    _, born, done = message(item_id)
    return ScriptedItem(between, born, {**done, "content": [whole]})


def _end(said: list[ScriptedItem], reason: str, body: Json) -> Json:
    repeated = {"text": body["text"]} if body.get("text") else {}
    if reason in {"stop", "tool_calls"}:
        return ends(*said, **repeated)
    if reason != "length":
        raise NoCounterpartError(reason)
    last = said[-1].done
    last["status"] = "incomplete"
    return ends(*said, status="incomplete", incomplete_details={"reason": "max_output_tokens"}, **repeated)


def _interrupted(events: list[Json], steps: Sequence[Step]) -> list[Step]:
    """The events with the pauses, cuts and errors of the script, each behind as many pieces of text as there."""
    pieces = 0
    behind: dict[int, Step] = {}
    for step in steps:
        match step:
            case {"error": {"message": str(text)}}:
                failed = response(status="failed", error={"code": "server_error", "message": text})
                behind[pieces] = {"type": "response.failed", "response": failed}
            case dict():
                pieces += sum(isinstance(piece, str) for _, _, piece in _pieces(step))
            case Pause() | Cut() if pieces or isinstance(step, Pause):
                behind[pieces] = step
            case _:
                raise NoCounterpartError(step)
    result: list[Step] = [behind.pop(0)] if 0 in behind else []
    sent = 0
    for event in events:
        result.append(event)
        if event["type"].endswith(".delta"):
            sent += 1
            if sent in behind:
                result.append(behind[sent])
                if not isinstance(behind[sent], Pause):
                    break
    return result
