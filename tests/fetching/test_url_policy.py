"""Addresses that a client may make an upstream fetch."""

import pytest

from app.fetching.url_policy import check_url, is_data_uri
from app.protocol.problems import Problem, ProblemError


def refused(url: str) -> Problem | None:
    """Why this URL is refused, if it is."""
    try:
        check_url(url, "here", allow_private=False)
    except ProblemError as error:
        return error.problem
    return None


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/a.png?b=c#d",
        "HTTPS://EXAMPLE.COM./",
        "http://8.8.8.8:8080/",
        "http://0x08080808/",
        "http://[2606:4700::1111]/",
        "http://[::ffff:8.8.8.8]/",
        "http://[64:ff9b::808:808]/",
        "https://b\u00fccher.example/",
        "https://a_b.example.com/",
        "https://example.com/a@b",
    ],
)
def test_public_addresses_are_accepted(url: str) -> None:
    """In any spelling."""
    assert refused(url) is None


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0x",
        "0177.0.0.1",
        "00000000000000000000000000000000000000177.0.0.1",
        "0",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
        "224.0.0.1",
        "255.255.255.255",
        "1.2.3.4.5",
        "1.2.3.256",
        "256.1",
        "09.1.1.1",
        "010.0.0.1",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[::ffff:0:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[2001:0:7f00:1::]",
        "[fe80::1]",
        "[fe80::1%25eth0]",
        "[2606:4700::1111%25eth0]",
        "[fc00::1]",
        "[ff02::1]",
        "[v1.a:b]",
        "localhost",
        "LOCALHOST.",
        "a.localhost",
        "redis",
        "metadata.google.internal",
        "printer.local",
        "\uff11\uff12\uff17.\uff10.\uff10.\uff11",
        "127\u30020\u30020\u30021",
        "127.0.0\u00ad.1",
        "%31%32%37.0.0.1",
        "example..com",
        "-.com",
        "\u00fc" * 64 + ".com",
        "a." * 200 + "com",
    ],
)
def test_private_addresses_are_refused_in_every_spelling(host: str) -> None:
    """With the path, and without saying what lies there."""
    message = "Invalid URL in 'here': it does not point to a public host."
    assert refused(f"http://{host}:80/latest") == Problem(code="invalid_value", message=message, param="here")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ftp://example.com/", "only http and https URLs and base64 data URIs are accepted"),
        ("file:///etc/passwd", "only http and https URLs and base64 data URIs are accepted"),
        ("//example.com/", "only http and https URLs and base64 data URIs are accepted"),
        ("data:image/png,raw", "only http and https URLs and base64 data URIs are accepted"),
        ("a.png", "only http and https URLs and base64 data URIs are accepted"),
        ("https://user:secret@example.com/", "it contains user information"),
        ("https://@example.com/", "it contains user information"),
        ("https:///a.png", "it has no host"),
        ("https:example.com", "it has no host"),
        ("https://example.com:99999/", "it cannot be read as a URL"),
        ("https://[::1/", "it cannot be read as a URL"),
        ("https://example.com\\@127.0.0.1/", "it contains a space, a control character or a backslash"),
        ("https://example.com/a b", "it contains a space, a control character or a backslash"),
        (" https://example.com/", "it contains a space, a control character or a backslash"),
        ("https://exa\nmple.com/", "it contains a space, a control character or a backslash"),
    ],
)
def test_what_is_no_plain_web_address_is_refused(url: str, why: str) -> None:
    """Fetchers disagree on how to read most of these."""
    assert refused(url) == Problem(code="invalid_value", message=f"Invalid URL in 'here': {why}.", param="here")


def test_private_addresses_can_be_allowed_but_nothing_else() -> None:
    """The configuration opens hosts, not schemes."""
    check_url("http://localhost/a", "here", allow_private=True)
    with pytest.raises(ProblemError):
        check_url("file:///a", "here", allow_private=True)


@pytest.mark.parametrize(
    ("url", "answer"),
    [
        ("data:image/png;base64,aGk=", True),
        ("DATA:;charset=x;BASE64,", True),
        ("data:image/png,raw", False),
        ("data:image/png;base64", False),
        ("https://example.com/;base64,", False),
    ],
)
def test_content_may_stand_in_the_address_itself(url: str, *, answer: bool) -> None:
    """In base64 only."""
    assert is_data_uri(url) is answer
