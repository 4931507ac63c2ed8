"""Connects to an address: its name, its port and TLS, with advice on what fails."""

import asyncio
import socket
import ssl
import time
from contextlib import suppress
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from ..http_client.proxies import PROXY_SCHEMES, proxy_for
from ..providers.lookup import PROVIDERS
from ..settings import is_loopback
from ..upstreams.http_server import CONNECT
from ..upstreams.local_servers import find_local_servers, servers_on
from .rows import Step

_DAY: Final = 86_400
_SOON: Final = 14
"""Days before its end at which a certificate gets a warning."""
_NO_PROXY: Final = "Look at HTTP_PROXY, HTTPS_PROXY and NO_PROXY in the environment."
_CONTAINER: Final = Path("/.dockerenv")
_HOSTS: Final = {
    host: provider.name
    for provider in PROVIDERS
    for url in (provider.base_url, provider.messages_url)
    if (host := urlsplit(url or "").hostname)
}
_SIMILAR: Final = 0.85
"""How much a host must be like a known one to be a typing error."""
_ANSWER: Final = b"HTTP/"
_GUESS: Final = 2
"""Seconds for finding out whether a port speaks the other of http and https. Some servers just wait then."""


async def reach(base_url: str, setting: str = "base_url") -> list[Step]:
    """Resolve the name and connect. The last step is the only one that can be an error.

    `setting` is what the operator wrote the address into, for the advice.
    """
    proxy = proxy_for(base_url)
    parts = urlsplit(proxy or base_url)
    host, secure = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    if proxy and parts.scheme not in PROXY_SCHEMES:
        message = f"{host} speaks {parts.scheme}, and only http and https proxies can be used"
        return [Step("error", "proxy", message, _NO_PROXY)]
    steps = [Step("note", "proxy", f"{host}, which the environment names")] if proxy else []
    if not _is_address(host):
        began = time.perf_counter()
        try:
            async with asyncio.timeout(CONNECT):
                infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, TimeoutError, UnicodeError) as error:
            message, advice = _unresolved(host, error, setting)
            return [*steps, Step("error", "name resolves", message, _NO_PROXY if proxy else advice)]
        addresses = list(dict.fromkeys(str(address[0]) for *_, address in infos))
        steps.append(Step("ok", "name resolves", f"{', '.join(addresses[:3])}  ({milliseconds(began)})"))
    step = await _connect(host, port, setting, secure=secure)
    return [*steps, step._replace(advice=_NO_PROXY) if proxy and step.state == "error" else step]


def _is_address(host: str) -> bool:
    try:
        return bool(ip_address(host))
    except ValueError:
        return False


def _unresolved(host: str, error: Exception, setting: str) -> tuple[str, str]:
    if isinstance(error, TimeoutError) or (isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN):
        return f"no DNS server answers about {host}", "Is this machine online? Look at its DNS settings."
    if host in _HOSTS:
        return f"no DNS server here knows {host}", "Is this machine online? Look at its DNS settings."
    if near := get_close_matches(host, _HOSTS, n=1, cutoff=_SIMILAR):
        return f"there is no host {host} (did you mean {near[0]}?)", f"Correct the name in {setting}."
    if host == "host.docker.internal":
        how = "--add-host host.docker.internal:host-gateway"
        return f"there is no host {host}", f"Only containers know this name; on Linux, start them with {how}."
    return f"there is no host {host}", f"Look at {setting}: is the name right, and does this machine's DNS work?"


async def _connect(host: str, port: int, setting: str, *, secure: bool) -> Step:
    began = time.perf_counter()
    context = ssl.create_default_context() if secure else None
    try:
        async with asyncio.timeout(CONNECT):
            _, writer = await asyncio.open_connection(host, port, ssl=context)
    except (OSError, TimeoutError) as error:
        return await _not_connected(error, host, port, setting, secure=secure)
    took = milliseconds(began)
    tls: ssl.SSLObject | None = writer.get_extra_info("ssl_object")
    writer.close()
    with suppress(OSError, ssl.SSLError):
        await writer.wait_closed()
    if tls is None:
        return Step("ok", "reachable", f"port {port}  ({took})")
    days = (ssl.cert_time_to_seconds(str((tls.getpeercert() or {})["notAfter"])) - time.time()) / _DAY
    message = f"{tls.version()}, certificate valid for {days:.0f} days  ({took})"
    if days < _SOON:
        return Step("warning", "TLS", message, "Renew it soon.", but="its certificate ends soon")
    return Step("ok", "TLS", message)


async def _not_connected(error: OSError, host: str, port: int, setting: str, *, secure: bool) -> Step:
    """The step of a connection that was not made. A timeout is an OSError too."""
    title = "TLS" if secure else "reachable"
    where, advice = f"{host} port {port}", f"Look at {setting}, and at firewalls."
    match error:
        case ssl.SSLCertVerificationError():
            message = f"its certificate is not trusted: {error.verify_message}"
            advice = "The certificate must be one that this machine trusts, for this very name (see SSL_CERT_FILE)."
        case ssl.SSLError() | ConnectionResetError() | TimeoutError() if secure and await speaks_http(host, port):
            message = f"port {port} speaks plain http, not https"
            advice = f"Write http:// instead of https:// in {setting}."
        case ssl.SSLError() | ConnectionResetError() if secure:
            reason = getattr(error, "reason", None) or "the server closes the connection during the handshake"
            message, advice = f"no secure connection: {reason}", f"Look at {setting}: perhaps it speaks plain http."
        case ConnectionRefusedError():
            message, advice = f"nothing listens on {where}", await _not_running(host, port, setting)
        case TimeoutError():
            message = f"{where} did not answer within {CONNECT} seconds"
            advice = f"Look at {setting}, at firewalls, and at the VPN if it needs one."
        case _:
            message = f"no connection to {where}: {error.strerror or 'the system does not allow it'}"
    return Step("error", title, message, advice)


async def speaks_http(host: str, port: int) -> bool:
    """Whether this port answers plain HTTP."""
    try:
        async with asyncio.timeout(_GUESS):
            reader, writer = await asyncio.open_connection(host, port)
            try:
                writer.write(b"HEAD / HTTP/1.0\r\n\r\n")
                return await reader.readexactly(len(_ANSWER)) == _ANSWER
            finally:
                writer.close()
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        return False


async def speaks_tls(host: str, port: int) -> bool:
    """Whether this port makes TLS connections, with whatever certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        async with asyncio.timeout(_GUESS):
            _, writer = await asyncio.open_connection(host, port, ssl=context)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


async def _not_running(host: str, port: int, setting: str) -> str:
    """What to do where nothing listens."""
    if not is_loopback(host):
        return f"Is it running? Look at the port in {setting}, and at firewalls."
    advice = []
    if usual := servers_on(port):
        advice.append(f"{usual[0].title} usually listens on this port: `{usual[0].start}` starts it.")
    if others := await find_local_servers():
        answer = ", ".join(f"{other.title} at {other.base_url}" for other in others[:3])
        advice.append(
            f"On this machine there is {answer}: did you mean {'this one' if len(others) == 1 else 'one of them'}?"
        )
    if _CONTAINER.exists():
        advice.append("In a container, this address is the container itself; the host is host.docker.internal.")
    return " ".join(advice) or f"Is it running? Look at the port in {setting}."


def milliseconds(began: float) -> str:
    """The time since `began`, as text."""
    return f"{(time.perf_counter() - began) * 1000:.0f} ms"
