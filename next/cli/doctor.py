"""`am-proxy doctor`: puts questions to each upstream, with the code that serves clients."""

import asyncio
import logging
import textwrap
import time
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from ..api.endpoint import Endpoint
from ..api.responses import respond
from ..api.state import State
from ..catalog import Catalog
from ..observe.log import log
from ..settings.load import GIVEN, Settings
from ..settings.tables import Caller, ModelSettings, ServerSettings
from ..types.json import Json, decode, encode
from ..upstreams.survey import Survey, loaded_window
from .advice import explained, for_tools, short_context
from .upstream_flag import Looked, look_at

_HELLO = {"input": "Say hello in five words."}
_PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_TOOL = {"type": "function", "name": "get_time", "description": "The time in a city.", "parameters": _PARAMETERS}
_CALL = {"input": "What time is it in Paris? Call get_time.", "tools": [_TOOL]}
_UNNAMED = "default"
"""The model that is asked for where none is known: servers of a single model often ignore the name."""
_MARKS = {"ok": ("✓", "green"), "note": ("·", "dim"), "warning": ("!", "yellow"), "error": ("✗", "bold red")}
_LOOK = 10
"""Seconds that a look at a server may take."""
_SHOWN = 3
"""Models that are named."""


class Step(NamedTuple):
    """What one question showed."""

    state: str
    title: str
    message: str
    advice: str = ""


class Answer(NamedTuple):
    """What a client would have got."""

    response: Json
    code: str
    """Of the problem; empty if there is none."""
    message: str
    first: float
    """Seconds until the first piece of the answer."""
    whole: float
    pieces: int


def examine(looked: Looked) -> int:
    """Checks every upstream, and prints each step. Returns 1 if one of them does not work."""
    log.addHandler(logging.NullHandler())
    log.propagate = False
    return asyncio.run(_all(looked, Console(highlight=False)))


async def _all(looked: Looked, console: Console) -> int:
    failed = False
    for name, upstream in looked.settings.upstreams.items():
        title = "--upstream" if name == GIVEN else f"upstreams.{name}"
        where = upstream.base_url or upstream.provider or "inside this server"
        console.print(Text(f"{title}  {where}", "bold"), soft_wrap=True)
        states = set()
        async for step in _steps(looked, name):
            states.add(step.state)
            _print(console, step)
        failed = failed or "error" in states
        verdict = "does not work" if "error" in states else "works, with warnings" if "warning" in states else "works"
        console.print(Text(f"  {verdict}\n", "bold"))
    return 1 if failed else 0


def _print(console: Console, step: Step) -> None:
    """Prints a step: wrapped on a terminal, one line anywhere else."""
    mark, style = _MARKS[step.state]
    for head, words in ((f"  {mark} {step.title:<9}", step.message), (" " * 13, step.advice)):
        width = console.width if console.is_terminal else len(words) + 20
        if words:
            lines = Text(textwrap.fill(words, width, initial_indent=head, subsequent_indent=" " * 13))
            lines.stylize(style, 2, 3)
            console.print(lines, soft_wrap=True)


