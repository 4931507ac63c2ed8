"""`am-proxy doctor`: one upstream after the other, step by step, with what to do about the first step that fails.

What is asked goes through the lane that is configured, so what is found here is what clients will find.
"""

import asyncio
import socket
import ssl
import sys
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from typing import Final, Literal, NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from app.cli.doctor_asks import CALLS_A_TOOL, SAYS_A_WORD, Heard, hear
from app.cli.harmless import harmless
from app.cli.probe import model_for
from app.cli.probe_asks import Seen, look
from app.protocol.problems import Problem
from app.settings import Settings, Upstream
from app.upstreams.http_server import CONNECT
from app.upstreams.litellm_chat import close_connections, load

_MARKS: Final = {"well": "✓", "odd": "!", "ill": "✗", "note": "·"}
_DAY: Final = 86_400
_SOON: Final = 14
"""Days before its end at which a certificate is worth a word."""

_ADVICE: Final = {
    "upstream_auth_error": "Look at api_key: is it this server's, and does it still hold?",
    "model_not_found": "Look at the models that lead here: `name` must be what the upstream calls its model.",
    "rate_limit_exceeded": "It works, but has had enough for now: wait, or ask its owner for more.",
    "insufficient_quota": "The account behind the key has no credit left.",
    "upstream_timeout": "It is there but does not answer: it may be loading its model, or have too much to do.",
    "context_length_exceeded": "Even a few words are too long for it: its context is set too small.",
}
_NO_NAME: Final = "Look at base_url: is the name right, and is this machine's DNS?"
_NO_WAY: Final = "Is it running? Look at the port in base_url, and at firewalls."
_PLAIN: Final = "Perhaps it speaks plain http: look at base_url."
_NO_USAGE: Final = "See `stream_options`, or the server's own settings."
_NO_CALL: Final = "Small models often do. Agents need one that calls tools."
_ELSE: Final = "`am-proxy check --probe` says what this server speaks, and which `via` suits it."


class Step(NamedTuple):
    """One thing that was looked at."""

    state: Literal["well", "odd", "ill", "note"]
    title: str
    words: str = ""
    advice: str = ""


def doctor(settings: Settings, only: Iterable[str] = ()) -> int:
    """Look at every upstream, or at those named, and say of each step how it went. Gives 1 where something is ill."""
    wanted = list(only) or list(settings.upstreams)
    if unknown := [name for name in wanted if name not in settings.upstreams]:
        known = ", ".join(settings.upstreams)
        print(f"there is no upstream named {', '.join(unknown)}; there is {known}", file=sys.stderr)
        return 2
    return asyncio.run(_look_at(settings, wanted))


async def _look_at(settings: Settings, names: list[str]) -> int:
    ill = 0
    for name in names:
        upstream = settings.upstreams[name]
        print(f"upstreams.{name}  via {upstream.via}, {upstream.base_url or upstream.provider or 'inside this server'}")
        async for step in _steps(settings, name):
            ill += step.state == "ill"
            for line in _lines(step):
                print(harmless(line, [upstream]), flush=True)
    await close_connections()
    told = "everything is well" if not ill else f"{ill} of these upstreams {'needs' if ill == 1 else 'need'} care"
    print(f"\n{told}")
    return 1 if ill else 0


async def _steps(settings: Settings, name: str) -> AsyncIterator[Step]:
    """Ends at the first step that is ill: what comes behind it depends on it."""
    upstream = settings.upstreams[name]
    if upstream.base_url is not None:
        async for step in _reach(upstream.base_url):
            yield step
            if step.state == "ill":
                return
    seen = await look(upstream) if upstream.base_url is not None else Seen()
    model, why = model_for(settings, name, seen)
    yield Step("note", "asked for", f"{model[:100]} ({why})")
    if upstream.via == "litellm":
        began = time.perf_counter()
        await asyncio.to_thread(load)
        yield Step("note", "litellm", f"loaded in {_ms(began)}, which happens once, at the start of the server")
    said = await hear(upstream, model, SAYS_A_WORD)
    for step in _call(upstream, model, said):
        yield step
        if step.state == "ill":
            return
    yield _tools(await hear(upstream, model, CALLS_A_TOOL))


