"""What an endpoint leaves behind to be done in the outermost room, when all that led to it has returned."""

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

_KEY: Final = "am_proxy_afterwards"


def leave(scope: Scope, work: Callable[[Scope], Awaitable[None]]) -> None:
    """Have this done, with the scope of the outermost room: the one here is a copy."""
    scope["state"][_KEY].append(work)


async def afterwards(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Let the application do its part, and then what it left behind."""
    left: list[Callable[[Scope], Awaitable[None]]] = []
    scope.setdefault("state", {})[_KEY] = left
    await app(dict(scope), receive, send)  # a copy: what the application writes down in it is not kept either
    for work in left:
        await work(scope)
