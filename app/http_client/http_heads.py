"""The heads of requests to one address. What is the same in all of them is written once."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlsplit

from .http_connecting import Peer, proxy_key

_AS_IT_IS: Final = "/%:@!$&'()*+,;=~?[]"
"""Characters of a path and a query that are sent as they are."""


class RequestHeads:
    """Writes the heads of requests to `url`, with these headers."""

    def __init__(self, url: str, headers: Mapping[str, str], proxy: str | None) -> None:
        """Through a `proxy`, a server without TLS is asked by the proxy itself."""
        parts = urlsplit(url)
        peer = Peer.of(parts)
        self._target = quote(parts.path or "/", safe=_AS_IT_IS) + (
            f"?{quote(parts.query, safe=_AS_IT_IS)}" if parts.query else ""
        )
        self._headers = {"host": peer.authority, **headers}
        if proxy is not None and not peer.is_secure:
            self._target = f"http://{peer.authority}{self._target}"
            if key := proxy_key(urlsplit(proxy)):
                self._headers["proxy-authorization"] = key
        self._usual = {method: self._written(method, self._headers) for method in ("GET", "POST")}

    def of(self, body: bytes | None, more: Mapping[str, str]) -> bytes:
        """The head of a POST of this body, or of a GET. `more` headers replace those of the same name.

        Raises `ValueError` for a header that would be two.
        """
        method = "GET" if body is None else "POST"
        head = self._usual[method]
        if more:
            head = self._written(method, self._headers | {name.lower(): more[name] for name in more})
        return head + (b"\r\n" if body is None else b"content-length: %d\r\n\r\n" % len(body))

    def _written(self, method: str, headers: Mapping[str, str]) -> bytes:
        lines = [f"{method} {self._target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        if any(not line.isprintable() and _BREAKS & set(line) for line in lines):
            message = "a header holds a line break"
            raise ValueError(message)
        return "".join(f"{line}\r\n" for line in lines).encode("utf-8", "surrogateescape")


_BREAKS: Final = frozenset("\r\n\0")
