"""The table of the limits that all copies of this server share, by a store."""

from typing import Annotated, Final, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from ..options import Table
from .secret import Secret


def _store(url: str) -> str:
    """The address of a Redis or Valkey server, or an empty text."""
    if not url:
        return url
    try:
        parts = urlsplit(url)
        is_address = bool(parts.hostname) and parts.port != 0 and parts.scheme in {"redis", "rediss"}
    except ValueError:
        parts, is_address = urlsplit(""), False
    if not is_address or " " in url or not url.isprintable():
        message = "must be an address such as redis://127.0.0.1:6379, or rediss://… for TLS"
        raise ValueError(message)
    if parts.username is not None or parts.password is not None:
        message = "must not hold a user name or password: use user and password"
        raise ValueError(message)
    if parts.query or parts.fragment or not (parts.path in {"", "/"} or parts.path[1:].isdecimal()):
        message = "must end with its port, or with the number of a database: redis://127.0.0.1:6379/1"
        raise ValueError(message)
    return url.rstrip("/")


MOST_OF_PREFIX: Final = 64


def _prefix(text: str) -> str:
    if not (0 < len(text) <= MOST_OF_PREFIX and text.isascii() and all(c.isalnum() or c in "._:-" for c in text)):
        message = "must be 1 to 64 letters, digits and the characters . _ : -"
        raise ValueError(message)
    return text


class SharedLimits(Table):
    """Limits that all copies of this server share: see docs/scaling.md."""

    store: Annotated[str, AfterValidator(_store)] = ""
    """Address of a Redis or Valkey server in which all copies count together: `redis://127.0.0.1:6379`, or `rediss://…`
    for TLS. Then `requests_per_minute` and `concurrency` apply to all copies together, and circuit breakers open in all
    of them. Empty: each copy counts separately, with all its workers."""
    user: str = Field(default="", max_length=256)
    """The user of the store; empty: its default user."""
    password: Secret | None = None
    """The password of the store."""
    prefix: Annotated[str, AfterValidator(_prefix)] = "am-proxy"
    """The beginning of all names in the store. Copies with the same prefix share limits."""
    max_turns: int | None = Field(default=None, ge=1)
    """Largest number of turns of all copies together at the same time, shared among callers as that of `[server]`,
    which remains the limit of each process. Without it there is only that one."""

    @model_validator(mode="after")
    def _needs_a_store(self) -> Self:
        if not self.store and (self.user or self.password or self.max_turns):
            message = "needs a store: the address of a Redis or Valkey server"
            raise ValueError(message)
        return self
