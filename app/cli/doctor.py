"""`am-proxy doctor`: checks one upstream after the other, step by step, with advice for what fails."""

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Any, Final

from ..settings import Settings, did_you_mean
from ..upstreams.litellm_chat import close_connections, load
from ..upstreams.survey import ListedModel, Survey
from .advice import LEAST, OTHER_WAY, named, no_tools, other_models, refused, small_window, title_of
from .given_upstream import PATHS
from .probe import ProbedUpstream, ask, configured_names, looked_at, probed_upstream
from .probe_answers import ProbeAnswer
from .reach import milliseconds, reach
from .rows import STYLES, Step, print_steps, show
from .style import colour_wanted, painted

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

_BUFFERED: Final = "Clients get it in one piece. Something on the way may buffer: a proxy, or the server itself."
_NO_USAGE: Final = "See `stream_options`, or the server's own settings."
_MOST_UNLISTED: Final = 5


def doctor(settings: Settings, only: Iterable[str] = ()) -> int:
    """Check every upstream, or those named, and print each step. Returns 1 if one of them does not work."""
    names = list(only) or list(settings.upstreams)
    if unknown := [name for name in names if name not in settings.upstreams]:
        known = ", ".join(settings.upstreams)
        near = did_you_mean(unknown[0], settings.upstreams)
        print(f"am-proxy: there is no upstream named {', '.join(unknown)}{near}; there is {known}", file=sys.stderr)
        return 2
    try:
        return asyncio.run(_check(settings, names))
    except KeyboardInterrupt:
        return 130


async def _check(settings: Settings, names: Sequence[str]) -> int:
    verdicts = {}
    for name in names:
        probed = probed_upstream(settings, name)
        upstream = probed.upstream
        where = upstream.base_url or upstream.provider or "inside this server"
        title = painted(probed.title, "bold", colour=colour_wanted(sys.stdout))
        print(f"{title} {where}", flush=True)
        verdicts[probed.title] = _verdict(await print_steps(_steps(settings, probed), [upstream]))
        print()
    await close_connections()
    failed = [verdict.startswith("does not") for verdict in verdicts.values()]
    wrong = {name: verdict for name, verdict in verdicts.items() if verdict}
    text = "; ".join(verdict if len(names) == 1 else f"{name} {verdict}" for name, verdict in wrong.items())
    styles = STYLES["error" if any(failed) else "warning" if text else "ok"]
    show("", text or "all checks passed", settings.upstreams.values(), styles=("bold", *styles))
    return 1 if any(failed) else 0


def _verdict(steps: Sequence[Step]) -> str:
    """What is wrong with an upstream, in a few words; empty if nothing is."""
    for step in steps:
        if step.state == "error":
            return f"does not work: {step.message}"
    buts = [step.but for step in steps if step.state == "warning"]
    return f"works, but {' and '.join(buts)}: needs attention" if buts else ""


async def _steps(settings: Settings, probed: ProbedUpstream) -> AsyncGenerator[Step]:
    given = probed.upstream
    if given.base_url is not None:
        yield Step("waiting", "reachable", "connecting")
        for step in await reach(given.base_url, probed.address_setting):
            yield step
        yield Step("waiting", "server", "looking at the server")
    probed = await looked_at(settings, probed)
    upstream = probed.upstream
    for step in _server(settings, probed, given.base_url):
        yield step
    if upstream.via == "litellm":
        yield Step("waiting", "litellm", "loading it")
        began = time.perf_counter()
        await asyncio.to_thread(load)
        yield Step("note", "litellm", f"loaded in {milliseconds(began)}, once, when the server starts")
    window = _configured_window(settings, probed)
    yield Step("waiting", "answers", f"waiting for {probed.model[:60]}")
    answer = await ask(upstream, probed.model, _SAY_HELLO, window=window)
    for step in [await refused(answer.problem, probed)] if answer.problem else _answered(probed, answer):
        yield step
    if answer.problem or answer.fault:
        return
    yield Step("waiting", "calls tools", f"waiting for {probed.model[:60]}")
    yield _called(probed, await ask(upstream, probed.model, _CALL_TOOL, window=window))
    if probed.found is not None and probed.found.server == "ollama":
        probed = await looked_at(settings, probed)  # only now the model is loaded, with the context that it really has
    for step in _context(settings, probed):
        yield step


