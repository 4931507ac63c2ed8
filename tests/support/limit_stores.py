"""Copies of this server, as their store of limits sees them: in one process, each with its own connection."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from app.limit_store.lease import Lease
from app.limit_store.limit_store import LimitStore
from app.limit_store.store_connection import StoreConnection, reason_of
from app.settings import Secret, SharedLimits


@asynccontextmanager
async def copies(url: str, number: int = 1, *, password: str = "", **options: Any) -> AsyncIterator[list[LimitStore]]:
    """So many copies that have tried to connect."""
    settings = SharedLimits(store=url, password=Secret(password) if password else None, **options)
    async with AsyncExitStack() as stack:
        stores = [LimitStore(settings, StoreConnection(settings), reason_of) for _ in range(number)]
        for store in stores:
            store.hold()
            stack.push_async_callback(store.close)
            await store.start()
        yield stores


def ask(store: LimitStore, owner: str = "key:alice", **question: Any) -> Lease:
    """The question about one more turn, with these limits."""
    limits = {"requests_per_minute": 0, "concurrency": 0, "is_guest": False, "shares": False, "used": 0.0}
    return store.ask(owner=owner, **(limits | question))


async def verdict(lease: Lease) -> str:
    """The store's decision in a word; `alone` if it made none."""
    decision = await lease.decided()
    return "alone" if decision is None else decision.verdict
