"""A certificate for `localhost`, made by openssl."""

import shlex
import subprocess
from pathlib import Path
from typing import Final

_COMMAND: Final = (
    "openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost "
    "-addext subjectAltName=DNS:localhost"
)


def make_certificate(folder: Path) -> None:
    """Writes cert.pem and key.pem."""
    subprocess.run(shlex.split(_COMMAND), cwd=folder, check=True, capture_output=True)
