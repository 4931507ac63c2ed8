"""Fetching at a client's word, without being led astray. Real sockets; only the lookup of names is scripted."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from ipaddress import ip_address
from typing import Any

import pytest

from app.fetching.addresses import CheckedAddresses, LookUps, PrivateAddressError
from app.fetching.fetcher import AT_ONCE, Budget, Fetched, Fetcher, Wanted
from app.fetching.url_policy import is_public
from app.protocol.problems import ProblemError
from tests.wire.web_site import PDF, PNG, Page, Site, page, redirect

OPEN = "127.0.0.1"
"""Stands for every public address."""
NOT_FETCHED = "Invalid URL in 'here': it could not be fetched."


def is_address(name: str) -> bool:
    with suppress(ValueError):
        return bool(ip_address(name))
    return False


def names(**known: str | Sequence[str]) -> Callable[[str, int], Awaitable[Sequence[str]]]:
    """A scripted lookup: `names(open=OPEN)` knows `open.example`."""

    async def scripted(name: str, port: int) -> Sequence[str]:  # noqa: ARG001 — a lookup is given both
        found = name if is_address(name) else known.get(name.removesuffix(".example"))
        if found is None:
            raise OSError(-2, "Name or service not known: 10.0.0.1 said so")
        return [found] if isinstance(found, str) else found

    return scripted


def fetching(**settings: Any) -> Fetcher:
    given = {"timeout": 5, "look_up": names(open=OPEN), "is_public": lambda address: address == OPEN, **settings}
    return Fetcher(**given)


async def fetched(url: str, wanted: Wanted = "image", size: int = 10_000, **settings: Any) -> Fetched:
    return await fetching(**settings).fetch(url, "here", wanted, Budget(size))


async def refused(url: str, wanted: Wanted = "image", size: int = 10_000, **settings: Any) -> str:
    with pytest.raises(ProblemError) as raised:
        await fetched(url, wanted, size, **settings)
    problem = raised.value.problem
    assert (problem.code, problem.param, problem.shape.status) == ("invalid_value", "here", 400)
    assert "127." not in problem.message
    return problem.message


@pytest.mark.parametrize(
    ("found", "wanted", "kind"),
    [
        (page(PNG, kind="text/html"), "image", "image/png"),
        (page(b"\xff\xd8\xff\xe0jpeg"), "image", "image/jpeg"),
        (page(b"GIF89a"), "image", "image/gif"),
        (page(b"RIFF\x00\x00\x00\x00WEBPVP8 "), "image", "image/webp"),
        (page(PDF), "file", "application/pdf"),
        (page(PNG), "file", "image/png"),
        (page(b"a,b\n1,2\n", kind="text/csv; charset=utf-8"), "file", "text/csv"),
        (page(b"a,b\n1,2\n", kind="image/png"), "file", "text/plain"),
        (page(PNG[:5], PNG[5:], pause=0.01), "image", "image/png"),
    ],
)
async def test_what_it_is_its_bytes_say(found: Page, wanted: Wanted, kind: str) -> None:
    with Site({"/it?a=b": found}) as site:
        result = await fetched(f"http://open.example:{site.port}/it?a=b", wanted)
    assert result == Fetched(kind, b"".join(found.pieces), result.url)
    assert "cookie" not in site.asked[0].lower()
    assert "authorization" not in site.asked[0].lower()


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (page(b"<svg></svg>", kind="image/svg+xml"), "image"),
        (page(PDF, kind="image/png"), "image"),
        (page(b""), "image"),
        (page(b"PK\x03\x04\x00\x01", kind="application/pdf"), "file"),
        (page(b"\x00\x01\x02"), "file"),
        (page(b""), "file"),
    ],
)
async def test_what_no_model_reads_is_refused(found: Page, wanted: Wanted) -> None:
    with Site({"/it": found}) as site:
        message = await refused(f"http://open.example:{site.port}/it", wanted)
    assert message.startswith("Invalid URL in 'here': its data is not ")


async def test_three_redirects_are_followed_and_a_fourth_is_not() -> None:
    hops = {
        "/0": redirect("1"),
        "/1": redirect("/2", 301),
        "/2": redirect("//open.example:PORT/3", 307),
        "/3": page(PNG),
    }
    with Site({}) as site:
        site.pages = {
            path: Page(hop.status, {k: v.replace("PORT", str(site.port)) for k, v in hop.headers.items()}, hop.pieces)
            for path, hop in hops.items()
        }
        site.pages["/far"] = redirect("/0")
        assert (await fetched(f"http://open.example:{site.port}/0")).kind == "image/png"
        assert await refused(f"http://open.example:{site.port}/far") == NOT_FETCHED
    assert site.paths == ["/0", "/1", "/2", "/3", "/far", "/0", "/1", "/2"]


@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.2:PORT/secret",
        "http://127.1:PORT/secret",
        "http://2130706434:PORT/secret",
        "http://0x7f000002:PORT/secret",
        "http://[::1]:PORT/secret",
        "http://[::ffff:127.0.0.2]:PORT/secret",
        "http://localhost:PORT/secret",
        "http://169.254.169.254/latest/meta-data",
        "http://inner.example:PORT/secret",
        "http://both.example:PORT/secret",
        "http://six.example:PORT/secret",
        "http://user:word@open.example:PORT/secret",
        "file:///etc/passwd",
        "ftp://open.example/x",
        "gopher://open.example/x",
        "data:image/png;base64,iVBORw0KGgo=",
        "http://",
        "",
    ],
)
@pytest.mark.parametrize("straight", [True, False])
async def test_nothing_leads_to_a_private_address(location: str, *, straight: bool) -> None:
    """Neither the address itself nor a redirect, whatever it is spelled like or its name leads to."""
    known = names(open=OPEN, inner="127.0.0.2", both=[OPEN, "127.0.0.2"], six="::1", none=[])
    with Site({}) as open_site, Site({"/secret": page(PNG)}, host="127.0.0.2") as inner:
        target = location.replace("PORT", str(inner.port))
        open_site.pages["/"] = redirect(target)
        url = target if straight else f"http://open.example:{open_site.port}/"
        if straight and location == "":
            return
        assert (await refused(url, look_up=known)).startswith("Invalid URL in 'here': ")
    assert inner.asked == []


async def test_a_name_is_looked_up_once_for_each_hop_and_connected_to_what_was_found() -> None:
    """A name that leads elsewhere the second time leads nowhere."""
    looked_up: list[str] = []

    async def changing(name: str, port: int) -> Sequence[str]:  # noqa: ARG001 — a lookup is given both
        looked_up.append(name)
        return [OPEN] if len(looked_up) == 1 else ["127.0.0.2"]

    with Site({"/it": page(PNG), "/back": redirect("/it")}) as site:
        assert (await fetched(f"http://open.example:{site.port}/it", look_up=changing)).kind == "image/png"
        assert looked_up == ["open.example"]
        looked_up.clear()
        assert await refused(f"http://open.example:{site.port}/back", look_up=changing) == NOT_FETCHED
        assert looked_up == ["open.example", "open.example"]


async def test_whatever_goes_wrong_on_the_way_is_told_alike() -> None:
    """Which names exist and which ports are open is nobody's to learn here."""
    with Site({"/500": Page(500), "/zip": page(PNG, content_encoding="gzip"), "/slow": page(PNG, pause=30)}) as site:
        base = f"http://open.example:{site.port}"
        result = {
            await refused(f"{base}/404"),
            await refused(f"{base}/500"),
            await refused(f"{base}/zip"),
            await refused(f"{base}/slow", timeout=0.2),
            await refused("http://nobody.example/"),
            await refused("http://open.example:9/"),
            await refused(f"https://open.example:{site.port}/tls", timeout=0.2),
        }
    assert result == {NOT_FETCHED}


