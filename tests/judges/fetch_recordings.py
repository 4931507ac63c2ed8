"""Fetches packages whose tests have recorded answers: `python -m tests.judges.fetch_recordings`.

The packages of `recordings.txt` come into the cache folder as their authors published them. Nothing of them is copied
into the project.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parents[2] / ".cache" / "recordings"
PINS: Final = Path(__file__).with_name("recordings.txt")
VERSIONS: Final[dict[str, str]] = dict(re.findall(r"(?m)^([a-z-]+)==(\S+)", PINS.read_text("utf-8")))


def archive(package: str) -> Path:
    """The source package, whether it is there or not."""
    return FOLDER / f"{package.replace('-', '_')}-{VERSIONS[package]}.tar.gz"


def fetch() -> None:
    """Fetch the packages that are not there; the hashes are those of their sources."""
    if all(archive(package).is_file() for package in VERSIONS):
        return
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    subprocess.run([*command, "--dest", str(FOLDER), "--requirement", str(PINS)], check=True)


if __name__ == "__main__":
    fetch()
