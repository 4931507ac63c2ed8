"""The kinds of values in a configuration, and the words for those that are none."""

import os
import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr


class Text(str):
    """A value from outside the file, a variable or a flag: there, numbers and lists are written as texts."""

    __slots__ = ()


def did_you_mean(word: str, known: Iterable[str], likeness: float = 0.7) -> str:
    """` (did you mean …?)` for a word that is similar to a known one, otherwise an empty text."""
    from difflib import get_close_matches  # for mistakes alone

    names = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), names, 1, likeness)
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


def _name(text: str) -> str:
    if not text or text != text.strip() or not text.isprintable():
        raise ValueError("must be a name without spaces around it and without control characters")
    return text


def _key_name(name: str) -> str:
    if name.lower() in {"guest", "anyone"}:
        raise ValueError("is reserved for callers without a key of this server: choose another name")
    return name


def _secret(key: SecretStr) -> SecretStr:
    if not re.fullmatch("[!-~]+", key.get_secret_value()):  # it is sent in a header
        raise ValueError("must be printable ASCII without spaces or line breaks, and not empty")
    return key


def _seal_key(key: SecretStr) -> SecretStr:
    if len(key.get_secret_value()) < 32:
        raise ValueError("must be at least 32 random characters: `openssl rand -hex 32`")
    return key


def _digest(text: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{64}", text):
        raise ValueError("must be the SHA-256 of the key: 64 hexadecimal digits")
    return text.lower()


def _host(text: str) -> str:
    if text != "*" and not re.fullmatch(r"[A-Za-z0-9._-]+|\[?[0-9A-Fa-f:.]+\]?", text):
        raise ValueError('must be a host name or address without a port, or "*"')
    return text.strip("[]").lower()


def _origin(text: str) -> str:
    if text != "*" and not re.fullmatch(r"(?i)[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?", text):
        raise ValueError('must be an origin such as "https://example.com", without a path, or "*"')
    return text.lower()


def _workers(value: Any) -> Any:
    if value == "auto":
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return value


Name = Annotated[str, AfterValidator(_name)]
KeyName = Annotated[Name, AfterValidator(_key_name)]
Secret = Annotated[SecretStr, AfterValidator(_secret)]
SealKey = Annotated[Secret, AfterValidator(_seal_key)]
Digest = Annotated[str, AfterValidator(_digest)]
Url = Annotated[str, AfterValidator(address)]
Workers = Annotated[int, BeforeValidator(_workers), Field(ge=1, le=64)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Kilobytes = Annotated[int, Field(ge=1024)]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Wait = Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)]
Price = Annotated[float, Field(ge=0, allow_inf_nan=False)]
LIST = Field(strict=False)
"""TOML has lists, and no tuples."""
Words = Annotated[tuple[Name, ...], LIST]
Hosts = Annotated[tuple[Annotated[str, AfterValidator(_host)], ...], LIST]
Origins = Annotated[tuple[Annotated[str, AfterValidator(_origin)], ...], LIST]
