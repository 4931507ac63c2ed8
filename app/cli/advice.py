"""Why an upstream did not answer, in a sentence, and what to do about it."""

import asyncio
import html
from collections.abc import Sequence
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

from ..http_client.proxies import proxy_for
from ..protocol.problems import Problem
from ..providers.lookup import provider_of
from ..settings import did_you_mean
from ..upstreams.local_servers import TITLES
from ..upstreams.short_question import KEY_REFUSED, Reply, reply_of
from ..upstreams.survey import Survey
from .agents.agent import Agent
from .given_upstream import PATHS
from .launched_models import LONGER
from .probe import DEFAULT_MODEL, ProbedUpstream
from .reach import speaks_tls
from .rows import Step

LEAST: Final = Agent.least_context
"""Tokens of context that a coding agent needs: its instructions and tools alone take more than 10,000."""
_ROUND: Final = 1 << (LEAST - 1).bit_length()

_SHOWN: Final = 3
"""Models that are named."""
_LONGEST: Final = 60
_GLANCE: Final = 3
"""Seconds for one more look at what answers."""
_MOST_READ: Final = 20_000
_SUSPECT: Final = frozenset({"upstream_auth_error", "model_not_found", "upstream_error"})
"""Problems that another program may cause, too."""
_ADVICE: Final = {
    "rate_limit_exceeded": "It works, but its rate limit is used up: wait, or ask its owner for more.",
    "insufficient_quota": "The account behind the key has no credit left: top it up, or use another key.",
    "upstream_timeout": "It may be loading its model, or be overloaded: try again, or look at its log.",
    "context_length_exceeded": "Even a few words are too long for it: its context is set too small.",
    "content_policy_violation": "A harmless question was refused: look at the filters of that server.",
}
_ITS_LOG: Final = "Look at the log of that server."
OTHER_WAY: Final = "Try another `via`: chat, responses or messages."

_TOOLS: Final = {
    "vllm": "Start vLLM with --enable-auto-tool-choice and the --tool-call-parser of this model.",
    "sglang": "Start SGLang with the --tool-call-parser of this model.",
    "llama.cpp": "Start llama.cpp with --jinja, and with a model whose template has tools.",
}


async def refused(problem: Problem, probed: ProbedUpstream) -> Step:
    """The step of a question that was not answered."""
    if probed.found is None:
        return _plainly(problem, probed)
    if step := await _not_the_server(problem, probed, probed.found):
        return step
    has_no_path = problem.code == "upstream_auth_error" and probed.upstream.via in probed.found.lacks
    if problem.code == "model_not_found" or has_no_path:  # the key may be wanted in another header
        return _not_there(problem, probed, probed.found)
    return _plainly(problem, probed)


def _plainly(problem: Problem, probed: ProbedUpstream) -> Step:
    match problem.code:
        case "upstream_auth_error":
            return _key(probed)
        case "model_not_found":
            advice = "Look at the models that lead here: `name` must be what the upstream calls its model."
        case "upstream_error" if "invalid answer" in problem.message:
            advice = OTHER_WAY
        case _:
            advice = _ADVICE.get(problem.code, _ITS_LOG)
    return Step("error", "answers", problem.message.rstrip("."), advice)


def _key(probed: ProbedUpstream) -> Step:
    if probed.key_from:
        where = probed.key_from.removeprefix("env:")
        advice = f"Is it the right key for this server, and still valid? It comes from {where}."
        return Step("error", "key", "it refuses the API key", advice)
    if probed.upstream.auth == "passthrough":
        return Step("note", "key", "it needs one: callers send theirs, so nothing more can be tested here")
    variable = provider_of(probed.upstream.provider or (probed.found.server if probed.found else None)).key_variable
    name = variable or "NAME"
    add = probed.in_file_or(f'api_key = "env:{name}"', f"--upstream-key env:{name}", f"AM_UPSTREAM_KEY=env:{name}")
    advice = f"Add {add}" + (", where NAME is the variable that holds the key." if variable is None else ".")
    return Step("error", "key", "it needs an API key, and none is set", advice)


def _not_there(problem: Problem, probed: ProbedUpstream, found: Survey) -> Step:
    """The step of a 404: of another address, another path, or another model."""
    via, names = probed.upstream.via, [model.name for model in found.models]
    if found.base_url != probed.upstream.base_url:
        added = found.base_url.removeprefix(probed.upstream.base_url or "")
        how = f"add {added}" if added.startswith("/") and added != found.base_url else "write that"
        message = f"there is no {PATHS.get(via, 'such path')} at {probed.upstream.base_url}"
        return Step("error", "answers", message, f"{found.base_url} answers: {how} in {probed.address_setting}.")
    if via in found.lacks and found.via not in found.lacks:
        message = f"this server has no {PATHS[via]}"
        via_there = probed.in_file_or(f'via = "{found.via}"', f"--via {found.via}", f"AM_UPSTREAM_VIA={found.via}")
        return Step("error", "answers", message, f"It has {PATHS[found.via]}: use {via_there}.")
    if probed.model == DEFAULT_MODEL and not names:
        advice = f"Name a model in a [models] table; this server lists none at {found.base_url}/models."
        return Step("error", "answers", f'it does not know the model "{probed.model}"', advice)
    if names and probed.model not in names:
        return Step("error", "answers", f'it has no model "{probed.model[:_LONGEST]}"', other_models(probed, found))
    return _plainly(problem, probed)