@pytest.mark.parametrize("found", [page(PNG, content_length=str(10**9)), page(PNG, bytes(500), bytes(500))])
async def test_what_is_too_large_is_cut_off(found: Page) -> None:
    """By what it says of itself, or as soon as it is."""
    with Site({"/it": found}) as site:
        message = await refused(f"http://open.example:{site.port}/it", size=600)
    assert message == "Invalid URL in 'here': its data is too large."


async def test_a_body_that_trickles_is_cut_off() -> None:
    """The time is for all of it: bytes that keep coming do not lengthen it."""
    with Site({"/it": page(PNG, *[b"x"] * 100, pause=0.05)}) as site:
        async with asyncio.timeout(2):
            assert await refused(f"http://open.example:{site.port}/it", timeout=0.3) == NOT_FETCHED


async def test_private_addresses_are_fetched_from_where_they_are_allowed() -> None:
    with Site({"/it": page(PNG)}) as site:
        assert (await fetched(f"{site.url}/it", allow_private=True)).kind == "image/png"
        assert await refused(f"{site.url}/it")


async def test_the_system_is_asked_for_names() -> None:
    """`localhost` is found, and leads to where only those may go who are allowed to."""
    with Site({"/it": page(PNG)}) as site:
        url = f"http://localhost:{site.port}/it"
        assert (await fetched(url, look_up=None, allow_private=True)).kind == "image/png"
    with pytest.raises(PrivateAddressError):
        await CheckedAddresses(is_public, LookUps())("localhost", 80)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True),
        ("2606:4700::1111", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("100.64.0.1", False),
        ("169.254.169.254", False),
        ("0.0.0.0", False),  # noqa: S104 — nobody listens there
        ("224.0.0.1", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fd00::1", False),
        ("::ffff:10.0.0.1", False),
        ("64:ff9b::a00:1", False),
        ("2002:a00:1::", False),
        ("no address", False),
    ],
)
def test_an_address_is_public_if_everybody_may_reach_it(address: str, public: bool) -> None:  # noqa: FBT001 — a row of the table
    assert is_public(address) is public


