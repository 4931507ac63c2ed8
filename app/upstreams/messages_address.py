"""Addresses of servers with the Messages API, which people write with or without its version."""

from typing import Final
from urllib.parse import urlsplit

from ..providers.lookup import PROVIDERS
from ..providers.provider import Provider


def messages_address(base_url: str) -> str:
    """The address below which a server of the Messages API has its paths. It may be configured without its version."""
    return f"{base_url.rstrip('/').removesuffix('/v1')}/v1"


_OF_PROVIDERS: Final = {
    urlsplit(messages_address(provider.messages_url))[1:3]: provider
    for provider in PROVIDERS
    if provider.messages_url is not None
}
"""Providers by the host and the path of their Messages API."""


def messages_provider(base_url: str) -> Provider | None:
    """The provider whose Messages API is at this address."""
    try:
        return _OF_PROVIDERS.get(urlsplit(messages_address(base_url))[1:3])
    except ValueError:
        return None
