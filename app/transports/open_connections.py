"""The open connections of this process: how many there may be, and which one is closed when there is no room.

Theory of operation
-------------------
Every open connection has a `ConnectionPlace`, as HTTP and then as a websocket, and is in one of three states:

    unknown    its client has not shown a valid key yet: nothing received, half a head, a health check, a wrong key
    idle       its client has, and has read its answer; it waits between two requests
    busy       its client has, and a request or a websocket is served

When there are `most` connections and one more comes, an unknown one is closed: the oldest one of the address that has
the most of them. If there is none, the connection that has been idle longest is closed. If all are busy, the new one is
refused. So clients that send nothing, however many, close each other's connections, and nobody's who has a key.

One address may have `most_of_address` connections. One more closes one of its own in the same order, or is refused.

All of this takes the same time however many connections there are.
"""

import time
from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from .connection_limits import ConnectionLimits, address_name

LEAVING: Final = 64
"""Refused connections whose clients may still read the answer. One more closes the first of them."""
NOTE_PAUSE: Final = 60
"""Seconds between two lines in the log."""


class ConnectionCounts(NamedTuple):
    """Figures for the metrics."""

    unknown: int = 0
    idle: int = 0
    busy: int = 0
    closed_unknown: int = 0
    """How many were closed to make room for others, since the start."""
    closed_idle: int = 0
    refused: int = 0
    """How many were refused because all are busy."""
    refused_of_address: int = 0
    """How many were refused because all connections of their address are busy."""


class Transport(Protocol):
    """What is needed of a connection's transport."""

    def abort(self) -> None:
        """Closes it at once."""

    def get_write_buffer_size(self) -> int:
        """Bytes that the system has not taken yet."""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """With so many of them the protocol is told to stop, and to go on when there are fewer."""


class ConnectionPlace:
    """One connection as it is counted."""

    __slots__ = ("_address", "_connections", "_is_known", "_is_sending", "_transport")

    def __init__(self, connections: "OpenConnections", address: "_Address", transport: Transport) -> None:
        self._connections = connections
        self._address: _Address | None = address
        self._transport = transport
        self._is_known = False
        self._is_sending = False
        """Whether it will be idle when the rest of the answer has been sent."""

    def vouch(self) -> None:
        """The client has shown a valid key, and a request of it is served."""
        if not self._is_known and self._address is not None:
            self._is_known = True
            self._connections.remove_unknown(self, self._address)

    def rest(self) -> None:
        """A request was answered, and no other one waits."""
        if not self._is_known or self._address is None:
            return
        if self._transport.get_write_buffer_size():
            self._is_sending = True
            self._transport.set_write_buffer_limits(0)  # `sent` is called when it is empty
        else:
            self._address.idle[self] = self._connections.idle[self] = None

    def sent(self) -> None:
        """The client reads again; perhaps all was sent."""
        if self._is_sending:
            self._stop_sending()
            self.rest()

    def work(self) -> None:
        """The head of a request is complete."""
        if self._is_sending:
            self._stop_sending()
        if self in self._connections.idle and self._address is not None:
            del self._address.idle[self], self._connections.idle[self]

    def _stop_sending(self) -> None:
        self._is_sending = False
        self._transport.set_write_buffer_limits()

    def close(self) -> None:
        """Closes the connection at once."""
        self.leave()
        self._transport.abort()

    def leave(self) -> None:
        """The connection is closed, or will be in a moment. May be called again."""
        if self._address is None:
            return
        if self._connections.idle.pop(self, self) is None:
            del self._address.idle[self]
        if not self._is_known:
            self._connections.remove_unknown(self, self._address)
        self._connections.remove(self._address)
        self._address = None


class _Address:
    """What the connections of one address are."""

    __slots__ = ("count", "idle", "most", "name", "unknown")

    def __init__(self, name: str, most: int | None) -> None:
        self.name = name
        self.most = most
        self.count = 0
        self.unknown: dict[ConnectionPlace, None] = {}
        """In order of their age."""
        self.idle: dict[ConnectionPlace, None] = {}
        """The one that has been idle longest is the first."""


