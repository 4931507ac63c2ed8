"""Warnings for the client, for instance why a tool is not used, without a look at the server's log."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClientWarning:
    """Something that a client asked for and does not get as it asked."""

    param: str
    """Its path in the request, such as `input[3]`."""
    feature: str
    """What is missing, in one or two words that do not change, such as `verbosity` or `output order`."""
    details: str
    """The sentence for the client."""


def no_effect(param: str, feature: str = "") -> ClientWarning:
    """The warning about a parameter that this model ignores."""
    return ClientWarning(param, feature or param, f"'{param}' has no effect on this model.")