async def _steps(looked: Looked, name: str) -> AsyncIterator[Step]:
    settings, upstream = looked.settings, looked.settings.upstreams[name]
    given = name == GIVEN and looked.found is not None
    if upstream.auth == "passthrough":
        yield Step("note", "answers", "callers send their own keys, so nothing can be asked here")
        return
    found = looked.found if given else None
    if found is None and upstream.base_url and upstream.via != "litellm":
        found = await look_at(upstream, _LOOK)
    if found is not None and found.error is not None:
        told = explained(found.error.problem.code, found.error.cause, upstream, given=given)
        yield Step("error", "server", *told)
        return
    if found is not None and found.base_url != upstream.base_url:
        yield Step("error", "server", f"has no API at {upstream.base_url}", f'Write base_url = "{found.base_url}".')
        return
    models = {public: model for public, model in settings.models.items() if name in model.asked}
    alone = Settings(
        server=ServerSettings(watch=0),
        upstreams={name: upstream},
        models={
            public: model.model_copy(update={"upstream": name, "upstreams": ()}) for public, model in models.items()
        },
    )
    listed = await _listed(alone, name, found)
    names = ", ".join([*listed][:_SHOWN]) + (f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else "")
    yield Step("ok", "models", f"{len(listed)}: {names}") if listed else Step("note", "models", "it lists none")
    there = {public: model.names.get(name) or model.name or public for public, model in models.items()}
    for public, called in there.items():
        if listed and public != "*" and called not in listed:
            yield Step("warning", "models", f'models.{public}: it lists no "{called}"')
    model = next((public for public in there if public != "*"), next(iter(listed), _UNNAMED))
    called = there.get(model, model)
    state = State(alone if models else alone.model_copy(update={"models": {model: ModelSettings(upstream=name)}}))
    provider = upstream.provider or (found.provider if found else None)
    try:
        hello = await _asked(state, {"model": model, **_HELLO})
        if hello.code:
            yield Step("error", "answers", *explained(hello.code, hello.message, upstream, given=given))
            return
        yield Step("ok", "answers", f"{called} in {_time(hello.whole)}")
        if hello.pieces > 1:
            yield Step("ok", "streams", f"{hello.pieces} pieces, the first after {_time(hello.first)}")
        else:
            yield Step("warning", "streams", "the answer came in one piece", "A proxy on the way may hold it back.")
        call = await _asked(state, {"model": model, **_CALL})
        if call.code:
            yield Step("warning", "tools", call.message, for_tools(provider))
        elif any(item.get("type") == "function_call" for item in call.response["output"]):
            yield Step("ok", "tools", f"called one after {_time(call.whole)}")
        else:
            yield Step("warning", "tools", "it answered in words, and called none", for_tools(provider))
    finally:
        await state.catalog.close()
    window = listed.get(called)
    if provider == "ollama":  # which decides about a model's context when it loads it, as it now has
        key = upstream.api_key.get_secret_value() if upstream.api_key else ""
        window = await loaded_window(upstream.base_url or "", key, called, within=_LOOK) or window
    configured = models[model].context_window if model in models else None
    if short := short_context(called, window, provider):
        yield Step("warning", "context", short)
    elif window and configured and configured > window:
        yield Step("warning", "context", f"{window:,} tokens, but context_window says {configured:,}")
    elif window:
        yield Step("ok", "context", f"{window:,} tokens")


async def _listed(settings: Settings, name: str, found: Survey | None) -> dict[str, int | None]:
    """What this upstream lists to clients, with the context windows as far as they are known."""
    catalog = Catalog(settings.model_copy(update={"models": {"*": ModelSettings(upstream=name)}}))
    try:
        listed = {model: known.context_window for model, known in (await catalog.listed(Caller())).items()}
    finally:
        await catalog.close()
    return listed | {
        model.name: model.context_window for model in (found.models if found else ()) if model.name in listed
    }


async def _asked(state: State, body: Json) -> Answer:
    """The answer to this body, as a client gets it."""
    posted: list[Json] = [{"type": "http.request", "body": encode({"stream": True, "store": False, **body})}]
    began, status, text, times = time.monotonic(), 200, b"", list[float]()

    async def receive() -> Any:
        return posted.pop() if posted else await asyncio.Future()

    async def send(message: Any) -> None:
        nonlocal status, text
        status, piece = message.get("status", status), message.get("body", b"")
        text += piece
        times.extend([time.monotonic() - began] * piece.count(b'"delta":'))

    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/v1/responses", "headers": headers, "request_id": "req_doctor"}
    await Endpoint(state, respond)(scope, receive, send)
    frames = [line.removeprefix(b"data: ") for line in text.splitlines() if line.startswith((b"data: {", b"{"))]
    last = decode(frames[-1])
    response = last.get("response") or {}
    error = last.get("error") or response.get("error") or {}
    if not error and response.get("status") != "completed":
        error = {"code": "upstream_error", "message": f"the answer ended with {response.get('status')}"}
    first, whole = times[0] if times else 0, time.monotonic() - began
    return Answer(response, error.get("code", ""), error.get("message", ""), first, whole, len(times))


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
