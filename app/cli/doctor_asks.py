"""What `am-proxy doctor` asks of an upstream, and what it notices of the answer."""

import asyncio
import time
from contextlib import aclosing
from typing import Any, Final, NamedTuple

from app.protocol.problems import Problem
from app.settings import Upstream
from app.upstreams.port import UpstreamBroke, UpstreamRefused
from app.wiring import upstream_of

Json = dict[str, Any]

PATIENCE: Final = 60
"""Seconds that an answer may take: a small server may have to load its model first."""

SAYS_A_WORD: Final = "Say hello in five words."
CALLS_A_TOOL: Final = "What time is it in Paris? Call get_time."
_TOOL: Final = {
    "name": "get_time",
    "description": "The time in a city.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
_TOO_SLOW: Final = Problem(code="upstream_timeout", message=f"It did not end its answer within {PATIENCE} seconds.")


class Heard(NamedTuple):
    """What was noticed of one answer. Times are seconds since it was asked for."""

    problem: Problem | None = None
    first: float = 0
    whole: float = 0
    pieces: int = 0
    finished: bool = False
    counted: bool = False
    tool_called: bool = False


async def hear(upstream: Upstream, model: str, prompt: str) -> Heard:
    """Ask in the configured lane. Never raises: what goes wrong is part of what is heard."""
    asked = upstream_of(upstream)
    began = time.perf_counter()
    times: list[float] = []
    payloads: list[Json] = []
    problem = None
    try:
        async with asyncio.timeout(PATIENCE), aclosing(asked.open(_question(upstream, model, prompt))) as coming:
            async for payload in coming:
                payloads.append(payload)
                times.append(time.perf_counter() - began)
    except (UpstreamRefused, UpstreamBroke) as error:
        problem = error.problem
    except TimeoutError:
        problem = _TOO_SLOW
    finally:
        await asked.close()
    whole = time.perf_counter() - began
    noticed = _of_events(payloads, times) if upstream.via == "responses" else _of_chunks(payloads, times)
    return noticed._replace(problem=noticed.problem or problem, whole=whole)


def _question(upstream: Upstream, model: str, prompt: str) -> Json:
    tools = prompt == CALLS_A_TOOL
    if upstream.via == "responses":
        question: Json = {"model": model, "input": prompt, "store": False, "stream": True}
        return question | ({"tools": [{"type": "function", **_TOOL}]} if tools else {})
    question = {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    return question | ({"tools": [{"type": "function", "function": _TOOL}]} if tools else {})


def _of_chunks(chunks: list[Json], times: list[float]) -> Heard:
    said = [
        (when, choice)
        for when, chunk in zip(times, chunks, strict=True)
        for choice in chunk.get("choices") or []
        if isinstance(choice, dict)
    ]
    deltas = [(when, choice.get("delta") or choice.get("message") or {}) for when, choice in said]
    words = [when for when, delta in deltas if any(value for key, value in delta.items() if key != "role")]
    return Heard(
        first=words[0] if words else 0,
        pieces=len(words),
        finished=any(choice.get("finish_reason") for _, choice in said),
        counted=any(isinstance(chunk.get("usage"), dict) for chunk in chunks),
        tool_called=any(delta.get("tool_calls") for _, delta in deltas),
    )


def _of_events(events: list[Json], times: list[float]) -> Heard:
    words = [when for when, event in zip(times, events, strict=True) if isinstance(event.get("delta"), str)]
    last = events[-1] if events else {}
    response = last.get("response") if isinstance(last.get("response"), dict) else {}
    error = (response or {}).get("error")
    problem = Problem(code="upstream_error", message=str(error.get("message"))) if isinstance(error, dict) else None
    calls = [event for event in events if event["type"] == "response.output_item.done"]
    return Heard(
        problem=problem,
        first=words[0] if words else 0,
        pieces=len(words),
        finished=last.get("type") in {"response.completed", "response.incomplete"},
        counted=isinstance((response or {}).get("usage"), dict),
        tool_called=any((event.get("item") or {}).get("type") == "function_call" for event in calls),
    )
