"""Connects to one upstream, asks it and prints the results, for `am-proxy doctor` and `am-proxy check --probe`.

Every question uses the same upstream classes as a client's request, so the results hold for clients too.
"""

import asyncio
import shutil
import socket
import ssl
import sys
import textwrap
import time
from collections.abc import Iterable, Sequence
from contextlib import aclosing, suppress
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import urlsplit

from ..dialects.chat.chat_options import ChatOptions
from ..dialects.chat.turn import ChatTurn
from ..options import Via
from ..parsing.request_body import parse_object
from ..protocol.problems import Problem
from ..protocol.response import Identity
from ..settings import Settings, Upstream
from ..upstreams.http_server import CONNECT, proxy_for
from ..upstreams.port import UpstreamBroke, UpstreamRefused
from ..upstreams.survey import list_models
from ..wiring import upstream_of
from .probe_answers import ProbeAnswer, read_chunks, read_events

Json = dict[str, Any]

PATIENCE: Final = 60
"""Seconds that an answer may take: a small server may first have to load its model."""
LIST_WITHIN: Final = 10
"""Seconds that a list of models may take."""
DEFAULT_MODEL: Final = "default"
"""The model to ask for where no name is known. Servers of a single model often ignore the name."""

_SHORTEST_KEY: Final = 8
"""Characters. A shorter one is no secret (`none`, `ollama`), and removing it would garble our own text."""
_NARROWEST: Final = 20
"""The smallest width of a text in characters, however narrow the terminal is."""
_DAY: Final = 86_400
_SOON: Final = 14
"""Days before its end at which a certificate gets a warning."""
_NO_NAME: Final = "Look at base_url: is the name right, and does this machine's DNS work?"
_NO_SERVER: Final = "Is it running? Look at the port in base_url, and at firewalls."
_NO_PROXY: Final = "Look at HTTP_PROXY, HTTPS_PROXY and NO_PROXY in the environment."
_NO_TLS: Final = "Perhaps it speaks plain http: look at base_url."


class Step(NamedTuple):
    """The result of one check. After an `error` the next steps cannot work."""

    state: Literal["ok", "warning", "error", "note"]
    title: str
    message: str = ""
    advice: str = ""


async def reach(base_url: str) -> list[Step]:
    """Resolve the name and connect. The last step is the only one that can be an error."""
    proxy = proxy_for(base_url)
    parts = urlsplit(proxy or base_url)
    host, secure = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    steps = [Step("note", "proxy", f"{host}, which the environment names")] if proxy else []
    began = time.perf_counter()
    try:
        async with asyncio.timeout(CONNECT):
            infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError):
        return [*steps, Step("error", "name resolves", f"no: {host}", _NO_PROXY if proxy else _NO_NAME)]
    addresses = list(dict.fromkeys(str(address[0]) for *_, address in infos))
    steps.append(Step("ok", "name resolves", f"{', '.join(addresses[:3])}  ({milliseconds(began)})"))
    step = await _connect(host, port, secure=secure)
    return [*steps, step._replace(advice=_NO_PROXY) if proxy and step.state == "error" else step]


async def _connect(host: str, port: int, *, secure: bool) -> Step:
    began = time.perf_counter()
    title = "TLS" if secure else "reachable"
    try:
        async with asyncio.timeout(CONNECT):
            _, writer = await asyncio.open_connection(host, port, ssl=ssl.create_default_context() if secure else None)
    except ssl.SSLCertVerificationError as error:
        advice = "The certificate must be one that this machine trusts, for this very name (see SSL_CERT_FILE)."
        return Step("error", title, f"no: {error.verify_message}", advice)
    except ssl.SSLError as error:
        return Step("error", title, f"no: {error.reason or error}", _NO_TLS)
    except (OSError, TimeoutError) as error:
        if secure and isinstance(error, ConnectionResetError):
            return Step("error", title, "no: the server closes the connection during the handshake", _NO_TLS)
        refused = isinstance(error, ConnectionRefusedError)
        message = "nothing listens there" if refused else "no connection can be made"
        return Step("error", title, f"no: {message} (port {port})", _NO_SERVER)
    tls: ssl.SSLObject | None = writer.get_extra_info("ssl_object")
    took = milliseconds(began)
    writer.close()
    with suppress(OSError, ssl.SSLError):
        await writer.wait_closed()
    if tls is None:
        return Step("ok", title, f"port {port}  ({took})")
    days = (ssl.cert_time_to_seconds(str((tls.getpeercert() or {})["notAfter"])) - time.time()) / _DAY
    message = f"{tls.version()}, certificate valid for {days:.0f} days  ({took})"
    return Step("warning", title, message, "Renew it soon.") if days < _SOON else Step("ok", title, message)


