"""Releases that must not be in a lock file: malicious ones, and those older than the mending of a known hole.

`python -m tests.support.advisories` looks without a network, and `make lint` runs it. It knows what stands here and no
more: `make audit` asks the advisory databases.
"""

import re
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]

MALICIOUS: Final = {"litellm": {"1.82.7", "1.82.8"}}
MENDED: Final = {
    "aiohttp": "3.12.14",  # CVE-2025-53643: requests smuggled in trailers
    "certifi": "2024.7.4",  # CVE-2024-39689: roots that are no longer trusted
    "cryptography": "44.0.1",  # CVE-2024-12797: servers taken for others
    "h11": "0.16.0",  # CVE-2025-43859: chunks read too kindly
    "h2": "4.3.0",  # CVE-2025-57804: requests split
    "idna": "3.7",  # CVE-2024-3651: time that grows with the square of a name
    "jinja2": "3.1.6",  # CVE-2025-27516: a way out of the sandbox
    "requests": "2.32.4",  # CVE-2024-47081: passwords sent to a stranger
    "starlette": "1.3.1",  # and CVE-2025-62727: time that grows with the square of a Range header
    "tqdm": "4.66.3",  # CVE-2024-34062: code in arguments
    "urllib3": "2.6.0",  # CVE-2025-66418, CVE-2025-66471: compressed answers without bound
    "zipp": "3.19.1",  # CVE-2024-5569: loops without end
}
"""The first sound release of each."""


def found(text: str) -> list[str]:
    """What is wrong with the pins in this text."""
    result = []
    for name, version in re.findall(r"^([a-z0-9-]+)==([^ ;\n]+)", text, re.MULTILINE):
        if version in MALICIOUS.get(name, ()):
            result.append(f"{name} {version} is malicious")
        elif name in MENDED and _number(version) < _number(MENDED[name]):
            result.append(f"{name} {version} has a known hole: take {MENDED[name]} or newer")
    return result


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def main() -> int:
    """Look at both lock files."""
    result = [
        f"{name}: {fault}"
        for name in ("requirements.lock", "requirements-dev.lock")
        for fault in found((ROOT / name).read_text())
    ]
    sys.stderr.writelines(f"{line}\n" for line in result)
    return bool(result)


if __name__ == "__main__":
    sys.exit(main())
