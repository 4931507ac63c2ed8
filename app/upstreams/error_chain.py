"""An error and its causes. Libraries wrap errors in their own ones; the first one shows what went wrong. Pure."""

from collections.abc import Iterator
from typing import Final

_UNCONNECTED: Final = {"ClientConnectorError", "ConnectTimeout", "ConnectionTimeoutError"}
_LONGEST: Final = 20
"""Causes of an error that are looked at: a chain is short, but it could be a circle."""


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    """The error and its causes."""
    for _ in range(_LONGEST):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def kinds_of(error: BaseException) -> set[str]:
    """The names of the classes of this error."""
    return {kind.__name__ for kind in type(error).__mro__}


def never_connected(error: BaseException) -> bool:
    """Whether this error, or one of its causes, means that no connection was made: in time, or at all."""
    return any(_UNCONNECTED & kinds_of(each) for each in chain_of(error))