def other_models(probed: ProbedUpstream, found: Survey) -> str:
    """The models that a server has instead of the one that was asked for."""
    names = [model.name for model in found.models]
    pull = f", or run `ollama pull {probed.model[:_LONGEST]}`" if found.server == "ollama" else ""
    return f"It lists {named(names)}{did_you_mean(probed.model, names)}: correct the name in [models]{pull}."


def named(names: Sequence[str]) -> str:
    """The first of these names, and how many there are more."""
    shown = ", ".join(name[:_LONGEST] for name in names[:_SHOWN])
    more = len(names) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


async def _not_the_server(problem: Problem, probed: ProbedUpstream, found: Survey) -> Step | None:
    """The step of an address where something else than a model server answers; None if it is one."""
    base_url = probed.upstream.base_url or ""
    if problem.code not in _SUSPECT or found.models:
        return None
    parts, proxy = urlsplit(base_url), urlsplit(proxy_for(base_url) or "").hostname
    port = parts.port or (443 if parts.scheme == "https" else 80)
    key = None if probed.upstream.api_key is None else probed.upstream.api_key.reveal()
    reply = await _glance(f"{base_url}/models", key)
    is_secure = reply.status == 0 or (reply.status == HTTPStatus.BAD_REQUEST and b"https" in reply.body.lower())
    if is_secure and parts.scheme == "http" and not proxy and await speaks_tls(parts.hostname or "", port):
        advice = f"Write https:// instead of http:// in {probed.address_setting}."
        return Step("error", "answers", f"port {port} of {parts.hostname} speaks https, not plain http", advice)
    tried = [path for via, path in PATHS.items() if via in found.lacks]
    is_nowhere = {"chat", "responses"} <= found.lacks and probed.upstream.via != "messages"
    if is_nowhere and not _is_page(reply) and reply.status not in KEY_REFUSED:
        reply = await _glance(f"{parts.scheme}://{parts.netloc}/", None)
    if _is_page(reply):
        message = f"a web page answers there{_title(reply)}, no model server"
        if proxy:
            advice = f"The proxy {proxy} may have sent it: look at HTTP_PROXY, HTTPS_PROXY and NO_PROXY."
        else:
            advice = f"Look at the port and the path in {probed.address_setting}: another program listens there."
        return Step("error", "answers", message, advice)
    if is_nowhere:
        message = f"no model server answers there: it has neither {' nor '.join(tried)}"
        return Step("error", "answers", message, f"Look at the port and the path in {probed.address_setting}.")
    return None


async def _glance(url: str, key: str | None) -> Reply:
    try:
        async with asyncio.timeout(_GLANCE):
            return await reply_of(url, key)
    except TimeoutError:
        return Reply(0)


def _title(reply: Reply) -> str:
    page = reply.body[:_MOST_READ].decode(errors="replace")
    _, begun, rest = page[page.lower().find("<title") :].partition(">")
    words = html.unescape(rest.partition("<")[0]).split() if begun and "<title" in page.lower() else []
    return f' ("{" ".join(words)[:_LONGEST]}")' if words else ""


def _is_page(reply: Reply) -> bool:
    return reply.body.lstrip()[:1] == b"<"


def no_tools(probed: ProbedUpstream, reason: str, otherwise: str) -> Step:
    """The step of a model that does not call a tool. `otherwise`: what to do where nothing is known of its server."""
    found = probed.found
    server = found.server if found is not None else ""
    able = [model.name for model in found.models if model.calls_tools] if found is not None else []
    if "/responses" in reason and probed.upstream.via in {"chat", "litellm"}:
        use = probed.in_file_or('via = "responses"', "--via responses", "AM_UPSTREAM_VIA=responses")
        advice = f"Agents need tools. This model calls them by the Responses API alone: use {use}."
    elif able and probed.model not in able:
        advice = f"Agents need tools. Of its models, these call tools: {named(able)}."
    else:
        advice = f"Agents need tools. {_TOOLS.get(server, otherwise)}"
    return Step("warning", "calls tools", reason, advice, but="calls no tools")


def small_window(probed: ProbedUpstream, window: int) -> Step:
    """The step of a context that is too small for agents."""
    server = probed.found.server if probed.found is not None else ""
    longer = LONGER.get(server, "set it to {tokens} where the model is served").format(tokens=_ROUND)
    message = f"{window} tokens, which is too little for coding agents"
    return Step("warning", "context", message, f"{longer[0].upper()}{longer[1:]}, or more.", but="has a small context")


def title_of(server: str) -> str:
    """The name of a server as people write it."""
    return TITLES.get(server, server)
