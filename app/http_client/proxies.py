"""Which proxy the environment names for an address."""

from ipaddress import ip_address
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

PROXY_SCHEMES = frozenset({"http", "https"})
"""What proxies speak that can be used; not SOCKS."""


def proxy_for(url: str) -> str | None:
    """The proxy that the environment names for this address; None for loopback addresses."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host == "localhost" or _is_loopback(host) or proxy_bypass(parts.netloc):
        return None
    proxy = getproxies().get(parts.scheme)
    # without a scheme, its host would be taken for a path
    return f"http://{proxy}" if proxy and "//" not in proxy else proxy


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
