"""Warnings for the client: it need not read the server's log to learn why a tool was not used."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClientWarning:
    """Something that a client asked for and does not get as it asked."""

    param: str
    """Where it stands in the request, such as `input[3]`."""
    feature: str
    """What is missing, in one or two words that do not change, such as `verbosity` or `output order`."""
    details: str
    """The sentence for the client."""


def no_effect(param: str, feature: str = "") -> ClientWarning:
    """The warning about a parameter that this model ignores."""
    return ClientWarning(param, feature or param, f"'{param}' has no effect on this model.")
