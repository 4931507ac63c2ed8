"""Which edition is tested: `IS_NEXT` is true for the new one."""

from typing import Final

from tests.wire.program import COMMAND

IS_NEXT: Final = "next" in COMMAND
