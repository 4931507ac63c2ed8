"""Checks the URLs that an upstream, or this server, is to fetch for a client. Pure: no name is looked up.

A refusal here is the first line only: a public name may still lead to a private address. But an address written in
any of its spellings (decimal, hexadecimal, octal, short, mapped into IPv6, full-width digits) is recognized.
"""

import re
import unicodedata
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final
from urllib.parse import urlsplit

from ..protocol.problems import ProblemError, refuse
from ..protocol.request.create_response import CreateResponse

_HOST: Final = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?", re.ASCII)
_NUMBER: Final = re.compile(r"0x[0-9a-f]*|[0-9]+", re.ASCII)
_CLEAR_NUMBER: Final = re.compile(r"0x[0-9a-f]+|0|[1-9][0-9]*", re.ASCII)
"""A leading zero means octal to some fetchers and nothing to others."""
_UNSAFE: Final = re.compile(r"[\x00-\x20\x7f\\]")
_INTERNAL: Final = (".localhost", ".local", ".localdomain", ".internal", ".intranet", ".lan", ".home.arpa", ".corp")
CONTENT: Final = ("content", "output")
"""The members of items that hold parts."""
_LONGEST_URL: Final = 8192
_LONGEST_NAME: Final = 253
_IPV4_BITS: Final = 32
_OCTETS: Final = 4
_NAT64: Final = 0x0064_FF9B_0000_0000_0000_0000
"""The first 96 bits of an IPv6 address that stands for an IPv4 address (NAT64)."""
_UNICAST: Final = 0b001
"""The first three bits of every public IPv6 address."""


def check_url(url: str, path: str, *, allow_private: bool) -> None:
    """Refuses a URL that is not plain http(s) to a public host."""
    if len(url) > _LONGEST_URL:  # the standard library remembers the last ones that it has split
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
    if not allow_private and _is_private(host):
        raise refuse_url(path, "it does not point to a public host")


def is_public(address: str) -> bool:
    """Whether this address, the result of a lookup, is public."""
    if ":" in address:
        return not _is_private_v6(address)
    try:
        return _is_public_v4(IPv4Address(address))
    except AddressValueError:
        return False


def is_data_uri(url: str) -> bool:
    """Whether the URL contains the data itself, in base64."""
    if url[:5].lower() != "data:":
        return False
    head, comma, _ = url[:512].partition(",")
    return bool(comma) and head.lower().endswith(";base64")


def refuse_url(path: str, why: str) -> ProblemError:
    """The refusal of the URL at this path of the request."""
    return refuse("invalid_value", f"Invalid URL in '{path}': {why}.", path)


def _is_private(host: str) -> bool:
    if ":" in host:
        return _is_private_v6(host)
    name = _as_ascii(host)
    if not _HOST.fullmatch(name):
        return True
    if (address := _as_ipv4(name)) is not None:
        return not _is_public_v4(address)
    if _NUMBER.fullmatch(
        name.rpartition(".")[2]
    ):  # it ends like an address but is not one: fetchers read it differently
        return True
    return "." not in name or name.endswith(_INTERNAL)


def _as_ascii(host: str) -> str:
    """The name as it would be looked up; empty if it is not a name."""
    if len(host) > _LONGEST_NAME:
        return ""
    try:
        name = unicodedata.normalize("NFKC", host).removesuffix(".").encode("idna").decode()
    except UnicodeError:
        return ""
    return name.lower()


def _as_ipv4(host: str) -> IPv4Address | None:
    """The address in any spelling that all fetchers read alike: one to four numbers, decimal or hexadecimal."""
    numbers = host.split(".")
    if len(numbers) > _OCTETS or not all(_CLEAR_NUMBER.fullmatch(number) for number in numbers):
        return None
    *octets, rest = [int(number, 16 if number.startswith("0x") else 10) for number in numbers]
    if any(octet >> 8 for octet in octets) or rest >> (_IPV4_BITS - 8 * len(octets)):
        return None
    value = rest
    for index, octet in enumerate(octets):
        value |= octet << (24 - 8 * index)
    return IPv4Address(value)


def _is_private_v6(host: str) -> bool:
    try:
        address = IPv6Address(host)
    except AddressValueError:
        return True
    value = int(address)
    if address.scope_id is not None:
        return True
    if address.ipv4_mapped is not None or value >> _IPV4_BITS == _NAT64:
        return not _is_public_v4(IPv4Address(value & 0xFFFF_FFFF))
    inner = [address.sixtofour, *(address.teredo or ())]
    if any(not _is_public_v4(v4) for v4 in inner if v4 is not None):
        return True
    return value >> 125 != _UNICAST or not address.is_global


def _is_public_v4(address: IPv4Address) -> bool:
    return address.is_global and not address.is_multicast


def has_remote_urls(request: CreateResponse) -> bool:
    """Whether the request holds an image or file as a URL that is not a data URI."""
    contents = [item.member(key) for item in request.items for key in CONTENT]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    urls = (part.member("image_url") or part.member("file_url") for part in parts)
    return any(url and not is_data_uri(url) for url in urls)
