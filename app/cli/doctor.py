"""`am-proxy doctor`: puts questions to each upstream, with the code that serves clients."""

import asyncio
import logging
import sys
import time
from collections.abc import AsyncIterator

import httpx
from rich.console import Console
from rich.text import Text

from ..api.endpoint import Endpoint, Middleware
from ..api.responses import respond
from ..api.state import State
from ..observe.log import log
from ..settings.load import Settings
from ..settings.tables import ModelSettings
from ..types.json import Json, decode
from ..upstreams import litellm
from ..upstreams.survey import Survey, loaded_window
from .advice import explained, for_tools, short_context, some, wrapped
from .upstream_flag import Looked

_HELLO = {"input": "Say hello in five words."}
_PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
_TOOL = {"type": "function", "name": "get_time", "description": "The time in a city.", "parameters": _PARAMETERS}
_CALL = {"input": "What time is it in Paris? Call get_time.", "tools": [_TOOL]}
_UNNAMED = "default"
"""The model that is asked for where none is known: servers of a single model often ignore the name."""
_STATES = {
    "error": ("✗", "bold red", "does not work"),
    "warning": ("!", "yellow", "works, with warnings"),
    "ok": ("✓", "green", "works"),
    "note": ("·", "dim", "was not asked"),
}
"""How a question went: its mark, the colour of it, and what that says of the upstream. The worst comes first."""
_LOOK = 10
"""Seconds that a look at a server may take."""


def examine(looked: Looked) -> int:
    """Checks every upstream, and prints each answer. Returns 1 if one of them does not work."""
    log.addHandler(logging.NullHandler())
    log.propagate = False
    return asyncio.run(_all(looked, Console(highlight=False)))


async def _all(looked: Looked, console: Console) -> int:
    failed = False
    for name, found in (await looked.surveys(_LOOK)).items():
        where = found.base_url or found.provider or "inside this server"
        console.print(Text(f"{name}  {where}", "bold"), soft_wrap=True)
        states = set()
        async for state, question, message in _steps(looked, name, found):
            states.add(state)
            mark, style, _ = _STATES[state]
            lines = Text(wrapped(message, sys.stdout, f"  {mark} {question:<9}", " " * 13))
            lines.stylize(style, 2, 3)
            console.print(lines, soft_wrap=True)
        failed = failed or "error" in states
        worst = next(state for state in _STATES if state in states)
        console.print(Text(f"  {_STATES[worst][2]}\n", "bold"))
    await litellm.close()
    return 1 if failed else 0


async def _steps(looked: Looked, name: str, found: Survey) -> AsyncIterator[tuple[str, str, str]]:
    """What each question showed: how it went, its name, and a sentence."""
    settings, upstream = looked.settings, looked.settings.upstreams[name]
    if upstream.auth == "passthrough":
        yield "note", "answers", "callers send their own keys, so nothing can be asked here"
        return
    if found.error is not None:
        yield "error", "server", explained(found.error.problem.code, found.error.cause, upstream)
        return
    if found.base_url != (upstream.base_url or ""):
        yield "error", "server", f'has no API at {upstream.base_url}. Write base_url = "{found.base_url}".'
        return
    listed = {model.name: model.context_window for model in found.models}
    yield ("ok", "models", f"{len(listed)}: {some([*listed])}") if listed else ("note", "models", "it lists none")
    models = {
        public: model.model_copy(update={"upstream": name, "upstreams": ()})
        for public, model in settings.models.items()
        if name in model.asked
    }
    there = {public: model.called(name, public) for public, model in models.items() if public != "*"}
    for public, called in there.items():
        if listed and called not in listed:
            yield "warning", "models", f'models.{public}: it lists no "{called}"'
    model = next(iter([*there, *listed]), _UNNAMED)
    called = there.get(model, model)
    models.setdefault("*", ModelSettings(upstream=name))
    state = State(Settings(upstreams={name: upstream}, models=models))
    try:
        last, pieces, took = await _asked(state, {"model": model, **_HELLO})
        if error := last.get("error"):
            yield "error", "answers", explained(error["code"], error["message"], upstream)
            return
        yield "ok", "answers", f"{called} in {took}"
        if pieces > 1:
            yield "ok", "streams", f"{pieces} pieces"
        else:
            yield "warning", "streams", "the answer came in one piece: a proxy on the way may hold it back"
        last, _, took = await _asked(state, {"model": model, **_CALL})
        if error := last.get("error"):
            yield "warning", "tools", f"{error['message']} {for_tools(found.provider)}"
        elif any(item["type"] == "function_call" for item in last["output"]):
            yield "ok", "tools", f"called one after {took}"
        else:
            yield "warning", "tools", f"it answered in words, and called none. {for_tools(found.provider)}"
    finally:
        await state.close()
    window, configured = listed.get(called), models[model].context_window if model in models else None
    if found.provider == "ollama":  # which decides about a model's context when it loads it, as it now has
        key = upstream.api_key.get_secret_value()
        window = await loaded_window(found.base_url, key, called, within=_LOOK) or window
    if short := short_context(called, window, found.provider):
        yield "warning", "context", short
    elif window and configured and configured > window:
        yield "warning", "context", f"{window:,} tokens, but context_window says {configured:,}"
    elif window:
        yield "ok", "context", f"{window:,} tokens"


async def _asked(state: State, body: Json) -> tuple[Json, int, str]:
    """The response to this body as a client gets it, or its error; the pieces of its text; and how long it took."""
    began = time.monotonic()
    transport = httpx.ASGITransport(Middleware(Endpoint(state, respond), state))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        text = (await client.post("/v1/responses", json={"stream": True, "store": False, **body})).content
    took = time.monotonic() - began
    frames = [line.removeprefix(b"data: ") for line in text.splitlines() if line.startswith((b"data: {", b"{"))]
    last = decode(frames[-1])
    response: Json = last.get("response", last)
    if not response.get("error") and response["status"] != "completed":
        response["error"] = {"code": "upstream_error", "message": f"The answer ended with {response['status']}."}
    return response, text.count(b'"delta":'), f"{took:.1f} s" if took >= 1 else f"{took * 1000:.0f} ms"