class OpenConnections:
    """The places of all connections. `note` logs what was done for lack of room, once a minute at most."""

    def __init__(
        self,
        limits: ConnectionLimits,
        *,
        note: Callable[[dict[str, int]], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = limits
        self._note = note
        self._changed: Callable[[int], None] = lambda _: None
        self._clock = clock
        self._noted: float | None = None
        self._told = ConnectionCounts()
        self._count = 0
        self._unknown = 0
        self._addresses: dict[str, _Address] = {}
        self._by_number: list[dict[_Address, None]] = []
        """The addresses with one unknown connection, with two, and so on; the last is never empty."""
        self._leaving: dict[object, Callable[[], None]] = {}
        self.idle: dict[ConnectionPlace, None] = {}
        """The one that has been idle longest is the first."""
        self._closed_unknown = self._closed_idle = self._refused = self._refused_of_address = 0

    def watch(self, changed: Callable[[int], None]) -> None:
        """From now on, `changed` gets the number of open connections when it changes."""
        self._changed = changed

    def follow(self, limits: ConnectionLimits) -> None:
        """Changes the limits. Connections that are open stay open until there is no room."""
        self._limits = limits
        for address in self._addresses.values():
            address.most = limits.most_of(address.name)

    @property
    def counts(self) -> ConnectionCounts:
        """The figures now."""
        idle = len(self.idle)
        return ConnectionCounts(
            self._unknown,
            idle,
            self._count - self._unknown - idle,
            self._closed_unknown,
            self._closed_idle,
            self._refused,
            self._refused_of_address,
        )

    def enter(self, peer: str, transport: Transport) -> ConnectionPlace | str:
        """A place for one more connection from this IP address; or the message for a client that is refused."""
        name = address_name(peer)
        address = self._addresses.get(name)
        if address is None:
            address = _Address(name, self._limits.most_of(name))
        if address.most is not None and address.count >= address.most and not self._close_one_of(address):
            self._refused_of_address += 1
            self._tell()
            return f"This server has {address.count} connections of your address, and takes no more."
        while self._count >= self._limits.most:  # once, unless the limit was lowered
            if not self.make_room():
                self._refused += 1
                self._tell()
                return f"This server has {self._count} connections, all of them busy, and takes no more."
        place = ConnectionPlace(self, address, transport)
        self._addresses[name] = address
        address.count += 1
        self._count += 1
        self._changed(self._count)
        self._unknown += 1
        self._move(address, +1)
        address.unknown[place] = None
        return place

    def make_room(self) -> bool:
        """Closes one connection that is not busy; whether there was one."""
        if self._by_number:
            self._close_unknown(next(iter(self._by_number[-1])))
        elif self.idle:
            self._close_idle(next(iter(self.idle)))
        else:
            return False
        return True

    def linger(self, connection: object, close: Callable[[], None]) -> None:
        """A refused connection, which takes no place: its client has a moment to read the answer."""
        self._leaving[connection] = close
        if len(self._leaving) > LEAVING:
            self._leaving.pop(next(iter(self._leaving)))()

    def lingers_no_more(self, connection: object) -> None:
        """A refused connection has ended."""
        self._leaving.pop(connection, None)

    def remove(self, address: _Address) -> None:
        """For `ConnectionPlace` alone: one connection less."""
        address.count -= 1
        self._count -= 1
        self._changed(self._count)
        if not address.count:
            self._addresses.pop(address.name, None)

    def remove_unknown(self, place: ConnectionPlace, address: _Address) -> None:
        """For `ConnectionPlace` alone: one unknown connection less."""
        del address.unknown[place]
        self._unknown -= 1
        self._move(address, -1, len(address.unknown) + 1)

    def _close_one_of(self, address: _Address) -> bool:
        if address.unknown:
            self._close_unknown(address)
        elif address.idle:
            self._close_idle(next(iter(address.idle)))
        else:
            return False
        return True

    def _close_unknown(self, address: _Address) -> None:
        place = next(iter(address.unknown))
        self._closed_unknown += 1
        self._close(place)

    def _close_idle(self, place: ConnectionPlace) -> None:
        self._closed_idle += 1
        self._close(place)

    def _close(self, place: ConnectionPlace) -> None:
        place.close()
        self._tell()

    def _move(self, address: _Address, by: int, before: int | None = None) -> None:
        """Moves an address to those with one unknown connection more, or one less."""
        before = len(address.unknown) if before is None else before
        if before:
            del self._by_number[before - 1][address]
        after = before + by
        if after > len(self._by_number):
            self._by_number.append({})
        if after:
            self._by_number[after - 1][address] = None
        while self._by_number and not self._by_number[-1]:
            self._by_number.pop()

    def _tell(self) -> None:
        now = self._clock()
        if self._noted is not None and now < self._noted + NOTE_PAUSE:
            return
        counts, told, self._noted = self.counts, self._told, now
        self._told = counts
        more = {
            "open": self._count,
            "closed_unknown": counts.closed_unknown - told.closed_unknown,
            "closed_idle": counts.closed_idle - told.closed_idle,
            "refused": counts.refused - told.refused,
            "refused_of_address": counts.refused_of_address - told.refused_of_address,
        }
        self._note({name: number for name, number in more.items() if number})
