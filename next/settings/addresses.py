"""Addresses of upstreams as people paste them: of one request, of a host alone, or without `http://`."""

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

from ..providers.table import PROVIDERS

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
