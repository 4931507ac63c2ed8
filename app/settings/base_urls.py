"""Addresses of upstreams: what is wrong with one, and which one may be meant. Nothing is asked of a network."""

import re
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from ..providers.lookup import PROVIDERS

_SCHEME: Final = re.compile(r"([A-Za-z]{2,6})(?:[:;.,]?/{1,2}|:(?=[^0-9/]))")
"""What looks like the start of an address, with its usual typing errors: `http//`, `htp://`, `http:/`, `https:`."""
_PLAIN: Final = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/%:-]*)?")
_PATHS: Final = ("/chat/completions", "/completions", "/responses", "/messages", "/embeddings")
"""What AM Proxy, or a client, adds to an address."""
_OLLAMA_PATHS: Final = ("/api/chat", "/api/generate", "/api/tags")
_LONGEST: Final = 200
_LIST: Final = "/models"
_OWN_ADDRESSES: Final = {
    name: each.base_url for each in PROVIDERS if each.base_url for name in (each.name, *each.aliases)
}
_OWN_HOSTS: Final = {urlsplit(address).netloc: address for address in _OWN_ADDRESSES.values()}


def complete_url(text: str) -> str:
    """An address that starts with `http://` or `https://` for one that does not; empty if there is no likely one."""
    if own := _OWN_ADDRESSES.get(text.lower()):
        return own
    from difflib import get_close_matches  # noqa: PLC0415 — for mistakes alone

    found = _SCHEME.match(text)
    near = get_close_matches(found[1].lower(), ("http", "https"), n=1, cutoff=0.7) if found else []
    rest = text[found.end() :] if found and near else text
    if len(text) > _LONGEST or not _PLAIN.fullmatch(rest):  # a password, a key, or no address at all
        return ""
    host, slash, path = rest.partition("/")
    name = host.rpartition(":")[0] or host if host[-1] != "]" else host
    if not near and "." not in name and name != "localhost" and name == host:
        return ""  # one word
    scheme = near[0] if near else "http" if name != host or _is_local(name) else "https"
    if not path.strip("/"):
        return _OWN_HOSTS.get(host) or f"{scheme}://{host}/v1"
    url = f"{scheme}://{host}{slash}{path}".rstrip("/")
    return base_of(url)[0] or url


def _is_local(name: str) -> bool:
    try:
        return not ip_address(name.strip("[]")).is_global
    except ValueError:
        return "." not in name or name.endswith((".local", ".internal", ".lan"))


def with_version(url: str) -> str:
    """The same address with `/v1` if it has no path, and is that of a machine nearby; otherwise empty.

    Most model servers that people run have their API there. Providers may have it anywhere.
    """
    parts = urlsplit(url)
    return f"{url.rstrip('/')}/v1" if not parts.path.strip("/") and _is_local(parts.hostname or "") else ""


def base_of(url: str) -> tuple[str, str]:
    """The base of an address that ends with the path of one request, and this path; empty for any other address."""
    for path in (*_OLLAMA_PATHS, *_PATHS):
        if url.endswith(path):
            return url.removesuffix(path) + ("/v1" if path in _OLLAMA_PATHS else ""), path
    base = url.removesuffix(_LIST)
    is_version = base != url and re.fullmatch(r"v[0-9][0-9a-z]{0,9}", base.rpartition("/")[2]) is not None
    return (base, _LIST) if is_version else ("", "")  # at Azure an address may end with /models
