"""litellm's HTTP clients without what a streamed request does not need: cookies, redirects, auth of httpx, and a log.

httpx spends as much on these as aiohttp, which is below it, spends on the request. Any other request is left to httpx.
No import of litellm here.
"""

from functools import lru_cache
from typing import Any, Final

_FINISHED: Final = frozenset({"headers", "content", "timeout"})
"""What a request is made from if its body is there already. Other arguments are None."""


def lighten(handlers: Any) -> None:
    """Make this module of litellm create such clients."""
    import httpx  # noqa: PLC0415 — litellm's own library, which nothing needs without it

    class LightClient(httpx.AsyncClient):
        """Builds and sends a POST whose body is there and whose answer is read as it comes."""

        def build_request(self, method: str, url: Any, **parts: Any) -> httpx.Request:
            given = {name for name, value in parts.items() if value is not None}
            finished = isinstance(parts.get("content"), str | bytes) and given <= _FINISHED
            if not finished or not isinstance(url, str) or not url.startswith(("http://", "https://")):
                return super().build_request(method, url, **parts)
            timeout = parts.get("timeout", httpx.USE_CLIENT_DEFAULT)
            wait = self.timeout if timeout is httpx.USE_CLIENT_DEFAULT else httpx.Timeout(timeout)
            headers = dict(self.headers)
            headers.update((name.lower(), value) for name, value in (parts.get("headers") or {}).items())
            return httpx.Request(
                method,
                httpx.URL(url) if "?" in url else parsed(url),  # a key may stand behind it
                headers=headers,
                content=parts["content"],
                extensions={"timeout": wait.as_dict()},
            )

        async def send(self, request: httpx.Request, *, stream: bool = False, **more: Any) -> httpx.Response:
            plain = stream and not more and self.auth is None and not request.url.userinfo and not self.is_closed
            if not plain or any(self.event_hooks.values()):
                return await super().send(request, stream=stream, **more)
            response = await self._transport_for_url(request.url).handle_async_request(request)
            response.request = request
            return response

    @lru_cache(maxsize=1000)
    def parsed(url: str) -> httpx.URL:
        return httpx.URL(url)

    handler = getattr(handlers, "AsyncHTTPHandler", None)
    create = getattr(handler, "create_client", None)
    if create is None:  # a test checks that it exists
        return

    def create_client(self: Any, *args: Any, **settings: Any) -> httpx.AsyncClient:
        client: httpx.AsyncClient = create(self, *args, **settings)
        if type(client) is httpx.AsyncClient:
            client.__class__ = LightClient
        return client

    handler.create_client = create_client  # type: ignore[union-attr]