async def _reach(base_url: str) -> AsyncIterator[Step]:
    parts = urlsplit(base_url)
    host, secure = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    proxy = getproxies().get(parts.scheme)
    if proxy and not proxy_bypass(f"{host}:{port}"):
        yield Step("note", "by a proxy", "the environment names one, which looks up the name and connects")
        return
    loop, began = asyncio.get_running_loop(), time.perf_counter()
    try:
        async with asyncio.timeout(CONNECT):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError):
        yield Step("ill", "name resolves", f"no: {host}", _NO_NAME)
        return
    addresses = list(dict.fromkeys(str(address[0]) for *_, address in found))
    yield Step("well", "name resolves", f"{', '.join(addresses[:3])}  ({_ms(began)})")
    yield await _connect(host, port, secure=secure)


async def _connect(host: str, port: int, *, secure: bool) -> Step:
    began = time.perf_counter()
    title = "TLS" if secure else "reached"
    try:
        async with asyncio.timeout(CONNECT):
            _, writer = await asyncio.open_connection(host, port, ssl=ssl.create_default_context() if secure else None)
    except ssl.SSLCertVerificationError as error:
        advice = "The certificate must be one that this machine trusts, for this very name (see SSL_CERT_FILE)."
        return Step("ill", title, f"no: {error.verify_message}", advice)
    except ssl.SSLError as error:
        return Step("ill", title, f"no: {error.reason or error}", _PLAIN)
    except (OSError, TimeoutError) as error:
        if secure and isinstance(error, ConnectionResetError):
            return Step("ill", title, "no: it breaks off at the first word", _PLAIN)
        told = "nothing listens there" if isinstance(error, ConnectionRefusedError) else "no connection can be made"
        return Step("ill", title, f"no: {told} (port {port})", _NO_WAY)
    tls: ssl.SSLObject | None = writer.get_extra_info("ssl_object")
    took = _ms(began)
    writer.close()
    with suppress(OSError, ssl.SSLError):
        await writer.wait_closed()
    if tls is None:
        return Step("well", title, f"port {port}  ({took})")
    days = (ssl.cert_time_to_seconds(str((tls.getpeercert() or {})["notAfter"])) - time.time()) / _DAY
    words = f"{tls.version()}, certificate good for {days:.0f} days  ({took})"
    advice = "It will soon be refused: see to a new one." if days < _SOON else ""
    return Step("odd" if advice else "well", title, words, advice)


def _call(upstream: Upstream, model: str, said: Heard) -> Iterable[Step]:
    """The key, the answer, how it came."""
    if said.problem is not None:
        yield from _refused(upstream, said.problem)
        return
    yield Step("well", "key", "accepted" if upstream.api_key else "none is needed")
    if not said.finished:
        advice = f"Every answer of it would count as cut off. {_ELSE}"
        yield Step("ill", "answers", f"no: {model} began, but never said that it had ended", advice)
        return
    yield Step("well", "answers", f"{model} in {said.whole * 1000:.0f} ms")
    if said.pieces > 1:
        yield Step("well", "streams", f"first word after {said.first * 1000:.0f} ms, {said.pieces} pieces")
    else:
        advice = "Clients get it in one piece. Something on the way may buffer: a proxy, or the server itself."
        yield Step("odd", "streams", "the answer came in one piece", advice)
    if not said.counted:
        yield Step("odd", "counts tokens", "no: usage will be estimated", _NO_USAGE)


def _refused(upstream: Upstream, problem: Problem) -> Iterable[Step]:
    advice = _ADVICE.get(problem.code, _ELSE)
    if problem.code == "upstream_auth_error":
        told = "it is refused" if upstream.api_key else "it wants one, and none is set"
        yield Step("ill", "key", f"no: {told}", advice)
    else:
        yield Step("ill", "answers", f"no: {problem.message}", advice)


def _tools(called: Heard) -> Step:
    if called.problem is not None:
        advice = "Agents need tools: this model, or the way its server was started, may not know them."
        return Step("odd", "calls tools", f"no: {called.problem.message}", advice)
    if called.tool_called:
        return Step("well", "calls tools", f"after {called.whole * 1000:.0f} ms")
    return Step("odd", "calls tools", "no: it answered in words", _NO_CALL)


def _lines(step: Step) -> Iterable[str]:
    yield f"  {_MARKS[step.state]} {step.title:<15} {step.words}".rstrip()
    if step.advice:
        yield f"    {'':<15} → {step.advice}"


def _ms(began: float) -> str:
    return f"{(time.perf_counter() - began) * 1000:.0f} ms"