async def listed_models(upstream: Upstream) -> Sequence[str]:
    """The models for chat that `GET /models` lists; empty if the server has no such list."""
    key = None if upstream.api_key is None else upstream.api_key.reveal()
    return [model.name for model in await list_models(upstream.base_url or "", key, within=LIST_WITHIN)]


def model_for(settings: Settings, name: str, listed: Sequence[str]) -> tuple[str, str]:
    """The model to ask for, and the reason."""
    for public, model in settings.models.items():
        if model.upstream == name and (public != "*" or model.name is not None):
            return model.name or public, "named in [models]"
    if listed:
        chosen = "the only chat model" if len(listed) == 1 else f"the first of {len(listed)} chat models"
        return listed[0], f"[models] names none; {chosen} that the server lists"
    return DEFAULT_MODEL, "neither [models] nor the server names one"


async def ask(via: Via, upstream: Upstream, model: str, question: Json) -> ProbeAnswer:
    """Ask an upstream with this `via`, whatever is configured. `question` holds members of a Responses request."""
    if via != upstream.via:
        upstream = upstream.model_copy(update={"via": via, "provider": None})
    body: Json = {"model": model, "stream": True, "store": False, **question}
    if via != "responses":
        identity = Identity("resp_probe", 0)
        turn = ChatTurn(
            parse_object(body), model=model, options=ChatOptions(), identity=identity, new_id=str, now=lambda: 0
        )
        body = turn.ask
    opened = upstream_of(upstream)
    began = time.perf_counter()
    times: list[float] = []
    payloads: list[Json] = []
    problem = None
    try:
        async with asyncio.timeout(PATIENCE), aclosing(opened.open(body)) as stream:
            async for payload in stream:
                payloads.append(payload)
                times.append(time.perf_counter() - began)
    except (UpstreamRefused, UpstreamBroke) as error:
        problem = error.problem
    except TimeoutError:
        problem = Problem(code="upstream_timeout", message=f"It did not end its answer within {PATIENCE} seconds.")
    finally:
        await opened.close()
    whole = time.perf_counter() - began
    if problem is not None:
        return ProbeAnswer("unclear", f"no: {problem.message}", problem=problem, whole=whole)
    return (read_events if via == "responses" else read_chunks)(payloads, times)._replace(whole=whole)


def milliseconds(began: float) -> str:
    """The time since `began`, as text."""
    return f"{(time.perf_counter() - began) * 1000:.0f} ms"


def show(title: str, message: str, upstreams: Iterable[Upstream]) -> None:
    """Print a title and a text, wrapped on a terminal, without the keys of these upstreams and control characters."""
    for upstream in upstreams:
        key = "" if upstream.api_key is None else upstream.api_key.reveal()
        if len(key) >= _SHORTEST_KEY:
            message = message.replace(key, "…")
    message = "".join(letter if letter.isprintable() else "?" for letter in message)
    if sys.stdout.isatty():
        width = max(shutil.get_terminal_size().columns - len(title), _NARROWEST)
        message = f"\n{' ' * len(title)}".join(textwrap.wrap(message, width, break_long_words=False))
    print(f"{title}{message}".rstrip(), flush=True)
