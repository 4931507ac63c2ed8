"""Text that another server encrypted: a model cannot read it, and would take it for words."""

import re
from typing import Final

SECRET: Final = re.compile(r"gAAAAA[A-Za-z0-9_-]{20,}={0,2}")
"""OpenAI's servers encrypt in this form (Fernet)."""
_QUOTED: Final = re.compile(rf'(\\?"){SECRET.pattern}(?=\\?")')
"""It is a whole string, also of JSON within a string."""
STAND_IN: Final = "(encrypted: only another server can read this)"


def is_ciphertext(text: str) -> bool:
    """Whether this is ciphertext of another server, and nothing else."""
    return text.startswith("gAAAAA") and SECRET.fullmatch(text.strip()) is not None


def holds_ciphertext(json_text: str) -> bool:
    """Whether a string in this JSON is ciphertext of another server."""
    return "gAAAAA" in json_text and _QUOTED.search(json_text) is not None


def without_ciphertext(json_text: str) -> str:
    """The same JSON with a remark in place of each string that is ciphertext of another server."""
    return _QUOTED.sub(rf"\1{STAND_IN}", json_text) if "gAAAAA" in json_text else json_text
