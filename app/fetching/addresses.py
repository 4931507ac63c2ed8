"""Looks up and checks the addresses of a host name. The connection is made to a checked address."""

import socket
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from ..fair_slots import FairSlots
from ..http_client.http_connecting import Address
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


class CheckedAddresses:
    """Looks up addresses and checks them, so that no name is looked up a second time.

    If one address is private, the whole name is refused, because any of its addresses could be used.
    """

    def __init__(self, is_public: Callable[[str], bool], look_up: LookUp) -> None:
        self._is_public = is_public
        self._look_up = look_up

    async def __call__(self, host: str, port: int) -> list[Address]:
        """Every address of the name. Raises `PrivateAddressError` if one of them is private."""
        addresses = await self._look_up(host, port)
        if not addresses or not all(map(self._is_public, addresses)):
            raise PrivateAddressError
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port, 0, 0))
            if ":" in address
            else (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port))
            for address in addresses
        ]
