"""Which connection is closed when there is no room, as tables; and the counts after anything may have happened."""

import random
from collections.abc import Callable
from ipaddress import ip_network

import pytest

from app.transports.connection_limits import ConnectionLimits, address_name
from app.transports.open_connections import LEAVING, NOTE_PAUSE, ConnectionCounts, ConnectionPlace, OpenConnections

PUBLIC = "8.8.8.8"
A, B, C = "10.0.0.1", "10.0.0.2", "10.0.0.3"


class FakeTransport:
    """A transport whose client reads when the test says so."""

    def __init__(self, name: str, closed: list[str]) -> None:
        self._name = name
        self._closed = closed
        self.unsent = 0
        self.high: int | None = None

    def abort(self) -> None:
        self._closed.append(self._name)

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert low is None
        self.high = high


class Played:
    """Connections with names, and who was closed in which order."""

    def __init__(self, most: int, most_of_address: int | None = None, proxies: tuple[str, ...] = ()) -> None:
        self.closed: list[str] = []
        self.notes: list[dict[str, int]] = []
        self.now = 0.0
        self.places: dict[str, ConnectionPlace] = {}
        self.transports: dict[str, FakeTransport] = {}
        limits = ConnectionLimits(most, most_of_address, [ip_network(text) for text in proxies])
        self.open = OpenConnections(limits, note=self.notes.append, clock=lambda: self.now)

    def come(self, name: str, peer: str = A) -> str:
        """One more connection; the message if it is refused."""
        transport = self.transports[name] = FakeTransport(name, self.closed)
        place = self.open.enter(peer, transport)
        if isinstance(place, str):
            return place
        self.places[name] = place
        return ""

    def high(self, name: str) -> int | None:
        """From how many unsent bytes on its writing is paused."""
        return self.transports[name].high

    def do(self, steps: str) -> list[str]:
        """`+a` comes, `a!` shows a key, `a.` is answered, `a?` sends a head, `-a` leaves; who was closed so far."""
        for step in steps.split():
            if step.startswith("+"):
                name, _, peer = step[1:].partition("@")
                self.come(name, peer or A)
            elif step.startswith("-"):
                self.places[step[1:]].leave()
            else:
                getattr(self.places[step[:-1]], {"!": "vouch", ".": "rest", "?": "work"}[step[-1]])()
        return self.closed


@pytest.mark.parametrize(
    ("steps", "closed"),
    [
        ("+a +b +c", []),
        ("+a +b +c +d", ["a"]),
        ("+a +b +c a! +d", ["b"]),
        ("+a a! a. +b +c +d", ["b"]),
        ("+a a! a. +b b! b. +c c! +d", ["a"]),
        ("+a a! a. +b b! b. +c c! a? a. +d", ["b"]),
        ("+a a! a. +b b! b. +c c! a? +d", ["b"]),
        ("+a a! +b b! +c c! +d", []),
        ("+a a. a? +b +c +d", ["a"]),
        ("+a +b +c -a +d", []),
        ("+a +b +c -a -a +d +e", ["b"]),
        ("+a +b +c +d a! a. a? -a +e", ["a", "b"]),
        (f"+a@{B} +b@{A} +c@{A} +d@{C} +e@{C}", ["b", "a"]),
        (f"+a@{B} +b@{A} +c@{A} -c +d@{C}", []),
        (f"+a@{B} +b@{A} +c@{A} b! b. +d@{C}", ["a"]),
        ("+a@ +b@ +c@ +d@", ["a"]),
    ],
)
def test_who_makes_room(steps: str, closed: list[str]) -> None:
    """There is room for three."""
    assert Played(3).do(steps) == closed


@pytest.mark.parametrize(
    ("peer", "most_of_address", "proxies", "closed", "refused"),
    [
        (PUBLIC, None, (), ["a"], ""),
        (PUBLIC, 9, (), [], ""),
        (PUBLIC, 2, (), ["a"], ""),
        (PUBLIC, 2, (PUBLIC,), [], ""),
        (PUBLIC, None, ("8.0.0.0/8", "::/0"), [], ""),
        (A, None, (), [], ""),
        (A, 2, (), ["a"], ""),
        ("127.0.0.1", None, (), [], ""),
        ("2a00:1450:4001:1::5", 2, (), ["a"], ""),
        ("2a00:1450:4001:1::5", 2, ("2a00::/16",), [], ""),
        ("::ffff:8.8.8.8", None, (), ["a"], ""),
        ("::ffff:8.8.8.8", None, ("8.8.8.8/32",), [], ""),
        ("", 2, (), [], ""),
    ],
)
def test_one_address_has_a_limit_of_its_own(
    peer: str, most_of_address: int | None, proxies: tuple[str, ...], closed: list[str], refused: str
) -> None:
    """There is room for four, and an address that is not limited gets three without a loss."""
    played = Played(4, most_of_address, proxies)
    assert [played.come(name, peer) for name in ("a", "b", "c")] == ["", "", refused]
    assert played.closed == closed


