"""What `am-proxy check --probe` asks of one server, through the lanes that serve clients, and how it reads answers."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from http import HTTPStatus
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import urlsplit

import aiohttp

from app.cli.probe_reads import MOST_TOKENS, Heard, calls_custom_tool, read_chunks, read_events
from app.protocol.problems import Problem
from app.settings import Upstream
from app.upstreams.http_server import CONNECT, TROUBLE, HttpServer
from app.upstreams.port import AnyUpstream, UpstreamBroke, UpstreamRefused
from app.wiring import upstream_of

Json = dict[str, Any]
Lane = Literal["responses", "chat", "litellm"]

PATIENCE: Final = 20
"""Seconds that each question may take."""
LONGEST_LIST: Final = 1024 * 1024
"""Bytes of a list of models, as far as it is read."""

_QUESTION: Final = "Count from one to thirty, in words."
_CUSTOM_TOOL: Final = "answer"
_GRAMMAR: Final = {"type": "grammar", "syntax": "lark", "definition": 'start: "yes" | "no"'}
_NOT_SPOKEN: Final = (
    "The upstream did not answer as it must",
    "The upstream failed with status 405",
    "The upstream failed with status 501",
)
"""How the words begin for a server that is there and speaks something else."""
_SLOW: Final = Problem(code="upstream_timeout", message="The upstream took too long to answer.")


class Seen(NamedTuple):
    """What one look at `GET /models` told."""

    unreachable: str = ""
    """Why the server cannot be reached, if it cannot."""
    names: Sequence[str] = ()


async def look(upstream: Upstream) -> Seen:
    """Reach the server and ask for its models. That it lists none is no fault."""
    server = HttpServer(f"{upstream.base_url}/models", api_key=_key(upstream), timeout=PATIENCE)
    body = b""
    try:
        async with asyncio.timeout(PATIENCE):
            answer = await server.ask(None)
            try:
                async for piece in answer:
                    body += piece
                    if len(body) > LONGEST_LIST:
                        break
            finally:
                answer.release(complete=False)
    except TROUBLE as error:
        return Seen(unreachable(error, urlsplit(upstream.base_url or "").hostname or ""))
    finally:
        await server.close()
    return Seen(names=list(_names(body)))


async def ask(lane: Lane, upstream: Upstream, model: str, seen: Seen) -> Heard:
    """Ask in this lane, whichever is configured. A limit that is refused is left out: not every model takes one."""
    provider = upstream.provider if lane == "litellm" else None
    asked = upstream_of(upstream.model_copy(update={"via": lane, "provider": provider, "timeout": PATIENCE}))
    question: Json = {"model": model, "stream": True}
    if lane == "responses":
        question |= {"input": _QUESTION, "store": False}
        limit = {"max_output_tokens": MOST_TOKENS}
    else:
        question |= {"messages": [{"role": "user", "content": _QUESTION}], "stream_options": {"include_usage": True}}
        limit = {"max_tokens": MOST_TOKENS}
    limited = True
    try:
        payloads, problem = await _hear(asked, question | limit)
        if problem is not None and not payloads and problem.answer.status == HTTPStatus.BAD_REQUEST:
            limited = False
            payloads, problem = await _hear(asked, question)
        if problem is not None:
            return _trouble(problem, upstream, model, seen)
        if lane != "responses":
            return read_chunks(payloads, limited=limited)
        heard = read_events(payloads, limited=limited)
        return heard.with_faults(*await _custom_tool_faults(asked, model)) if heard.state == "works" else heard
    finally:
        await asked.close()


async def _custom_tool_faults(asked: AnyUpstream, model: str) -> list[str]:
    """Codex cannot make one turn where such a tool is refused, and cannot patch a file where it is dropped."""
    tool = {"type": "custom", "name": _CUSTOM_TOOL, "description": "Takes an answer.", "format": _GRAMMAR}
    question = {
        "model": model,
        "stream": True,
        "input": "Is water wet? Call the tool `answer`.",
        "store": False,
        "tools": [tool],
        "tool_choice": {"type": "custom", "name": _CUSTOM_TOOL},
    }
    events, problem = await _hear(asked, question)
    if problem is not None and problem.answer.status == HTTPStatus.BAD_REQUEST:
        return ["it refuses custom tools with a grammar"]
    if problem is not None or not calls_custom_tool(events, _CUSTOM_TOOL):
        return ["it makes no call of a custom tool with a grammar"]
    return []


async def _hear(asked: AnyUpstream, question: Json) -> tuple[list[Json], Problem | None]:
    """Everything that comes, and what went wrong in the end."""
    payloads: list[Json] = []
    try:
        async with asyncio.timeout(PATIENCE), aclosing(asked.open(question)) as coming:
            async for payload in coming:
                payloads.append(payload)  # noqa: PERF401 — what came before an error is wanted too
    except (UpstreamRefused, UpstreamBroke) as error:
        return payloads, error.problem
    except TimeoutError:
        return payloads, _SLOW
    return payloads, None


def _trouble(problem: Problem, upstream: Upstream, model: str, seen: Seen) -> Heard:
    match problem.code:
        case "upstream_auth_error":
            told = "the key is refused" if upstream.api_key else "it wants a key, and no api_key is set"
            return Heard("unclear", f"no: {told}")
        case "upstream_timeout":
            return Heard("unclear", f"no: it did not end its answer within {PATIENCE} seconds")
        case "model_not_found" if model in seen.names:
            return Heard("not spoken", "no: there is no such path")
        case "model_not_found" if seen.names:
            return Heard("unclear", f"no: there is no such path, or no such model; it lists {_some(seen.names)}")
        case "model_not_found":
            return Heard("not spoken", "no: there is no such path, or no such model")
        case _:
            spoken = not problem.message.startswith(_NOT_SPOKEN)
            return Heard("unclear" if spoken else "not spoken", f"no: {problem.message}")


def _some(names: Sequence[str]) -> str:
    return ", ".join(name[:60] for name in names[:3]) + (", …" if len(names) > 3 else "")  # noqa: PLR2004 — as many as are shown


def _list(told: Any) -> list[Any]:
    return told if isinstance(told, list) else []


def _names(body: bytes) -> Iterator[str]:
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return
    for model in _list(told.get("data") if isinstance(told, dict) else None):
        if isinstance(model, dict) and isinstance(model.get("id"), str) and model["id"]:
            yield model["id"]


def _key(upstream: Upstream) -> str | None:
    return None if upstream.api_key is None else upstream.api_key.reveal()


def unreachable(error: Exception, host: str) -> str:  # noqa: PLR0911 — one line per kind of trouble
    """Why there is no connection to `host`; empty where there was one, whatever became of it."""
    match error:
        case aiohttp.ClientProxyConnectionError():
            return "the proxy that the environment names does not answer"
        case aiohttp.ClientConnectorDNSError():
            return f"the name {host} does not resolve"
        case aiohttp.ClientConnectorCertificateError():
            why = getattr(error.certificate_error, "verify_message", "")
            return f"TLS: its certificate is not trusted{f' ({why})' if why else ''}"
        case aiohttp.ClientSSLError():
            return "TLS: no secure connection can be made (is it http:// perhaps?)"
        case aiohttp.ConnectionTimeoutError():
            return f"no connection within {CONNECT} seconds"
        case aiohttp.ClientConnectorError() if isinstance(error.os_error, ConnectionRefusedError):
            return "the connection is refused, nothing listens at that port"
        case aiohttp.ClientConnectorError():
            return error.os_error.strerror or "there is no way to it"
        case _:
            return ""
