"""Node and its packages, for tests that drive clients of its world: `pytest.mark.needs("node", "npm:openai")`.

The packages lie in the folder that AM_NODE_MODULES names, in `node_modules` or in `.cache/npm/node_modules`.
"""

import os
import shutil
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
NODE: Final = shutil.which("node") or ""
FOLDERS: Final[list[str | Path | None]] = [
    os.environ.get("AM_NODE_MODULES"),
    ROOT / "node_modules",
    ROOT / ".cache" / "npm" / "node_modules",
]


def folder_with(*packages: str) -> Path | None:
    """The first folder of Node packages that holds these."""
    for folder in FOLDERS:
        if folder and all((Path(folder) / package / "package.json").is_file() for package in packages):
            return Path(folder).resolve()
    return None


def modules_with(*packages: str) -> Path:
    """The same, for a test that needs them."""
    folder = folder_with(*packages)
    assert folder is not None, f"no folder holds all of {packages}: mark the test with what it needs"
    return folder
