"""Looks up and checks the addresses of a host name. The connection is made to a checked address."""

import socket
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from ..fair_slots import FairSlots
from ..lean_aiohttp import AbstractResolver, ResolveResult
from ..off_loop import OWNER
from ..own_thread import in_own_thread

LOOK_UPS: Final = 32
"""Names that are looked up at the same time, for all callers."""

LookUp = Callable[[str, int], Awaitable[Sequence[str]]]
"""A name and a port -> every address it has."""


class PrivateAddressError(OSError):
    """A name has an address that is not public."""


class LookUps:
    """Looks up names, each in a thread of its own. Slow names of one owner use no more than its share of the threads.

    A look-up whose caller has gone keeps its slot until the system has answered. `OWNER` names its owner.
    """

    def __init__(self, ask: Callable[[str, int], Sequence[str]] | None = None) -> None:
        self._ask = ask or _system
        self._slots = FairSlots(LOOK_UPS)

    async def __call__(self, name: str, port: int) -> Sequence[str]:
        """Every address of the name."""
        owner = OWNER.get()
        await self._slots.take(owner)
        return await in_own_thread(partial(self._ask, name, port), partial(self._slots.give_back, owner))


def _system(name: str, port: int) -> Sequence[str]:
    found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    # an address with a scope belongs to a local link; the scope is kept, so that the check refuses it
    return list(dict.fromkeys(socket.getnameinfo(entry[4], socket.NI_NUMERICHOST)[0] for entry in found))


class CheckedAddresses(AbstractResolver):
    """A resolver for aiohttp that returns checked addresses, so that no name is looked up a second time.

    If one address is private, the whole name is refused, because any of its addresses could be used.
    """

    def __init__(self, is_public: Callable[[str], bool], look_up: LookUp) -> None:
        self._is_public = is_public
        self._look_up = look_up

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Every address of the name. Raises `PrivateAddressError` if one of them is private."""
        addresses = await self._look_up(host, port)
        if not addresses or not all(map(self._is_public, addresses)):
            raise PrivateAddressError
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in addresses
            if family in (socket.AF_UNSPEC, socket.AF_INET6 if ":" in address else socket.AF_INET)
        ]

    async def close(self) -> None:
        """There is nothing to close."""
