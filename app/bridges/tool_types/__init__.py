"""One file per tool type: its wire shapes, and its bridge, registered on import. Each file is imported here."""

from . import apply_patch as apply_patch
from . import custom as custom
from . import function as function
from . import local_shell as local_shell
from . import shell as shell
from . import tool_search as tool_search
