"""Why an upstream failed, for the log and for callers who run the server themselves. Pure.

Other callers see only the problem: it contains no address, and of what an upstream wrote about a refused key nothing.
"""

import os
import socket
import ssl
from http import HTTPStatus
from typing import Final, Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from msgspec.structs import replace

from ..http_client.connection_errors import UnknownProxyError
from ..protocol.problems import Problem
from .error_chain import chain_of, kinds_of
from .error_keys import without_keys
from .faults import BROKE_OFF

CauseKind: TypeAlias = Literal[
    "refused", "name", "unreachable", "tls", "silent", "key", "quota", "busy", "failed", "broke_off", "too_long",
    "model", "request", "setup",
]  # fmt: skip

LASTING: Final[frozenset[CauseKind]] = frozenset(
    {"refused", "name", "unreachable", "tls", "silent", "key", "quota", "failed", "setup"}
)
"""Kinds of causes that last until the upstream answers again, whatever it is asked."""
_CONNECTING: Final[frozenset[CauseKind]] = frozenset({"refused", "name", "unreachable", "tls", "silent"})
_KIND_OF: Final[dict[str, CauseKind]] = {
    "context_length_exceeded": "too_long",
    "insufficient_quota": "quota",
    "model_not_found": "model",
    "rate_limit_exceeded": "busy",
    "request_too_large": "too_long",
    "upstream_auth_error": "key",
    "upstream_timeout": "silent",
}
"""Code of a problem -> kind of its cause. Any other depends on the request if its HTTP status is a 4xx."""
_ADVICE: Final[dict[CauseKind, str]] = {
    "refused": "Is it running?",
    "name": "Is the name in base_url right?",
    "tls": "Perhaps it speaks plain http, or its certificate is not trusted here.",
}
_SUBJECTS: Final = ("The upstream ", "The model's server ")
"""How the messages of problems begin that say what the upstream did."""
_THROUGH_PROXY: Final = {"ClientProxyConnectionError", "ProxyConnectionError"}
"""Errors of a connection to a proxy: aiohttp's, for litellm, and ours."""
_LONGEST: Final = 200
"""Characters of an address or of a system's error."""


class Cause(NamedTuple):
    """Why an upstream failed. `words` follow its name: "refused the connection"."""

    kind: CauseKind
    words: str

    @property
    def sentence(self) -> str:
        """The words, with what may help."""
        words = self.words if self.words.endswith((".", "…", "!", "?")) else f"{self.words}."
        return f"{words} {_ADVICE[self.kind]}" if self.kind in _ADVICE else words


def of_problem(problem: Problem) -> Cause:
    """The cause, where no more is known than what the client is told."""
    if problem == BROKE_OFF:
        return Cause("broke_off", "broke off the connection")
    message = problem.message.removesuffix(" Please try again.")
    for subject in _SUBJECTS:
        if message.startswith(subject):
            return Cause(_kind_of(problem), message.removeprefix(subject).removesuffix("."))
    return Cause(_kind_of(problem), f"failed: {message}")


def of_setup(problem: Problem, error: str) -> Cause:
    """The cause of a request that could not be sent, by a fault of the setup. `error`: the class of the error."""
    return Cause("setup", f"cannot be asked: {problem.message} ({error})")


def of_answer(status: int, message: str, problem: Problem) -> Cause:
    """The cause of an HTTP error. `message` is what the upstream wrote, without keys and addresses."""
    words = f"answered {status}: {message}" if message else f"answered {status}"
    return Cause(_kind_of(problem), words)


def of_report(message: str, problem: Problem) -> Cause:
    """The cause of an error inside an answer. `message` as in `of_answer`."""
    return Cause(_kind_of(problem), f"reported an error: {message}" if message else "reported an error")


def _kind_of(problem: Problem) -> CauseKind:
    of_request = problem.shape.status < HTTPStatus.INTERNAL_SERVER_ERROR
    return _KIND_OF.get(problem.code, "request" if of_request else "failed")


def of_connection(error: BaseException) -> Cause:
    """The cause of an error that means that no connection was made."""
    if isinstance(error, UnknownProxyError):
        words = f"which speaks {error.scheme}, and only http and https proxies can be used"
        return Cause("setup", f"is asked through a proxy, as the environment says, {words}")
    chain = list(chain_of(error))
    kinds = set[str]().union(*map(kinds_of, chain))
    cause = next((cause for each in reversed(chain) if (cause := _of_system(each))), None)
    if cause is None:
        late = "TimeoutError" in kinds or "ConnectTimeout" in kinds
        cause = Cause("unreachable", "accepted no connection in time" if late else "cannot be reached")
    if _THROUGH_PROXY & kinds:
        return Cause(cause.kind, f"is asked through a proxy, as the environment says, which {cause.words}")
    return cause


def _of_system(error: BaseException) -> Cause | None:
    """The cause that an error of the system, or of its TLS library, means."""
    match error:
        case socket.gaierror():
            return Cause("name", "cannot be found: its name has no address")
        case ssl.SSLCertVerificationError():
            return Cause("tls", f"has no valid certificate: {error.verify_message[:_LONGEST]}")
        case ssl.SSLError():
            reason = (error.reason or "the handshake failed").replace("_", " ").lower()
            return Cause("tls", f"makes no secure connection: {reason[:_LONGEST]}")
        case ConnectionRefusedError():
            return Cause("refused", "refused the connection")
        case OSError(errno=int(number)) if type(error).__module__ == "builtins":
            return Cause("unreachable", f"cannot be reached: {os.strerror(number).lower()}")
        case _:
            return None


def explained(problem: Problem, cause: Cause, name: str, address: str) -> Problem:
    """The problem for a caller who runs the server: with the upstream's address and the cause."""
    if cause.kind in {"request", "setup"}:  # the message says it already
        return problem
    where = f"The upstream at {address}" if address else f"The upstream {name}"
    if cause.kind == "key":  # what the upstream wrote may be about the key
        return replace(problem, message=f"{problem.message} {where} {cause.words.partition(':')[0]}.")
    sentence = f"{where} {cause.sentence}"
    if problem.code == "upstream_error" or (cause.kind in _CONNECTING and problem.code != "overloaded"):
        return replace(problem, message=sentence)
    return replace(problem, message=f"{problem.message} {sentence}")


def shown_address(url: str, secret: str | None = None) -> str:
    """An address without what may be secret: user information, a query, and keys in its path."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    path = parts.path.replace(secret, "…") if secret else parts.path
    return without_keys(f"{parts.scheme}://{host}{path}")[:_LONGEST]
