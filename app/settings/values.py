"""The kinds of values in a configuration, and the words for those that are none."""

import os
import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from ..providers.table import PROVIDERS


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` (did you mean …?)` for a word that is similar to a known one, otherwise an empty text."""
    from difflib import get_close_matches  # for mistakes alone

    names = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), names, 1, 0.7)
    return f" (did you mean {names[near[0]]}?)" if near else ""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens here. Of names, only localhost is sure."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def address(url: str) -> str:
    """The address of a server, without the slash at its end. Raises `ValueError`."""
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_one, parts = False, urlsplit("")
    if not is_one or not url.isprintable() or " " in url:
        raise ValueError("must be an address that starts with http:// or https://")
    if "@" in parts.netloc:
        raise ValueError("must not hold a user name or password: use api_key")
    if parts.query or parts.fragment:
        raise ValueError("must end with its path, without ? or #")
    return url.rstrip("/")


# Addresses of upstreams as people paste them: of one request, of a host alone, or without `http://`

_REQUEST = re.compile(r"(/chat/completions|/completions|/responses|/messages|/embeddings)$")
"""The path of one request."""
_OF_OLLAMA = re.compile(r"/api/(chat|generate|tags)$")
_LIST = re.compile(r"(?<=/v\d)/models$")
_OWN = {
    urlsplit(each.base_url).netloc: each.base_url
    for each in PROVIDERS
    if each.base_url and each.via in {"chat", "responses"}
}
"""The addresses of providers, by their hosts."""


def completed(url: str) -> str:
    """The address below which this server is asked."""
    if "://" not in url and re.match(r"(?!https?:)[^/]*[.:]", url):
        url = f"{'http' if _is_near(urlsplit(f'//{url}').hostname) else 'https'}://{url}"
    url = _LIST.sub("", _REQUEST.sub("", _OF_OLLAMA.sub("/v1", url.rstrip("/"))))
    parts = urlsplit(url)
    if parts.path or not parts.netloc:
        return url
    return _OWN.get(parts.netloc) or (f"{url}/v1" if _is_near(parts.hostname) else url)


def via_of(url: str) -> str:
    """How the server at this address is asked, as far as the address says it."""
    found = _REQUEST.search(url.rstrip("/"))
    return {"/messages": "messages", "/responses": "responses"}.get(found[1] if found else "", "chat")


def _is_near(host: str | None) -> bool:
    """Whether the host is in the operator's own network, where model servers have their API below `/v1`."""
    name = host or ""
    try:
        return not ip_address(name).is_global
    except ValueError:
        return "." not in name or name.endswith((".local", ".internal", ".lan"))


# Kinds of values


def _workers(value: Any) -> Any:
    if value == "auto":
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return value


def like(pattern: str, words: str) -> AfterValidator:
    """Refuses a text, or a secret, that is not of this pattern, in these words."""

    def check(value: Any) -> Any:
        if not re.fullmatch(pattern, value.get_secret_value() if isinstance(value, SecretStr) else value):
            raise ValueError(words)
        return value

    return AfterValidator(check)


def listed(value: Any) -> Any:
    """The words between commas, as a list is written in a variable or flag; any other value as it is."""
    return re.findall(r"[^\s,]+", value) if isinstance(value, str) else value


def _bare(host: str) -> str:
    return host.strip("[]").lower()


LOWER = AfterValidator(str.lower)
LIST = BeforeValidator(listed)

Name = Annotated[
    str,
    like(
        r"(?=\S)[^\0-\x1f\x7f-\x9f]*(?<=\S)", "must be a name without spaces around it and without control characters"
    ),
]
KeyName = Annotated[
    Name,
    like("(?i)(?!(guest|anyone)$).*", "is reserved for callers without a key of this server: choose another name"),
]
Word = Annotated[str, like("[a-z0-9_-]{1,64}", "must be 1 to 64 small letters, digits, _ and -")]
Secret = Annotated[  # it is sent in a header
    SecretStr, like("[!-~]+", "must be printable ASCII without spaces or line breaks, and not empty")
]
SealKey = Annotated[Secret, like(".{32,}", "must be at least 32 random characters: `openssl rand -hex 32`")]
Digest = Annotated[str, like("[0-9a-fA-F]{64}", "must be the SHA-256 of the key: 64 hexadecimal digits"), LOWER]
Url = Annotated[str, AfterValidator(address)]
Host = Annotated[
    str,
    like(r"\*|[\w.-]+|\[[0-9A-Fa-f:.]+\]", 'must be a host name or address without a port, or "*"'),
    AfterValidator(_bare),
]
Origin = Annotated[
    str,
    like(
        r"\*|[a-zA-Z][\w+.-]*://([\w.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?",
        'must be an origin such as "https://example.com", without a path, or "*"',
    ),
    LOWER,
]
Names = Annotated[tuple[Name, ...], LIST]
Workers = Annotated[int, BeforeValidator(_workers), Field(ge=1, le=64)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Price = Annotated[float, Field(ge=0)]
