"""`am-proxy check --probe`: tests which dialects each upstream supports, and recommends a `via` for it.

Each server gets one question after the other, because small ones answer one at a time; several servers are asked at the
same time.
"""

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from ..options import Via
from ..protocol.problems import Problem
from ..settings import Settings, Upstream
from ..upstreams.litellm_chat import close_connections, load
from ..upstreams.survey import PREFERRED
from .probe import ask, listed_models, model_for, reach, show
from .probe_answers import COUNT, MOST_TOKENS, ProbeAnswer, limit_faults

_TITLES: Final[dict[Via, str]] = {
    "chat": "chat completions",
    "responses": "Responses",
    "litellm": "through litellm",
}
_CUSTOM_TOOL: Final = "answer"
_CALL_CUSTOM_TOOL: Final[dict[str, Any]] = {
    "input": "Is water wet? Call the tool `answer`.",
    "tools": [
        {
            "type": "custom",
            "name": _CUSTOM_TOOL,
            "description": "Takes an answer.",
            "format": {"type": "grammar", "syntax": "lark", "definition": 'start: "yes" | "no"'},
        }
    ],
    "tool_choice": {"type": "custom", "name": _CUSTOM_TOOL},
}
_OTHER_DIALECT: Final = (
    "The upstream sent an invalid answer",
    "The upstream failed with status 405",
    "The upstream failed with status 501",
)
"""The beginnings of messages about a server that does not support the dialect."""


class Report(NamedTuple):
    """The result for one upstream: whether it works as configured, and what to print."""

    works: bool
    rows: list[tuple[str, str]]
    """Titles and texts."""


def probe(settings: Settings, only: str | None = None) -> int:
    """Print a report on every upstream, or on `only`. Returns 1 if one does not work as configured."""
    return asyncio.run(_probe(settings, only))


async def _probe(settings: Settings, only: str | None) -> int:
    works = True
    async with asyncio.TaskGroup() as group:
        names = [name for name in settings.upstreams if only in (None, name)]
        for task in [group.create_task(_report(settings, name)) for name in names]:
            report = await task
            for title, text in report.rows:
                show(title, text, settings.upstreams.values())
            works = works and report.works
    await close_connections()
    return 0 if works else 1


async def _report(settings: Settings, name: str) -> Report:
    upstream = settings.upstreams[name]
    if upstream.base_url is None:
        why = "it runs inside this server" if upstream.via == "demo" else "without a base_url only litellm finds it"
        return Report(works=True, rows=[(f"upstreams.{name}: ", f"not probed, {why}")])
    rows = [(f"upstreams.{name}: ", upstream.base_url)]
    reached = (await reach(upstream.base_url))[-1]
    if reached.state == "error":
        rows += [_row(reached.title, reached.message), (f"{'':<20}→ ", reached.advice)]
        rows.append(_configured(upstream, works=False))
        return Report(works=False, rows=rows)
    listed = await listed_models(upstream)
    model, why = model_for(settings, name, listed)
    if upstream.via == "litellm":
        await asyncio.to_thread(load)  # loading takes seconds, which must not count as the server's
    tried = [via for via in PREFERRED if via != "litellm" or upstream.via == "litellm"]
    answers = {via: await _answer(via, upstream, model, listed) for via in tried}
    works = any(via == upstream.via and answer.state == "works" for via, answer in answers.items())
    rows += [_row("reachable", "yes"), _row("asked for", f"{model[:100]} ({why})")]
    rows += [_row(_TITLES[via], answer.message) for via, answer in answers.items()]
    rows += [_row("suits it", _suits(answers)), _configured(upstream, works=works)]
    return Report(works=works, rows=rows)


async def _answer(via: Via, upstream: Upstream, model: str, listed: Sequence[str]) -> ProbeAnswer:
    """The server's answer when asked in this way. A limit that is refused is left out: some models accept none."""
    limited = True
    answer = await ask(via, upstream, model, {"input": COUNT, "max_output_tokens": MOST_TOKENS})
    if _is_refused(answer):
        limited = False
        answer = await ask(via, upstream, model, {"input": COUNT})
    if answer.problem is not None:
        return _without_answer(answer.problem, upstream, model, listed)
    if answer.state != "works":
        return answer
    answer = answer.with_faults(*limit_faults(answer, limited=limited))
    return answer.with_faults(*await _custom_tool_faults(upstream, model)) if via == "responses" else answer


async def _custom_tool_faults(upstream: Upstream, model: str) -> list[str]:
    """Codex fails at once where such a tool is refused, and cannot patch a file where it is dropped."""
    answer = await ask("responses", upstream, model, _CALL_CUSTOM_TOOL)
    if _is_refused(answer):
        return ["it refuses custom tools with a grammar"]
    called = ("custom_tool_call", _CUSTOM_TOOL) in answer.calls
    return [] if called else ["it makes no call of a custom tool with a grammar"]


def _is_refused(answer: ProbeAnswer) -> bool:
    return answer.problem is not None and answer.problem.shape.status == HTTPStatus.BAD_REQUEST


def _without_answer(problem: Problem, upstream: Upstream, model: str, listed: Sequence[str]) -> ProbeAnswer:
    match problem.code:
        case "upstream_auth_error":
            message = "the key is refused" if upstream.api_key else "it wants a key, and no api_key is set"
            return ProbeAnswer("unclear", f"no: {message}")
        case "model_not_found" if model in listed:
            return ProbeAnswer("unsupported", "no: there is no such path")
        case "model_not_found" if listed:
            shown = ", ".join(name[:60] for name in listed[:3]) + (", …" if len(listed) > 3 else "")  # noqa: PLR2004 — as many as are shown
            return ProbeAnswer("unclear", f"no: there is no such path, or no such model; it lists {shown}")
        case "model_not_found":
            return ProbeAnswer("unsupported", "no: there is no such path, or no such model")
        case _:
            supported = not problem.message.startswith(_OTHER_DIALECT)
            return ProbeAnswer("unclear" if supported else "unsupported", f"no: {problem.message}")


def _suits(answers: dict[Via, ProbeAnswer]) -> str:
    working = [via for via in PREFERRED if via in answers and answers[via].state == "works"]
    right = [via for via in working if not answers[via].faults]
    if {"chat", "responses"} <= {*right}:
        return 'via = "chat"; or via = "responses", for tools that it runs itself'
    if right or working:
        faults = "" if right else ", with the faults above"
        return f'via = "{(right or working)[0]}"{faults}'
    if any(answer.state == "unclear" for answer in answers.values()):
        return "cannot be told from this"
    return 'via = "litellm" with a provider, if litellm knows one for this server'


def _configured(upstream: Upstream, *, works: bool) -> tuple[str, str]:
    provider = f' with provider = "{upstream.provider}"' if upstream.provider else ""
    return _row("configured", f'via = "{upstream.via}"{provider}, which {"works" if works else "does not work"}')


def _row(title: str, message: str) -> tuple[str, str]:
    return f"  {title:<18}", message
