"""Types that check single values: names, addresses, numbers of seconds."""

import re
from ipaddress import ip_address, ip_network
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from .base_urls import complete_url
from .secret import Secret

SEAL_KEY_LENGTH: Final = 32
MOST_WORKERS: Final = 64
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]


def _name(text: str) -> str:
    """A name: not empty, and without invisible characters."""
    if not text or text != text.strip() or not text.isprintable():
        message = "must be a name without spaces around it and without control characters"
        raise ValueError(message)
    return text


def _key_name(name: str) -> str:
    """The name of a key. Two names are reserved for callers without a key."""
    if name.lower() in {"guest", "anyone"}:
        message = "is reserved for callers without a key of this server: choose another name"
        raise ValueError(message)
    return name


def address(url: str) -> str:
    """An upstream's address, without the slash at its end."""
    if not _is_address(url):
        meant = complete_url(url)
        message = "must be an address that starts with http:// or https://"
        message += f" (did you mean {meant}?)" if _is_address(meant) else ""
        raise ValueError(message)
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        message = "must not hold a user name or password: use api_key"
        raise ValueError(message)
    if parts.query or parts.fragment:
        message = "must end with its path, without ? or #"
        raise ValueError(message)
    return url.rstrip("/")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    has_host = parts.scheme in {"http", "https"} and bool(parts.hostname) and port != 0
    return has_host and " " not in url and url.isprintable()


def _collector(url: str) -> str:
    """An address, or an empty text."""
    return url and address(url)


def _digest(text: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{64}", text):
        message = "must be the SHA-256 of the key: 64 hexadecimal digits"
        raise ValueError(message)
    return text.lower()


def _origin(text: str) -> str:
    """A web page's origin, as browsers send it; or all of them."""
    if text == "*":
        return text
    if not re.fullmatch(r"[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?", text.lower()):
        message = 'must be an origin such as "https://example.com", without a path, or "*"'
        raise ValueError(message)
    return text.lower()


def _host(text: str) -> str:
    """A name or address as in a Host header, without the port."""
    if text != "*" and not re.fullmatch(r"[A-Za-z0-9._-]+|\[?[0-9A-Fa-f:.]+\]?", text):
        message = 'must be a host name or address without a port, or "*"'
        raise ValueError(message)
    return text.strip("[]").lower()


def _network(text: str) -> str:
    """An address, or a network such as 10.0.0.0/8."""
    try:
        return str(ip_network(text, strict=False))
    except ValueError:
        message = "must be an address or a network, such as 10.0.0.0/8"
        raise ValueError(message) from None


def _split(value: object) -> object:
    """A list, or a text with commas, as in an environment variable."""
    return [word.strip() for word in value.split(",") if word.strip()] if isinstance(value, str) else value


def _workers(value: object) -> int | Literal["auto"]:
    """A number of processes."""
    number = value if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if number == "auto":
        return "auto"
    try:
        number = int(number)
    except ValueError:
        number = 0
    if not 1 <= number <= MOST_WORKERS:
        message = f'must be a number from 1 to {MOST_WORKERS}, or "auto"'
        raise ValueError(message)
    return number


def _seal_key(key: Secret) -> Secret:
    if len(key.reveal()) < SEAL_KEY_LENGTH:
        message = f"must be at least {SEAL_KEY_LENGTH} random characters: `openssl rand -hex 32`"
        raise ValueError(message)
    return key


Name = Annotated[str, Field(max_length=256), AfterValidator(_name)]
KeyName = Annotated[Name, AfterValidator(_key_name)]
Origins = Annotated[tuple[Annotated[str, AfterValidator(_origin)], ...], BeforeValidator(_split)]
Hosts = Annotated[tuple[Annotated[str, AfterValidator(_host)], ...], BeforeValidator(_split)]
Networks = Annotated[tuple[Annotated[str, AfterValidator(_network)], ...], BeforeValidator(_split)]
Address = Annotated[str, AfterValidator(address)]
Collector = Annotated[str, AfterValidator(_collector)]
Digest = Annotated[str, AfterValidator(_digest)]
Workers = Annotated[Literal["auto"] | int, BeforeValidator(_workers)]
SealKey = Annotated[Secret, AfterValidator(_seal_key)]


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens on `host`. Of names, only localhost is sure."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"
