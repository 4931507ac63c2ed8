"""Node and its packages, for tests that drive clients of its world.

The packages lie in the folder that AM_NODE_MODULES names, in `node_modules` or in `.cache/npm/node_modules`.
"""

import os
import shutil
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
NODE: Final = shutil.which("node") or ""
FOLDERS: Final[list[str | Path | None]] = [
    os.environ.get("AM_NODE_MODULES"),
    ROOT / "node_modules",
    ROOT / ".cache" / "npm" / "node_modules",
]


def modules_with(*packages: str) -> Path:
    """The folder that holds these packages. Without one, or without node, the test is skipped, and says so."""
    if not NODE:
        pytest.skip(f"node is not installed here: {packages[0]} was NOT tried")
    for folder in FOLDERS:
        if folder and all((Path(folder) / package / "package.json").is_file() for package in packages):
            return Path(folder).resolve()
    pytest.skip(f"{packages[0]} was NOT tried: npm install --prefix .cache/npm {' '.join(packages)}")
