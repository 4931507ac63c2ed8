"""One file per tool type: its wire shapes, and its bridge, registered on import. Each file is imported here."""

from app.bridges.tool_types import apply_patch as apply_patch
from app.bridges.tool_types import custom as custom
from app.bridges.tool_types import function as function
from app.bridges.tool_types import local_shell as local_shell
from app.bridges.tool_types import shell as shell
from app.bridges.tool_types import tool_search as tool_search
