"""From a name to the addresses that are connected to: looked up here, each of them checked, none looked up again."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence

from aiohttp.abc import AbstractResolver, ResolveResult

LookUp = Callable[[str, int], Awaitable[Sequence[str]]]
"""A name and a port -> every address it has."""


class PrivateAddressError(OSError):
    """A name leads to an address that is not for everybody."""


async def look_up(name: str, port: int) -> Sequence[str]:
    """Ask the system."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    # an address with a scope is one of this machine's own links: it keeps its mark, and is refused by it
    return list(dict.fromkeys(socket.getnameinfo(entry[4], socket.NI_NUMERICHOST)[0] for entry in found))


class CheckedAddresses(AbstractResolver):
    """What a connection is made to is what was checked: nothing is looked up twice.

    One bad address spoils the name: which of them is used would be chance.
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
        """Nothing is kept."""
