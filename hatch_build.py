"""Adds README.md to the metadata of the package, and the addresses of the project if PROJECT_URL is set.

No file names an address of the project: the release workflow sets PROJECT_URL to the repository in which it runs. With
it the links and images of README.md, which are relative, also work on the page of a package index.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"""(?x)
    (?P<before> (?P<image>!) \[[^\]]*\]\( | \[ [^\]]* \]\( | \b (?P<source>src|srcset)=" | \b href=" )
    (?! [a-z]+: | \# )
    (?P<file> [^)"\s]+ )
""")
"""A link or an image that leads to a file, in Markdown or HTML."""


class PackagePage(MetadataHookInterface):
    """Makes the page that a package index shows."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set `readme`, and `urls` if the project has an address."""
        root = Path(self.root)
        text = (root / "README.md").read_text(encoding="utf-8")
        address = os.environ.get("PROJECT_URL", "").rstrip("/")
        if address:
            version = re.findall(r'VERSION = "(.+)"', (root / "app" / "version.py").read_text(encoding="utf-8"))[0]
            text = _absolute(text, address, version)
            metadata["urls"] = {
                "Source": address,
                "Documentation": f"{address}/tree/v{version}/docs",
                "Changelog": f"{address}/blob/v{version}/CHANGELOG.md",
                "Issues": f"{address}/issues",
            }
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def _absolute(text: str, address: str, version: str) -> str:
    """The text with links to the files of this version. Code is not changed."""

    def link(found: re.Match[str]) -> str:
        kind = "raw" if found["image"] or found["source"] else "blob"
        return f"{found['before']}{address}/{kind}/v{version}/{found['file']}"

    parts = FENCED.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)
