"""How many connections there may be, in all and of one address."""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final, NamedTuple

Network = IPv4Network | IPv6Network

_KEY_BITS: Final = 64


class ConnectionLimits(NamedTuple):
    """The limits."""

    most: int
    most_of_address: int | None = None
    """None: half of `most` for a public address; no limit for a private one, which may be that of a proxy."""
    proxies: Sequence[Network] = ()
    """Addresses without such a limit, because they connect for many clients."""

    def most_of(self, name: str) -> int | None:
        """The limit for this address, as `address_name` returns it; None if there is none."""
        if not name:
            return None
        network = ip_network(name)
        if any(_is_in(network, proxy) for proxy in self.proxies):
            return None
        if self.most_of_address is not None:
            return self.most_of_address
        return max(1, self.most // 2) if network.is_global else None


@lru_cache(1024)
def address_name(peer: Any) -> str:
    """What counts as one address: an IPv4 address, or a network of IPv6 with 64 bits, as one customer usually has.

    Empty if it is none, such as a Unix socket.
    """
    try:
        address = ip_address(peer)
    except ValueError:
        return ""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is None:
            return str(IPv6Network((int(address) >> _KEY_BITS << _KEY_BITS, _KEY_BITS)))
        address = address.ipv4_mapped
    return str(address)


def _is_in(network: Network, other: Network) -> bool:
    if isinstance(network, IPv4Network):
        return isinstance(other, IPv4Network) and network.subnet_of(other)
    return isinstance(other, IPv6Network) and (network.subnet_of(other) or other.subnet_of(network))