async def test_slow_addresses_of_one_caller_leave_slots_to_others_and_waiting_is_not_fetching() -> None:
    with Site({"/slow": page(PNG, pause=30), "/cat": page(PNG)}) as site:
        base = f"http://open.example:{site.port}"
        fetcher = fetching(timeout=0.6)

        async def fetch(path: str, owner: str) -> str:
            try:
                return (await fetcher.fetch(f"{base}/{path}", "here", "image", Budget(10_000), owner)).kind
            except ProblemError as error:
                return error.problem.code

        slow = [asyncio.ensure_future(fetch("slow", "key:mallory")) for _ in range(AT_ONCE)]
        own = asyncio.ensure_future(fetch("cat", "key:mallory"))
        await asyncio.sleep(0)
        others = await asyncio.gather(*(fetch("cat", f"key:{name}") for name in ("alice", "bob", "cleo")))
        assert [others, own.done(), any(task.done() for task in slow)] == [["image/png"] * 3, False, False]
        assert await asyncio.gather(*slow) == ["invalid_value"] * len(slow)
        assert await own == "image/png"


async def test_whoever_waits_too_long_for_a_slot_is_told_to_come_again() -> None:
    with Site({"/slow": page(PNG, pause=30)}) as site:
        url = f"http://open.example:{site.port}/slow"
        fetcher = fetching(timeout=0.1)

        async def fetch() -> tuple[str, int | None]:
            with pytest.raises(ProblemError) as raised:
                await fetcher.fetch(url, "here", "image", Budget(10_000), "key:mallory")
            return raised.value.problem.code, raised.value.problem.retry_after

        found = await asyncio.gather(*(fetch() for _ in range(6 * AT_ONCE)))
    assert set(found) == {("invalid_value", None), ("rate_limit_exceeded", 5)}
