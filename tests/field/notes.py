"""What was found out by hand about findings: mostly that the server behind a bridge is their cause."""

from collections.abc import Mapping
from typing import Final

NOTES: Final[Mapping[tuple[str, str], str]] = {}
"""By server and rule: a sentence without its period."""
