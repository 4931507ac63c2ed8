"""Which addresses an upstream, or this server, may fetch for a client. Pure: no name is looked up.

A public name may still lead to a private address, found when it is looked up (`attachments.py`).
"""

import re
import unicodedata
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from urllib.parse import urlsplit

from ..types.problems import ProblemError, refuse

_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?", re.ASCII)
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+", re.ASCII)
"""The last part of an address. Other spellings than the usual one are refused: fetchers read them differently."""
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")
_INTERNAL = (".localhost", ".local", ".localdomain", ".internal", ".intranet", ".lan", ".home.arpa", ".corp")
_LONGEST_URL = 8192
_NAT64 = 0x0064_FF9B_0000_0000_0000_0000
"""The first 96 bits of an IPv6 address that stands for an IPv4 address."""


def check_url(url: str, path: str, *, allow_private: bool) -> None:
    """Refuses, by its path in the request, an address that is not plain http(s) to a public host."""
    if len(url) > _LONGEST_URL:
        raise refuse_url(path, f"it is longer than {_LONGEST_URL} characters")
    if _UNSAFE.search(url):
        raise refuse_url(path, "it contains a space, a control character or a backslash")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise refuse_url(path, "it cannot be read as a URL") from None
    if parts.scheme not in {"http", "https"}:
        raise refuse_url(path, "only http and https URLs and base64 data URIs are accepted")
    if "@" in parts.netloc:
        raise refuse_url(path, "it contains user information")
    if not host:
        raise refuse_url(path, "it has no host")
    if not (allow_private or _is_public_host(host)):
        raise refuse_url(path, "it does not point to a public host")


def refuse_url(path: str, why: str) -> ProblemError:
    """The refusal of the address at this path of the request."""
    return refuse("invalid_value", f"Invalid URL in '{path}': {why}.", path)


def is_data_uri(url: str) -> bool:
    """Whether the URL contains the data itself, in base64."""
    head, comma, _ = url[:512].partition(",")
    return bool(comma) and head[:5].lower() == "data:" and head.lower().endswith(";base64")


def is_public(address: str) -> bool:
    """Whether this address, as a look-up gives it, is public."""
    try:
        return _is_public_v6(IPv6Address(address)) if ":" in address else _is_public_v4(IPv4Address(address))
    except AddressValueError:
        return False


def _is_public_host(host: str) -> bool:
    if ":" in host:
        return is_public(host)
    name = _as_ascii(host)
    if not _HOST.fullmatch(name):
        return False
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        return is_public(name)
    return "." in name and not name.endswith(_INTERNAL)


def _as_ascii(host: str) -> str:
    """The name as it would be looked up; empty if it is not a name."""
    try:
        return unicodedata.normalize("NFKC", host).removesuffix(".").encode("idna").decode().lower()
    except UnicodeError:
        return ""


def _is_public_v4(address: IPv4Address) -> bool:
    return address.is_global and not address.is_multicast


def _is_public_v6(address: IPv6Address) -> bool:
    """An IPv4 address within it must be public, too. One with a scope belongs to a local link."""
    value = int(address)
    if address.scope_id is not None:
        return False
    if address.ipv4_mapped is not None or value >> 32 == _NAT64:
        return _is_public_v4(IPv4Address(value & 0xFFFF_FFFF))
    inner = [v4 for v4 in (address.sixtofour, *(address.teredo or ())) if v4 is not None]
    return value >> 125 == 0b001 and address.is_global and all(map(_is_public_v4, inner))