def _server(settings: Settings, probed: ProbedUpstream, given: str | None) -> Iterable[Step]:
    """The steps about the address, the server, and the models that it lists."""
    found, upstream = probed.found, probed.upstream
    if found is not None:
        if upstream.base_url != given:
            message = f"no API is at {given}; did you mean {upstream.base_url}? That one answers, and is used"
            yield Step("warning", "address", message, but="is at another address")
        asked_for = [via for via in PATHS if (via == "messages") == (upstream.via == "messages")]
        has = " and ".join(PATHS[via] for via in asked_for if via not in found.lacks)
        if not found.problem:
            yield Step("ok", "server", f"{title_of(found.server)}, with {has}" if found.server else f"has {has}")
        if found.models:
            listed = [model.name for model in found.models]
            yield Step("note", "models", f"{len(listed)} for chat: {named(listed)}")
            yield from _unlisted(settings, probed, found)
    way = f" by {PATHS[upstream.via]}" if upstream.via in PATHS else ""
    yield Step("note", "asked for", f"{probed.model[:100]}{way} ({probed.why})")


def _unlisted(settings: Settings, probed: ProbedUpstream, found: Survey) -> Iterable[Step]:
    """The steps about other models of the configuration that the server does not list."""
    names = configured_names(settings, probed.name).items()
    unlisted = [(public, name) for public, name in names if name != probed.model and not _listed(name, found)]
    for public, name in unlisted[:_MOST_UNLISTED]:
        advice = other_models(probed._replace(model=name), found)
        message = f'[models] {public[:60]}: the server lists no "{name[:60]}"'
        yield Step("warning", "models", message, advice, but=f'may not have "{name[:60]}"')
    if (more := len(unlisted) - _MOST_UNLISTED) > 0:
        yield Step("warning", "models", f"{more} more of [models] are not listed", but=f"may not have {more} others")


def _listed(name: str, found: Survey) -> ListedModel | None:
    """The model of this name. A name may leave out Ollama's tag, or add a word that only OpenRouter knows."""
    models = {model.name: model for model in found.models}
    return models.get(name) or models.get(f"{name}:latest") or models.get(name.partition(":")[0])


def _answered(probed: ProbedUpstream, answer: ProbeAnswer) -> Iterable[Step]:
    """The steps about the key, the answer, and its streaming."""
    if answer.fault:
        yield Step("error", "answers", answer.fault, OTHER_WAY)
        return
    yield Step("ok", "key", "accepted" if probed.upstream.api_key else "none is needed")
    yield Step("ok", "answers", f"{probed.model[:100]} in {answer.whole * 1000:.0f} ms")
    if answer.pieces > 1:
        yield Step("ok", "streams", f"first token after {answer.first * 1000:.0f} ms, {answer.pieces} pieces")
    else:
        yield Step("warning", "streams", "no: the answer came in one piece", _BUFFERED, but="does not stream")
    if not answer.counted:
        message = "no: usage will be estimated"
        yield Step("warning", "counts tokens", message, _NO_USAGE, but="counts no tokens")


def _called(probed: ProbedUpstream, answer: ProbeAnswer) -> Step:
    if answer.problem is not None:
        return no_tools(probed, f"no: {answer.problem.message}", "Use a model that supports them.")
    if answer.calls:
        return Step("ok", "calls tools", f"after {answer.whole * 1000:.0f} ms")
    return no_tools(probed, "no: it answered in words", "Try another model: small ones often do that.")


def _configured_window(settings: Settings, probed: ProbedUpstream) -> int | None:
    """The context window that is configured for the model; the largest, if it has several names."""
    names = configured_names(settings, probed.name).items()
    windows = [settings.models[public].context_window for public, name in names if name == probed.model]
    return max((each for each in windows if each is not None), default=None)


def _context(settings: Settings, probed: ProbedUpstream) -> Iterable[Step]:
    """The step about the length of the model's context, if the server says it."""
    listed = _listed(probed.model, probed.found) if probed.found is not None else None
    window = listed.context_window if listed is not None else None
    if window is None:
        return
    most = _configured_window(settings, probed) or 0
    if window < LEAST:
        yield small_window(probed, window)
    elif most > window:
        message = f"{window} tokens, but context_window in [models] says {most}"
        advice = "Clients would send more than fits: correct context_window, or give the model more context."
        yield Step("warning", "context", message, advice, but="has a smaller context than configured")
    else:
        yield Step("ok", "context", f"{window} tokens")