def test_an_address_whose_connections_are_all_busy_is_refused_and_others_are_not() -> None:
    played = Played(9, 2)
    played.do("+a +b a! b!")
    assert played.come("c") == "This server has 2 connections of your address, and takes no more."
    assert played.come("d", B) == ""
    played.do("b.")
    assert played.come("e") == ""
    assert played.closed == ["b"]
    assert played.open.counts == ConnectionCounts(unknown=2, busy=1, closed_idle=1, refused_of_address=1)


def test_when_all_are_busy_the_new_one_is_refused() -> None:
    played = Played(2)
    played.do(f"+a +b@{B} a! b!")
    assert played.come("c", C) == "This server has 2 connections, all of them busy, and takes no more."
    assert played.open.counts == ConnectionCounts(busy=2, refused=1)


def test_an_answer_that_is_not_sent_yet_is_not_cut() -> None:
    played = Played(1)
    played.do("+a a!")
    played.transports["a"].unsent = 1
    played.do("a.")
    assert played.come("b") != ""
    assert played.high("a") == 0
    played.places["a"].sent()
    assert played.come("b") != ""
    played.transports["a"].unsent = 0
    played.places["a"].sent()
    assert played.high("a") is None
    assert played.come("b") == ""
    assert played.closed == ["a"]


def test_a_request_that_comes_while_an_answer_is_sent_is_busy_with_the_usual_limits() -> None:
    played = Played(1)
    played.do("+a a!")
    played.transports["a"].unsent = 1
    played.do("a. a?")
    assert played.high("a") is None
    played.transports["a"].unsent = 0
    played.places["a"].sent()
    assert played.come("b") != ""


def test_lower_limits_close_nobody_until_one_more_comes() -> None:
    played = Played(4)
    played.do(f"+a +b +c@{B}")
    played.open.follow(ConnectionLimits(2, 2))
    assert played.closed == []
    assert played.come("d") == ""
    assert played.closed == ["a", "c"]
    assert played.open.counts.unknown == 2


@pytest.mark.parametrize(
    ("peer", "name"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::4", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::4", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("/run/socket", ""),
        (None, ""),
    ],
)
def test_what_counts_as_one_address(peer: object, name: str) -> None:
    assert address_name(peer) == name


def test_the_log_says_it_once_a_minute_with_all_that_happened() -> None:
    played = Played(1)
    played.do("+a +b +c +d")
    assert played.notes == [{"closed_unknown": 1}]
    played.now = NOTE_PAUSE
    played.do("d! +e d. +f")
    assert played.notes[1:] == [{"open": 1, "closed_unknown": 2, "refused": 1}]


def test_few_refused_connections_wait_until_their_clients_have_read() -> None:
    played = Played(1)
    cut: list[int] = []

    def closing(number: int) -> Callable[[], None]:
        return lambda: cut.append(number)

    for number in range(LEAVING):
        played.open.linger(number, closing(number))
    played.open.lingers_no_more(3)
    played.open.lingers_no_more("none of them")
    played.open.linger(LEAVING, closing(LEAVING))
    assert cut == []
    played.open.linger(LEAVING + 1, closing(LEAVING + 1))
    assert cut == [0]


def test_the_counts_are_right_whatever_happens() -> None:
    """Against a plain list of all connections, from oldest to newest."""
    counts = ConnectionCounts()
    chance = random.Random(7)  # noqa: S311 — no secret
    played, states = Played(16, 4), dict[str, str]()
    for number in range(4000):
        name = chance.choice(list(states)) if states else ""
        step = chance.choice("++!!!!!..??-") if name else "+"
        if step == "+":
            name = f"n{number}"
            refused = played.come(name, f"10.0.0.{chance.choice((1, 1, 1, 2, 2, 3, 4, 5))}")
            assert bool(refused) <= ("unknown" not in states.values() or "address" in refused)
            for gone in played.closed:
                assert states.pop(gone) != "busy"
            played.closed.clear()
            if not refused:
                states[name] = "unknown"
        elif step == "-":
            played.do(f"-{name}")
            del states[name]
        else:
            played.do(name + step)
            if step == "!" and states[name] == "unknown":
                states[name] = "busy"
            elif step in ".?" and states[name] != "unknown":
                states[name] = "idle" if step == "." else "busy"
        counts, values = played.open.counts, list(states.values())
        assert (counts.unknown, counts.idle, counts.busy) == tuple(map(values.count, ("unknown", "idle", "busy")))
        assert len(states) <= 16
    assert counts.closed_unknown > 100
    assert counts.closed_idle > 10
    assert counts.refused_of_address > 1
    for name in list(states):
        played.do(f"-{name}")
    assert played.open.counts[:3] == (0, 0, 0)
    assert (played.open._addresses, played.open._by_number, played.open.idle) == ({}, [], {})
