"""Addresses that clients name lead to no private address, however they are written and wherever they lead."""

import socket
from typing import Any

import pytest

from app.fetching import attachments
from app.fetching.attachments import Getter
from app.fetching.policy import check_url
from app.types.problems import ProblemError
from tests.wire.web_site import PNG, Site, page, redirect

PUBLIC = """https://example.com/a.png?b=c#d HTTPS://EXAMPLE.COM./ http://8.8.8.8:8080/
    http://[2606:4700::1111]/ http://[::ffff:8.8.8.8]/ http://[64:ff9b::808:808]/ https://bücher.example/
    https://a_b.example.com/ https://example.com/a@b"""
PRIVATE = """127.0.0.1 127.1 2130706433 0x08080808 0x7f.1 0x 0177.0.0.1 0 10.0.0.1 172.16.0.1 192.168.1.1 100.64.0.1
    169.254.169.254 224.0.0.1 1.2.3.4.5 1.2.3.256 256.1 09.1.1.1 010.0.0.1 [::1] [::] [::ffff:127.0.0.1]
    [::ffff:7f00:1] [::127.0.0.1] [::ffff:0:127.0.0.1] [64:ff9b::7f00:1] [2002:7f00:1::] [2001:0:7f00:1::] [fe80::1]
    [fe80::1%25eth0] [2606:4700::1111%25eth0] [fc00::1] [ff02::1] [v1.a:b] localhost LOCALHOST. a.localhost redis
    metadata.google.internal printer.local １２７.０.０.１ 127。0。0。1 127.0.0\u00ad.1 %31%32%37.0.0.1"""


def test_an_address_is_passed_on_only_if_it_is_public() -> None:
    for url in PUBLIC.split():
        check_url(url, "here", allow_private=False)
    for host in PRIVATE.split():
        with pytest.raises(ProblemError, match="'here': it does not point to a public host"):
            check_url(f"http://{host}:80/latest", "here", allow_private=False)


@pytest.mark.parametrize(
    "target",
    ["http://127.0.0.2:PORT/", "http://2130706434:PORT/", "http://localhost:PORT/", "http://inner.example:PORT/"],
)
@pytest.mark.parametrize("straight", [True, False])
async def test_nothing_private_is_asked(target: str, straight: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By itself or by a redirect: `open.example` stands for a public host, here at 127.0.0.1."""
    known = {"open.example": "127.0.0.1", "inner.example": "127.0.0.2"}
    monkeypatch.setattr(attachments, "is_public", lambda address: address == "127.0.0.1")
    look_up = socket.getaddrinfo

    def scripted(host: str, *more: Any, **named: Any) -> Any:
        return look_up(known.get(host, host), *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", scripted)
    with Site({"/a": page(PNG)}) as site, Site({"/": page(PNG)}, host="127.0.0.2") as inner:
        getter = Getter(1000, allow_private=False)
        base, target = f"http://open.example:{site.port}", target.replace("PORT", str(inner.port))
        site.pages |= {"/": redirect(target)}
        try:
            assert (await getter.get(f"{base}/a", "here", times=1))[0] == PNG
            with pytest.raises(ProblemError):
                await getter.get(target if straight else f"{base}/", "here", times=1)
            with pytest.raises(ProblemError, match=r"too large to be sent 99 times"):
                await getter.get(f"{base}/a", "here", times=99)
        finally:
            await getter.close()
    assert inner.asked == []
