"""Which edition is tested: `IS_NEXT` is true for the new one."""

from typing import Final

from tests.wire.program import COMMAND

IS_NEXT: Final = "next" in COMMAND
PLAIN: Final = ("chat",) if IS_NEXT else ("chat", "litellm")
"""The ways to ask a plain chat server: the new edition asks it directly, whatever `via` says."""
