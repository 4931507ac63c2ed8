"""`am-proxy check --probe`: tests which dialects each upstream supports, and recommends a `via` for it.

Each server gets one question after the other, because small ones answer one at a time; several servers are asked at the
same time.
"""

import asyncio
from typing import Final, NamedTuple

from ..options import Via
from ..protocol.problems import Problem
from ..providers.lookup import provider_of
from ..settings import Settings, Upstream
from ..upstreams.litellm_chat import close_connections, load
from ..upstreams.survey import PREFERRED
from .advice import refused
from .given_upstream import PATHS
from .probe import ProbedUpstream, ask, looked_at, probed_upstream
from .probe_answers import COUNT, MOST_TOKENS, ProbeAnswer, is_refused, limit_faults
from .probed_tools import tools_of
from .reach import reach
from .rows import Step, show

_TITLES: Final[dict[Via, str]] = {
    "chat": "chat completions",
    "responses": "Responses",
    "messages": "Messages API",
    "litellm": "through litellm",
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
    probed = probed_upstream(settings, name)
    base_url, title = probed.upstream.base_url, probed.title
    if base_url is None:
        why = (
            "it runs inside this server"
            if probed.upstream.via in {"demo", "replay"}
            else "without a base_url only litellm finds it"
        )
        return Report(works=True, rows=[(f"{title} ", f"not probed: {why}")])
    rows = [(f"{title} ", base_url)]
    reached = (await reach(base_url, probed.address_setting))[-1]
    if reached.state == "error":
        rows += [_row(reached.title, f"no: {reached.message}"), _advice(reached)]
        rows.append(_configured(probed.upstream, works=False))
        return Report(works=False, rows=rows)
    probed = await looked_at(settings, probed)
    upstream = probed.upstream
    if upstream.base_url != base_url:
        rows.append(_row("address", f"did you mean {upstream.base_url}? That one answers, and is used"))
    if upstream.via == "litellm":
        await asyncio.to_thread(load)  # loading takes seconds, which must not count as the server's
    tried: list[Via] = [via for via in PREFERRED if via != "litellm" or upstream.via == "litellm"]
    if probed.found is not None and probed.found.via == "messages":
        tried = [*dict.fromkeys((*tried, "messages"))]
    if upstream.via == "messages":  # the key may be meant for no other header
        tried = ["messages"]
    answers = {via: await _answer(via, probed) for via in tried}
    configured = answers[upstream.via]
    rows += [_row("reachable", "yes"), _row("asked for", f"{probed.model[:100]} ({probed.why})")]
    rows += [_row(_TITLES[via], answer.message) for via, answer in answers.items()]
    if tools := answers["responses"].tools if "responses" in answers else None:
        rows.append(_row("its tools", tools.message))
    title, how = _configured(upstream, works=configured.state == "works")
    lacks_functions = tools is not None and tools.sent_as == "functions" and not _sends_functions(upstream)
    needs = ', but agents such as Codex need tools = "functions"' if lacks_functions else ""
    rows += [_row("suits it", _suits(answers)), (title, how + needs)]
    if configured.problem is not None:
        rows.append(_advice(await refused(configured.problem, probed)))
    return Report(works=configured.state == "works", rows=rows)


async def _answer(via: Via, probed: ProbedUpstream) -> ProbeAnswer:
    """The server's answer when asked in this way. A limit that is refused is left out: some models accept none."""
    upstream, model = probed.upstream, probed.model
    limited = True
    answer = await ask(via, upstream, model, {"input": COUNT, "max_output_tokens": MOST_TOKENS})
    if is_refused(answer):
        limited = False
        answer = await ask(via, upstream, model, {"input": COUNT})
    if answer.problem is not None:
        return await _without_answer(via, answer.problem, probed)
    if answer.state != "works":
        return answer
    answer = answer.with_faults(*limit_faults(answer, limited=limited))
    if via != "responses":
        return answer
    tools = await tools_of(upstream, model)
    return answer.with_faults(*tools.faults)._replace(tools=tools if not tools.faults else None)


async def _without_answer(via: Via, problem: Problem, probed: ProbedUpstream) -> ProbeAnswer:
    """Why there is no answer, and whether the server may support this dialect nevertheless."""
    lacks = probed.found is not None and via in probed.found.lacks
    if lacks and via in PATHS and problem.code in {"model_not_found", "upstream_auth_error"}:
        return ProbeAnswer("unsupported", f"no: this server has no {PATHS[via]}", problem=problem)
    step = await refused(problem, probed._replace(upstream=probed.upstream.model_copy(update={"via": via})))
    unsupported = lacks or problem.message.startswith(_OTHER_DIALECT)
    return ProbeAnswer("unsupported" if unsupported else "unclear", f"no: {step.message}", problem=problem)


def _suits(answers: dict[Via, ProbeAnswer]) -> str:
    working = [via for via in (*PREFERRED, "messages") if via in answers and answers[via].state == "works"]
    right = [via for via in working if not answers[via].faults]
    needed = answers["responses"].tools if "responses" in answers else None
    setting = "" if needed is None or needed.sent_as == "native" else ' with tools = "functions"'
    if {"chat", "responses"} <= {*right}:
        return f'via = "chat"; or via = "responses"{setting}, for tools that it runs itself'
    if right or working:
        best = (right or working)[0]
        faults = "" if right else ", with the faults above"
        return f'via = "{best}"{setting if best == "responses" else ""}{faults}'
    if any(answer.state == "unclear" for answer in answers.values()):
        return "cannot be told from this"
    return 'via = "litellm" with a provider, if litellm knows one for this server'


def _configured(upstream: Upstream, *, works: bool) -> tuple[str, str]:
    provider = f' with provider = "{upstream.provider}"' if upstream.provider else ""
    return _row("configured", f'via = "{upstream.via}"{provider}, which {"works" if works else "does not work"}')


def _sends_functions(upstream: Upstream) -> bool:
    """Whether this server gets all tools as functions, in any way it is asked."""
    if upstream.via != "responses" or upstream.tools == "functions":
        return True
    return upstream.tools == "auto" and provider_of(upstream.provider).responses.functions_only


def _advice(step: Step) -> tuple[str, str]:
    return f"{'':<20}→ ", step.advice


def _row(title: str, message: str) -> tuple[str, str]:
    return f"  {title:<18}", message
