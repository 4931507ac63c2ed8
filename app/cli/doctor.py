"""`am-proxy doctor`: checks one upstream after the other, step by step, with advice for the first step that fails."""

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from typing import Any, Final

from ..protocol.problems import Problem
from ..settings import Settings, Upstream
from ..upstreams.litellm_chat import close_connections, load
from .probe import Step, ask, listed_models, milliseconds, model_for, reach, show
from .probe_answers import ProbeAnswer

_MARKS: Final = {"ok": "✓", "warning": "!", "error": "✗", "note": "·"}
_SAY_HELLO: Final = {"input": "Say hello in five words."}
_CALL_TOOL: Final[dict[str, Any]] = {
    "input": "What time is it in Paris? Call get_time.",
    "tools": [
        {
            "type": "function",
            "name": "get_time",
            "description": "The time in a city.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        }
    ],
}

_ADVICE: Final = {
    "upstream_auth_error": "Look at api_key: is it this server's, and is it still valid?",
    "model_not_found": "Look at the models that lead here: `name` must be what the upstream calls its model.",
    "rate_limit_exceeded": "It works, but its rate limit is used up: wait, or ask its owner for more.",
    "insufficient_quota": "The account behind the key has no credit left.",
    "upstream_timeout": "It is reachable but does not answer: it may be loading its model, or be overloaded.",
    "context_length_exceeded": "Even a few words are too long for it: its context is set too small.",
}
_COMPARE: Final = "`am-proxy check --probe` shows what this server supports, and which `via` suits it."
_BUFFERED: Final = "Clients get it in one piece. Something on the way may buffer: a proxy, or the server itself."
_NO_USAGE: Final = "See `stream_options`, or the server's own settings."
_TOOL_REFUSED: Final = "Agents need tools: this model, or the way its server was started, may not support them."
_NO_CALL: Final = "Small models often do that. Agents need one that calls tools."


def doctor(settings: Settings, only: Iterable[str] = ()) -> int:
    """Check every upstream, or those named, and print each step. Returns 1 if one of them does not work."""
    names = list(only) or list(settings.upstreams)
    if unknown := [name for name in names if name not in settings.upstreams]:
        known = ", ".join(settings.upstreams)
        print(f"there is no upstream named {', '.join(unknown)}; there is {known}", file=sys.stderr)
        return 2
    return asyncio.run(_check(settings, names))


async def _check(settings: Settings, names: list[str]) -> int:
    failed = 0
    for name in names:
        upstream = settings.upstreams[name]
        print(f"upstreams.{name}  via {upstream.via}, {upstream.base_url or upstream.provider or 'inside this server'}")
        async with aclosing(_steps(settings, name)) as steps:
            async for step in steps:
                show(f"  {_MARKS[step.state]} {step.title:<15} ", step.message, [upstream])
                if step.advice:
                    show(f"{'':<20}→ ", step.advice, [upstream])
                if step.state == "error":  # the next steps depend on it
                    failed += 1
                    break
    await close_connections()
    failures = f"{failed} of these upstreams {'does' if failed == 1 else 'do'} not work"
    print(f"\n{failures if failed else 'all checks passed'}")
    return 1 if failed else 0


async def _steps(settings: Settings, name: str) -> AsyncGenerator[Step]:
    upstream = settings.upstreams[name]
    if upstream.base_url is not None:
        for step in await reach(upstream.base_url):
            yield step
    model, why = model_for(settings, name, await listed_models(upstream) if upstream.base_url is not None else ())
    yield Step("note", "asked for", f"{model[:100]} ({why})")
    if upstream.via == "litellm":
        began = time.perf_counter()
        await asyncio.to_thread(load)
        yield Step("note", "litellm", f"loaded in {milliseconds(began)}, once, when the server starts")
    for step in _answered(upstream, model, await ask(upstream.via, upstream, model, _SAY_HELLO)):
        yield step
    yield _called(await ask(upstream.via, upstream, model, _CALL_TOOL))


def _answered(upstream: Upstream, model: str, answer: ProbeAnswer) -> Iterable[Step]:
    """The steps about the key, the answer, and its streaming."""
    if answer.problem is not None:
        yield _refused(upstream, answer.problem)
        return
    yield Step("ok", "key", "accepted" if upstream.api_key else "none is needed")
    if answer.state != "works":
        yield Step("error", "answers", answer.message, _COMPARE)
        return
    yield Step("ok", "answers", f"{model} in {answer.whole * 1000:.0f} ms")
    if answer.pieces > 1:
        yield Step("ok", "streams", f"first word after {answer.first * 1000:.0f} ms, {answer.pieces} pieces")
    else:
        yield Step("warning", "streams", "the answer came in one piece", _BUFFERED)
    if not answer.counted:
        yield Step("warning", "counts tokens", "no: usage will be estimated", _NO_USAGE)


def _refused(upstream: Upstream, problem: Problem) -> Step:
    advice = _ADVICE.get(problem.code, _COMPARE)
    if problem.code == "upstream_auth_error":
        message = "it is refused" if upstream.api_key else "it wants one, and none is set"
        return Step("error", "key", f"no: {message}", advice)
    return Step("error", "answers", f"no: {problem.message}", advice)


def _called(answer: ProbeAnswer) -> Step:
    if answer.problem is not None:
        return Step("warning", "calls tools", f"no: {answer.problem.message}", _TOOL_REFUSED)
    if any(kind == "function_call" for kind, _ in answer.calls):
        return Step("ok", "calls tools", f"after {answer.whole * 1000:.0f} ms")
    return Step("warning", "calls tools", "no: it answered in words", _NO_CALL)
