"""`am-proxy check --probe`: ask every upstream for a word or two, and say which lane suits it.

What is asked goes through the lanes themselves, so what is found here is what clients will find. Each server is asked
one question after the other, for small ones answer one at a time; several servers are asked side by side.
"""

import asyncio
import re
from typing import Final, NamedTuple

from app.cli.harmless import harmless
from app.cli.probe_asks import Lane, Seen, ask, look
from app.cli.probe_reads import Heard
from app.settings import Settings, Upstream
from app.upstreams.litellm_chat import close_connections, load

WITHOUT_A_NAME: Final = "default"
"""The model asked for where nobody names one. Servers of a single model often do not mind."""

_NO_TALKER: Final = re.compile(r"embed|rerank|whisper|tts|dall-e|image|moderation|transcri", re.IGNORECASE)
_TITLES: Final[dict[Lane, str]] = {
    "chat": "chat completions",
    "responses": "Responses",
    "litellm": "through litellm",
}
"""The lanes in the order in which they are recommended. Most servers speak chat completions best, and what they lack
there is supplied here; a lane of Responses passes on what the server says."""


class Report(NamedTuple):
    """One upstream: whether its configured lane works, and what to print."""

    works: bool
    lines: list[str]


def probe(settings: Settings, only: str | None = None) -> int:
    """Print what is found of every upstream, or of `only`. Gives 1 where one does not work as it is configured."""
    return asyncio.run(_probe(settings, only))


async def _probe(settings: Settings, only: str | None) -> int:
    works = True
    async with asyncio.TaskGroup() as group:
        names = [name for name in settings.upstreams if only in (None, name)]
        for task in [group.create_task(_report(settings, name)) for name in names]:
            report = await task
            print("\n".join(harmless(line, settings.upstreams.values()) for line in report.lines), flush=True)
            works = works and report.works
    await close_connections()
    return 0 if works else 1


async def _report(settings: Settings, name: str) -> Report:
    upstream = settings.upstreams[name]
    if upstream.base_url is None:
        why = "it runs inside this server" if upstream.via == "demo" else "without a base_url only litellm finds it"
        return Report(works=True, lines=[f"upstreams.{name}: not probed, {why}"])
    lines = [f"upstreams.{name}: {upstream.base_url}"]
    seen = await look(upstream)
    if seen.unreachable:
        lines += [_line("reachable", f"no: {seen.unreachable}"), _configured(upstream, works=False)]
        return Report(works=False, lines=lines)
    model, why = model_for(settings, name, seen)
    if upstream.via == "litellm":
        await asyncio.to_thread(load)  # it takes seconds that are not the server's
    lanes = [lane for lane in _TITLES if lane != "litellm" or upstream.via == "litellm"]
    heard = {lane: await ask(lane, upstream, model, seen) for lane in lanes}
    works = any(lane == upstream.via and found.state == "works" for lane, found in heard.items())
    lines += [_line("reachable", "yes"), _line("asked for", f"{model[:100]} ({why})")]
    lines += [_line(_TITLES[lane], found.words) for lane, found in heard.items()]
    lines += [_line("suits it", _suits(heard)), _configured(upstream, works=works)]
    return Report(works=works, lines=lines)


def model_for(settings: Settings, name: str, seen: Seen) -> tuple[str, str]:
    """The model to ask for, and why this one."""
    for public, model in settings.models.items():
        if model.upstream == name and (public != "*" or model.name is not None):
            return model.name or public, "named in [models]"
    if seen.names:
        talkers = [known for known in seen.names if not _NO_TALKER.search(known)]
        return (talkers or list(seen.names))[0], f"[models] names none; of {len(seen.names)} that the server lists"
    return WITHOUT_A_NAME, "neither [models] nor the server names one"


def _suits(heard: dict[Lane, Heard]) -> str:
    working = [lane for lane in _TITLES if lane in heard and heard[lane].state == "works"]
    right = [lane for lane in working if not heard[lane].faults]
    if {"chat", "responses"} <= {*right}:
        return 'via = "chat"; or via = "responses", for tools that it runs itself'
    if right or working:
        faults = "" if right else ", with the faults above"
        return f'via = "{(right or working)[0]}"{faults}'
    if any(found.state == "unclear" for found in heard.values()):
        return "cannot be told from this"
    return 'via = "litellm" with a provider, if litellm knows one for this server'


def _configured(upstream: Upstream, *, works: bool) -> str:
    provider = f' with provider = "{upstream.provider}"' if upstream.provider else ""
    return _line("configured", f'via = "{upstream.via}"{provider}, which {"works" if works else "does not work"}')


def _line(title: str, words: str) -> str:
    return f"  {title:<18}{words}"
