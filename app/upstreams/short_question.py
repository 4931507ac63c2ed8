"""One short question to a server, by GET or POST, and its whole answer or what went wrong, as a sentence."""

from http import HTTPStatus
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from ..http_client.connection_errors import CertificateError, NoAddressError, NoConnectionError, NotHttpError, TlsError
from ..options import KeyHeader
from .http_failures import TROUBLE, HttpRefusedError
from .http_server import NOT_THERE, HttpServer

LONGEST_REPLY: Final = 2 * 1024 * 1024
"""Bytes of an answer that are read. A longer one counts as none."""
VERSION_HEADERS: Final = {"anthropic-version": "2023-06-01"}
"""The version of the Messages API, which its servers want with each request, and others ignore."""
_LONGEST_URL: Final = 200
_PATIENCE: Final = 60
"""Seconds for which a server may send nothing, if the caller waits for so long."""
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_NOT_THERE: Final = NOT_THERE | REDIRECTS
KEY_REFUSED: Final = frozenset({401, 403})
SAYS_NOTHING: Final = KEY_REFUSED | {0, 502, 503, 504}
"""Statuses (0 for no answer) that do not tell whether a server has a path."""


class Reply(NamedTuple):
    """The answer to a short question."""

    status: int
    """0 if there was no answer."""
    body: bytes = b""
    trouble: str = ""
    """Why there is no answer, or what is wrong with it. It may be shown: there is no key in it."""

    @property
    def is_there(self) -> bool | None:
        """Whether the server has this path; None if that cannot be told."""
        if self.status in SAYS_NOTHING:
            return None
        page = self.body.lstrip()[:1] == b"<"
        unknown = b"Unexpected endpoint" in self.body or (page and self.status < HTTPStatus.BAD_REQUEST)
        return self.status not in _NOT_THERE and not unknown


async def reply_of(
    url: str, api_key: str | None, body: bytes | None = None, *, key_header: KeyHeader = "authorization"
) -> Reply:
    """The answer to a GET, or to a POST of this body. It never raises."""
    server = None
    try:
        server = HttpServer(url, api_key=api_key, timeout=_PATIENCE, key_header=key_header, headers=VERSION_HEADERS)
        answer = await server.ask(body)
        received = bytearray()
        try:
            async for piece in answer:
                received += piece
                if len(received) > LONGEST_REPLY:
                    return Reply(HTTPStatus.OK, trouble="Its answer is too long.")
        finally:
            answer.release(complete=False)
        return Reply(HTTPStatus.OK, bytes(received))
    except HttpRefusedError as error:
        return Reply(error.status, error.text.encode(), _refusal(error, has_key=api_key is not None))
    except (*TROUBLE, ValueError) as error:
        return Reply(0, trouble=_trouble(error))
    finally:
        if server is not None:
            await server.close()


def _refusal(error: HttpRefusedError, *, has_key: bool) -> str:
    match error.status:
        case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
            return "It refuses the API key." if has_key else "It needs an API key."
        case status if status in REDIRECTS:
            return f"It redirects{_target(error.headers.get('location', ''))}."
        case status if status in SAYS_NOTHING:
            return f"It is not ready: it answers with status {status}."
        case status:
            return f"It answers with status {status}."


def _target(location: str) -> str:
    """The target of a redirect, without what may be a secret in it."""
    try:
        parts = urlsplit(location)
        plain = parts.scheme in {"http", "https"} and "@" not in parts.netloc and len(location) <= _LONGEST_URL
    except ValueError:
        return ""
    return f" to {parts.scheme}://{parts.netloc}{parts.path}" if plain and location.isprintable() else ""


def _trouble(error: Exception) -> str:  # noqa: PLR0911 — one line per kind of trouble
    match error:
        case NoAddressError():
            return f"The name {error.host} does not resolve."
        case CertificateError():
            return "Its certificate is not trusted."
        case TlsError():
            return "No TLS connection can be made: perhaps it speaks plain http."
        case NoConnectionError():
            refused = isinstance(error.__cause__, ConnectionRefusedError)
            where = f"{error.host} port {error.port}"
            return f"Nothing listens on {where}." if refused else f"No connection to {where} can be made."
        case TimeoutError():
            return "It does not answer."
        case NotHttpError():
            return "It does not speak HTTP."
        case ValueError():
            return "That is not an address."
        case _:
            return "The connection to it broke off."
